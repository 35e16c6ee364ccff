"""python -m infra.emptying STAGE: lets a stage's buckets be deleted with its stack.

CloudFormation deletes no bucket that holds something, and no part of the stack may empty one: that
takes a person, and never concerns the stage whose data outlives its stack.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.settings import Settings


def empty(settings: Settings, cloudformation: Any, s3: Any) -> list[str]:
    """Delete every version of every object of the stage's buckets; which buckets there were.

    Parameters
    ----------
    settings : Settings
        Of the stage.
    cloudformation, s3
        Clients of boto3.
    """
    if settings.production:
        return []
    buckets = list(_buckets(settings.name(), cloudformation))
    for bucket in buckets:
        # Access logs arrive for hours; what came after would stop the deletion.
        s3.put_bucket_policy(Bucket=bucket, Policy=_nothing_more(bucket, s3))
    for bucket in buckets:
        for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
            found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
            objects = [{name: entry[name] for name in ("Key", "VersionId")} for entry in found]
            if objects:
                s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
    return buckets


def _buckets(stack: str, cloudformation: Any) -> Iterator[str]:
    pages = cloudformation.get_paginator("list_stack_resources")
    for page in pages.paginate(StackName=stack):
        for resource in page["StackResourceSummaries"]:
            gone = resource["ResourceStatus"] == "DELETE_COMPLETE"
            if resource["ResourceType"] == "AWS::S3::Bucket" and not gone:
                yield resource["PhysicalResourceId"]


def _nothing_more(bucket: str, s3: Any) -> str:
    statement = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:PutObject",
        "Resource": f"arn:{s3.meta.partition}:s3:::{bucket}/*",
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def main(arguments: list[str]) -> None:
    """Ask, unless it is the stage that is kept, and empty."""
    try:
        (stage,) = arguments
        settings = Settings.of_context({"stage": stage}.get)
    except ValueError as fault:
        sys.exit(f"one stage must be named: {fault}")
    if settings.production:
        print(f"{settings.name()} keeps its buckets, and its stack is protected against deletion.")
        return
    asked = f'This deletes all that {settings.name()} stored. Type "{stage}" to go on: '
    if input(asked) != stage:
        sys.exit("nothing was deleted")
    try:
        for bucket in empty(settings, boto3.client("cloudformation"), boto3.client("s3")):
            print(f"emptied {bucket}")
    except (BotoCoreError, ClientError) as fault:
        sys.exit(f"{settings.name()} could not be emptied: {fault}")


if __name__ == "__main__":
    main(sys.argv[1:])
