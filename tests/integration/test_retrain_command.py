"""The nightly run as its container starts it: stopped at any moment, or failing unforeseen."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import functions.retrain.__main__ as command
from leap_model.artifact import load
from leap_model.errors import StoreError
from leap_model.parameters import Parameters, deployed_pointer
from leap_model.pointer import Pointer, read_pointer
from leap_model.s3 import S3Store
from leap_model.sealed import MANIFEST
from leap_model.table import is_appended, is_merged
from tests.aws import account, copied, train_quickly
from tests.support import append_each, attempt, filled, fleet

NAME = 'asmith@example.com-ctr\n{"level":"ERROR"}'
STAGES = ["read", "train", "publish", "upload", "point"]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3Store]:
    """Twelve days of attempts, and the environment of the night of 2026-01-13."""
    for name, value in {
        "LEAP_STORE": "s3://fleet/leap",
        "LEAP_STAGE": "prod",
        "LEAP_SCHEDULED_TIME": "2026-01-13T02:00:00Z",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    train_quickly(monkeypatch)
    with account(monkeypatch, "fleet", "eu-west-1"):
        local = filled(tmp_path / "local", fleet(900, days=12))
        yield copied(local, S3Store("fleet", "leap"))


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """A stop that the run does not listen for fails the test, and ends nothing else."""

    def unheard(number: int, frame: FrameType | None) -> None:
        pytest.fail("the run does not listen for SIGTERM")

    before = signal.signal(signal.SIGTERM, unheard)
    yield
    signal.signal(signal.SIGTERM, before)


def _pointers(bucket: S3Store) -> set[Pointer | None]:
    """What the object and the parameter say."""
    stored, _ = read_pointer(bucket, "prod", "throughput")
    return {stored, deployed_pointer(Parameters(), "prod", "throughput")}


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _stop_at(stage: str, patch: pytest.MonkeyPatch) -> None:
    """The next run is stopped as a stage begins, or between two of its uploads."""
    create = S3Store.create

    def uploading(self: S3Store, key: str, content: bytes) -> bool:
        created = create(self, key, content)
        if stage == "upload" and key.startswith("models/"):
            _stop()
        return created

    def watching(**words: str) -> None:
        if words.get("stage") == stage:
            _stop()

    patch.setattr(S3Store, "create", uploading)
    patch.setattr(command, "_say", watching)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stop_at_any_stage_leaves_what_served_and_nothing_half(
    bucket: S3Store, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAP_SCHEDULED_TIME", "2026-01-12T02:00:00Z")
    assert command.main() == 0
    monkeypatch.setenv("LEAP_SCHEDULED_TIME", "2026-01-13T02:00:00Z")
    (before,) = _pointers(bucket)
    assert before is not None
    with pytest.MonkeyPatch.context() as patch:
        _stop_at(stage, patch)
        with pytest.raises(SystemExit) as ended:
            command.main()
    assert ended.value.code == 128 + signal.SIGTERM
    assert _pointers(bucket) == {before}
    versions = {key.split("/")[2] for key in bucket.keys("models/throughput")}
    half = {v for v in versions if bucket.size(f"models/throughput/{v}/{MANIFEST}") is None}
    assert (len(versions), len(half)) == {"upload": (2, 1), "point": (2, 0)}.get(stage, (1, 0))
    assert command.main() == 0  # the next try completes it
    (after,) = _pointers(bucket)
    assert after is not None
    assert after.as_of == "2026-01-13"
    load(bucket.folder(after.uri), after.manifest_sha256)


def test_whatever_a_run_warns_of_is_a_line_like_the_others(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    create, read = S3Store.create, S3Store.read

    def creating(self: S3Store, key: str, content: bytes) -> bool:
        if key.startswith("scratch/"):
            raise StoreError("scratch/x cannot be written: AccessDenied")
        return create(self, key, content)

    def reading(self: S3Store, key: str) -> bytes | None:
        if key.startswith("scratch/"):
            raise StoreError("scratch/x cannot be read: AccessDenied")
        return read(self, key)

    monkeypatch.setattr(S3Store, "create", creating)
    monkeypatch.setattr(S3Store, "read", reading)
    assert command.main() == 0
    printed, errors = capfd.readouterr()
    assert errors == ""
    said = [json.loads(line) for line in printed.splitlines()]
    warnings = [line["warning"] for line in said if "warning" in line]
    assert warnings[0].endswith("is made again: StoreError")
    assert warnings[1] == (
        "1 finished fits are not kept: scratch/x cannot be written: AccessDenied"
    )


def _small(bucket: S3Store) -> list[str]:
    """A day in files of one attempt each; their keys."""
    for at in range(16):
        entry = attempt(attempt_id=f"small-{at}", completed_at="2026-01-12T09:00:00Z")
        append_each(bucket, entry)
    return [key for key in bucket.keys("attempts/dt=2026-01-12") if is_appended(key)]


def test_a_night_merges_small_files_and_the_next_one_reads_the_same(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    small = _small(bucket)
    assert command.main() == 0
    said = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert f"{len(small)} files of 1 days into 1" in [line.get("merged") for line in said]
    assert any(map(is_merged, bucket.keys("attempts/dt=2026-01-12")))
    (first,) = _pointers(bucket)
    monkeypatch.setenv("LEAP_SCHEDULED_TIME", "2026-01-14T02:00:00Z")
    monkeypatch.setenv("LEAP_LEAST_COMPLETE", "0")
    assert command.main() == 0
    (second,) = _pointers(bucket)
    assert first is not None
    assert second is not None
    rows = [
        json.loads(bucket.read(f"reports/throughput/{pointer.version}/metrics.json") or b"")[
            "attempts"
        ]["read"]
        for pointer in (first, second)
    ]
    assert rows[0] == rows[1]


def test_a_merge_that_fails_costs_the_night_nothing(
    bucket: S3Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: Any) -> None:
        raise StoreError("attempts/x cannot be tagged: AccessDenied")

    _small(bucket)
    monkeypatch.setattr(S3Store, "expire", refused)
    assert command.main() == 0
    said = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    warning = "small files are left as they are: attempts/x cannot be tagged: AccessDenied"
    assert warning in [line.get("warning") for line in said]
    (pointer,) = _pointers(bucket)
    assert pointer is not None
    assert pointer.as_of == "2026-01-13"


@pytest.mark.parametrize("fault", [ValueError(NAME), KeyError(NAME), OSError(5, NAME)], ids=repr)
def test_a_fault_that_nobody_foresaw_is_one_line_that_says_where_and_quotes_nothing(
    bucket: S3Store,
    fault: Exception,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise fault

    monkeypatch.setattr("functions.retrain.nightly.train", broken)
    assert command.main() == 1
    printed, errors = capfd.readouterr()
    assert errors == ""
    said = [json.loads(line) for line in printed.splitlines()]
    assert said[-1]["error"] == type(fault).__name__
    assert "in broken" in said[-1]["at"]
    assert "asmith" not in printed
