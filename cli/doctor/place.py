"""The part of a stage that lies in its store, and how to name it in a command."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from leap_model.store import Store
from leap_model.stores import open_store
from leap_model.times import day_of


@dataclass(frozen=True, slots=True)
class Place:
    """A stage of a store, at one moment (microseconds)."""

    store: Store
    stage: str
    now: int

    @property
    def today(self) -> date:
        """The UTC day."""
        return day_of(self.now)

    @property
    def options(self) -> str:
        """What names the store and the stage in a command."""
        return f"{self.of_store} --stage {shlex.quote(self.stage)}"

    @property
    def of_store(self) -> str:
        """What names the store alone."""
        return f"--store {shlex.quote(str(self.store))}"


@contextmanager
def afresh(root: str) -> Iterator[Store]:
    """The store at a root, without what earlier commands fetched: a copy proves nothing.

    Raises
    ------
    StoreError
        The address names no bucket.
    """
    if not root.startswith("s3:"):
        yield open_store(root)
        return
    # Here, since a store in a folder needs no boto3.
    from cli.doctor.account import BUDGET
    from leap_model.aws import client
    from leap_model.s3 import S3Store

    with TemporaryDirectory(prefix="leap-doctor-") as folder:
        yield S3Store.of_uri(root, client("s3", BUDGET), Path(folder))
