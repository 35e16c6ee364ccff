"""Where everything lies: the bucket behind the store, and the parameter that says where it is."""

from aws_cdk import Duration
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from infra import settings as limits
from infra.settings import Settings


class Store(Construct):
    """The stage's store (contract section 3). Only what is listed here ever expires."""

    def __init__(self, scope: Construct, name: str, settings: Settings) -> None:
        super().__init__(scope, name)
        self.access_logs = s3.Bucket(
            self,
            "AccessLogs",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(id="access-logs", expiration=Duration.days(limits.ACCESS_LOG_DAYS))
            ],
            removal_policy=settings.removal,
        )
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            versioned=True,
            server_access_logs_bucket=self.access_logs,
            server_access_logs_prefix="store/",
            lifecycle_rules=_lifecycle(),
            removal_policy=settings.removal,
        )
        self.uri = f"s3://{self.bucket.bucket_name}"
        ssm.StringParameter(
            self,
            "Parameter",
            parameter_name=settings.store_parameter,
            string_value=self.uri,
            description="Root of this stage's LEAP store",
        )

    @property
    def resource(self) -> s3.CfnBucket:
        """The bucket as CloudFormation has it."""
        found = self.bucket.node.default_child
        assert isinstance(found, s3.CfnBucket)
        return found

    def objects(self, *patterns: str) -> list[str]:
        """The ARNs of the store's objects under these keys."""
        return [self.bucket.arn_for_objects(pattern) for pattern in patterns]


def _lifecycle() -> list[s3.LifecycleRule]:
    records = Duration.days(limits.RECORDS_DAYS)
    return [
        # By tag alone: retrain never leaves it on a version that serves or served last.
        s3.LifecycleRule(
            id="superseded-models",
            prefix="models/",
            tag_filters=limits.SUPERSEDED_TAG,
            expiration=Duration.days(limits.SUPERSEDED_DAYS),
        ),
        # What a merged file holds: its rows stay for as long as others.
        s3.LifecycleRule(
            id="merged-attempts",
            prefix="attempts/",
            tag_filters=limits.SUPERSEDED_TAG,
            expiration=Duration.days(limits.MERGED_DAYS),
        ),
        s3.LifecycleRule(
            id="scratch", prefix="scratch/", expiration=Duration.days(limits.SCRATCH_DAYS)
        ),
        s3.LifecycleRule(id="attempts", prefix="attempts/", expiration=records),
        s3.LifecycleRule(id="rejected", prefix="rejected/", expiration=records),
        s3.LifecycleRule(id="rankings", prefix="rankings/", expiration=records),
        # What is no longer current anywhere; the current version of an object is not concerned.
        s3.LifecycleRule(
            id="noncurrent",
            noncurrent_version_expiration=Duration.days(limits.NONCURRENT_DAYS),
            abort_incomplete_multipart_upload_after=Duration.days(7),
        ),
    ]
