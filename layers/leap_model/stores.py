"""A store by its address."""

from pathlib import Path

from leap_model.store import LocalStore, Store


def open_store(root: Path | str) -> Store:
    """The store at `s3://BUCKET/PREFIX`, or else in a folder.

    Raises
    ------
    StoreError
        The address names no bucket.
    """
    if not str(root).startswith("s3:"):
        return LocalStore(root)
    # Here, since a store in a folder needs no boto3.
    from leap_model.s3 import S3Store

    return S3Store.of_uri(str(root))
