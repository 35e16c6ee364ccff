"""Whether a bucket may delete what a stage serves."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from cli.doctor.faults import LookError, code_in, is_denied, lacking
from cli.doctor.report import Problem, Problems
from leap_model.artifact import listed_files
from leap_model.pointer import Pointer
from leap_model.s3 import SUPERSEDED, S3Store
from leap_model.sealed import MANIFEST

_AT_ONCE: Final = 8


def expiry_problems(store: S3Store, s3: Any, pointer: Pointer) -> Problems:
    """Whether a file of the version that is served is tagged as superseded, hence may expire.

    Every file is asked for: a night that ended half way has tagged some.

    Parameters
    ----------
    store, s3 : S3Store, client of boto3
        Where the version lies.
    pointer : Pointer
        What is served.
    """
    manifest = store.read(f"{pointer.uri}/{MANIFEST}")
    if manifest is None:
        return  # an incomplete version is another check's
    names = [*listed_files(manifest), MANIFEST]
    prefix = f"{store.prefix}{pointer.uri}"
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        tagged = list(pool.map(lambda name: _tagged(s3, store.bucket, f"{prefix}/{name}"), names))
    found = [name for name, is_tagged in zip(names, tagged, strict=True) if is_tagged]
    if found:
        yield Problem(
            f"{len(found)} of {len(names)} files of {pointer.version} are tagged as superseded, "
            f"such as {found[-1]}",
            "the bucket deletes what has that tag, and what is served must stay",
            "take the tag off each file: aws s3api delete-object-tagging "
            f"--bucket {store.bucket} --key {prefix}/{found[-1]}",
        )


def _tagged(s3: Any, bucket: str, key: str) -> bool:
    try:
        tags = s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
    except Exception as fault:
        if is_denied(fault):
            raise LookError(lacking("s3:GetObjectTagging", f"s3://{bucket}/{key}")) from None
        if code_in(fault) == "NoSuchKey":
            return False  # a file that is missing is another check's
        raise
    return {"Key": SUPERSEDED, "Value": "true"} in tags
