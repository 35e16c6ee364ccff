"""The buckets: who gets at them, what stays, and what goes when."""

from typing import Any

import pytest

from tests.infrastructure.templates import Template, listed

BUCKETS = ("StoreBucket", "StoreAccessLogs")
LIVE = [
    "models/throughput/2026-01-13-0123456789ab/manifest.json",
    "models/utilization/2026-01-13-0123456789ab/forests/regressor.forest",
    "reports/throughput/2026-01-13-0123456789ab/metrics.json",
    "catalogue/hardware.json",
    "pointers/prod/throughput.json",
    "pointers/prod/throughput.moves/00000001.json",
    "pointers/prod/switches.json",
]
RECORDS = ["attempts/dt=2026-01-02/a.parquet", "rejected/dt=2026-01-02/b.jsonl", "rankings/dt=x/c"]


def days_until_gone(template: Template, key: str, tags: dict[str, str]) -> int | None:
    """Days after which the current version of an object expires; None is never."""
    rules = template.properties("AWS::S3::Bucket", "StoreBucket")["LifecycleConfiguration"]["Rules"]
    days = [
        rule["ExpirationInDays"]
        for rule in rules
        if "ExpirationInDays" in rule
        and rule["Status"] == "Enabled"
        and key.startswith(rule.get("Prefix", ""))
        and all(tags.get(tag["Key"]) == tag["Value"] for tag in rule.get("TagFilters", ()))
    ]
    assert not any("ExpirationDate" in rule or "Transitions" in rule for rule in rules)
    return min(days, default=None)


@pytest.mark.parametrize("bucket", BUCKETS)
def test_a_bucket_is_private_and_encrypted(template: Template, bucket: str) -> None:
    properties = template.properties("AWS::S3::Bucket", bucket)
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4
    assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert properties["OwnershipControls"]["Rules"] == [{"ObjectOwnership": "BucketOwnerEnforced"}]
    assert "AccessControl" not in properties
    assert "BucketName" not in properties


@pytest.mark.parametrize("bucket", BUCKETS)
def test_a_bucket_is_closed_to_plain_text_and_old_tls(template: Template, bucket: str) -> None:
    document = template.properties("AWS::S3::BucketPolicy", bucket)["PolicyDocument"]
    denied = [s for s in template.plain(document["Statement"]) if s["Effect"] == "Deny"]
    conditions = [statement["Condition"] for statement in denied]
    assert {"Bool": {"aws:SecureTransport": "false"}} in conditions
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in conditions
    for statement in denied:
        assert statement["Resource"] == [f"<{bucket}.Arn>", f"<{bucket}.Arn>/*"]
        assert statement["Principal"] == {"AWS": "*"}


def test_access_to_the_store_is_logged_to_a_bucket_of_its_own(template: Template) -> None:
    store = template.plain(template.properties("AWS::S3::Bucket", "StoreBucket"))
    assert store["LoggingConfiguration"]["DestinationBucketName"] == "<StoreAccessLogs>"
    statements = template.properties("AWS::S3::BucketPolicy", "AccessLogs")["PolicyDocument"]
    (allowed,) = [s for s in template.plain(statements["Statement"]) if s["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "logging.s3.amazonaws.com"}
    assert listed(allowed["Action"]) == ["s3:PutObject"]
    assert allowed["Condition"]["ArnLike"] == {"aws:SourceArn": "<StoreBucket.Arn>"}


def test_what_is_overwritten_can_be_brought_back(template: Template) -> None:
    properties = template.properties("AWS::S3::Bucket", "StoreBucket")
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    rules = properties["LifecycleConfiguration"]["Rules"]
    (rule,) = [rule for rule in rules if "NoncurrentVersionExpiration" in rule]
    assert rule["NoncurrentVersionExpiration"]["NoncurrentDays"] == 30
    assert "ExpirationInDays" not in rule


def test_what_was_merged_goes_after_a_week_and_what_holds_it_stays(template: Template) -> None:
    superseded = {"leap-superseded": "true"}
    assert days_until_gone(template, "attempts/dt=2026-01-02/a.parquet", superseded) == 7
    assert days_until_gone(template, "attempts/dt=2026-01-02/merged-a.parquet", {}) == 400


def test_what_a_night_kept_for_the_one_after_a_kill_goes(template: Template) -> None:
    assert days_until_gone(template, "scratch/prod/throughput/a.npz", {}) == 3


@pytest.mark.parametrize("key", LIVE)
def test_nothing_that_serves_or_may_serve_again_ever_expires(template: Template, key: str) -> None:
    assert days_until_gone(template, key, {}) is None
    assert days_until_gone(template, key, {"leap-superseded": "false"}) is None


def test_superseded_versions_go_after_sixty_days_by_their_tag_alone(template: Template) -> None:
    tagged = {"leap-superseded": "true"}
    assert days_until_gone(template, LIVE[0], tagged) == 60
    for key in LIVE[2:]:
        assert days_until_gone(template, key, tagged) is None


@pytest.mark.parametrize("key", RECORDS)
def test_records_go_after_their_retention(template: Template, key: str) -> None:
    assert days_until_gone(template, key, {}) == 400


@pytest.mark.parametrize("kind", ["AWS::S3::Bucket", "AWS::Logs::LogGroup"])
def test_what_prod_has_stored_outlives_its_stack(prod: Template, kind: str) -> None:
    found = prod.resources(kind)
    assert found
    for resource in found.values():
        assert resource["DeletionPolicy"] == "Retain"
        assert resource["UpdateReplacePolicy"] == "Retain"


def test_only_prod_is_protected_against_deletion(dev: Template, prod: Template) -> None:
    def protected(template: Template) -> bool:
        stack = template.manifest["artifacts"][f"leap-{template.stage}"]["properties"]
        return bool(stack.get("terminationProtection", False))

    assert protected(prod)
    assert not protected(dev)


def test_no_part_of_any_stack_empties_a_bucket(template: Template) -> None:
    kinds = {resource["Type"] for resource in template.body["Resources"].values()}
    assert not [kind for kind in kinds if kind.startswith("Custom::") or "CustomResource" in kind]
    for name, properties in _tags(template):
        assert not any("auto-delete" in tag["Key"] for tag in properties), name


def _tags(template: Template) -> list[tuple[str, list[dict[str, Any]]]]:
    buckets = template.resources("AWS::S3::Bucket")
    return [(name, bucket["Properties"].get("Tags", [])) for name, bucket in buckets.items()]


def test_the_stack_says_where_the_store_is_and_leaves_pointers_alone(template: Template) -> None:
    parameter = template.plain(template.properties("AWS::SSM::Parameter"))
    assert parameter["Name"] == f"/leap/{template.stage}/store"
    assert parameter["Value"] == "s3://<StoreBucket>"


def test_every_log_forgets_in_time(template: Template) -> None:
    groups = template.resources("AWS::Logs::LogGroup")
    assert len(groups) == 3
    for group in groups.values():
        assert group["Properties"]["RetentionInDays"] == 90
    functions = [r["Properties"] for r in template.resources("AWS::Lambda::Function").values()]
    assert all(template.short(f["LoggingConfig"]["LogGroup"]["Ref"]) for f in functions)
