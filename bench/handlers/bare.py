"""Makes the calls to AWS that a cold rank function makes, and does nothing with the answers."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import boto3

_DOWNLOADS = 8


def handler(event: Any, _: Any) -> dict[str, Any]:
    """Switches, both pointers, the manifest and its files, as many at once as LEAP reads."""
    bucket, stage = os.environ["LEAP_STORE"].removeprefix("s3://"), os.environ["LEAP_STAGE"]
    ssm, s3 = boto3.client("ssm"), boto3.client("s3")

    def read(key: str) -> bytes:
        content: bytes = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        return content

    read(f"pointers/{stage}/switches.json")
    parameter = ssm.get_parameter(Name=f"/leap/{stage}/throughput/pointer")["Parameter"]
    with suppress(ssm.exceptions.ParameterNotFound):
        ssm.get_parameter(Name=f"/leap/{stage}/utilization/pointer")
    folder = json.loads(parameter["Value"])["uri"]
    manifest = json.loads(read(f"{folder}/manifest.json"))
    with ThreadPoolExecutor(_DOWNLOADS) as pool:
        size = sum(map(len, pool.map(lambda name: read(f"{folder}/{name}"), manifest["files"])))
    return {"statusCode": 200, "body": json.dumps({"bytes": size, "event": len(event)})}
