"""When a run points, what it publishes, and that the same run gives the same model."""

import hashlib
import json
import os
import random
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from functions.retrain import nightly
from leap_model import moves
from leap_model.artifact import load
from leap_model.errors import ConflictError
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.nights import AS_OF, TINY, add, night, pointer_of, put_attempts

LATER = AS_OF + timedelta(days=1)
METRICS = {
    *("version", "target", "estimator", "as_of", "window", "rows", "evaluation", "published"),
    *("pointed", "reason", "seconds", "peak_memory_mb"),
}
EVALUATION = {
    *("from", "to", "attempts", "w5", "w10", "w15", "w20", "mdape", "ratio"),
    *("w20_by_gpu_hours", "cold", "by_hardware", "by_model_type", "noise_ceiling_w20"),
}


@pytest.fixture(scope="module")
def attempts() -> list[dict[str, Any]]:
    return fleet(320)


@pytest.fixture
def full(store: LocalStore, attempts: list[dict[str, Any]]) -> LocalStore:
    return filled(store.root, attempts)


def _bytes(store: LocalStore, prefix: str) -> dict[str, bytes | None]:
    return {key: store.read(key) for key in store.keys(prefix)}


def test_a_run_publishes_points_and_keeps_its_metrics(full: LocalStore) -> None:
    metrics = night(full)
    assert metrics.keys() >= METRICS
    assert metrics["evaluation"].keys() >= EVALUATION
    pointer = pointer_of(full)
    assert pointer is not None
    assert pointer.to_json() | {"published_at": ""} == {
        "version": metrics["version"],
        "uri": f"models/throughput/{metrics['version']}",
        "manifest_sha256": metrics["manifest_sha256"],
        "as_of": "2026-01-11",
        "published_at": "",
    }
    manifest = full.read(f"{pointer.uri}/manifest.json")
    assert manifest is not None
    assert hashlib.sha256(manifest).hexdigest() == pointer.manifest_sha256
    kept = full.read(f"reports/throughput/{metrics['version']}/metrics.json")
    assert kept is not None
    assert json.loads(kept) == metrics
    load(full.folder(pointer.uri), pointer.manifest_sha256)


def test_the_same_run_again_writes_no_model_and_moves_no_pointer(full: LocalStore) -> None:
    first = night(full)
    kept = _bytes(full, "models") | _bytes(full, "pointers")
    second = night(full)
    assert (second["version"], second["pointed"]) == (first["version"], True)
    assert _bytes(full, "models") | _bytes(full, "pointers") == kept


def test_a_test_run_publishes_and_never_points(full: LocalStore) -> None:
    metrics = night(full, test_run=True)
    assert (metrics["published"], metrics["pointed"]) == (True, False)
    assert metrics["reason"]
    assert pointer_of(full) is None
    assert not night(full, test_run=True, force=True)["pointed"]
    assert pointer_of(full) is None


def test_the_pointer_only_moves_forward(full: LocalStore) -> None:
    newer = night(full, LATER)
    older = night(full)
    assert (older["published"], older["pointed"]) == (True, False)
    assert "newer" in older["reason"]
    assert not night(full, force=True)["pointed"]
    pointer = pointer_of(full)
    assert pointer is not None
    assert pointer.version == newer["version"]


def test_another_model_of_the_same_date_replaces_the_first(
    full: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    first = night(full)
    add(full, [{**attempts[100], "attempt_id": "late"}])
    second = night(full)
    assert first["version"] != second["version"]
    pointer = pointer_of(full)
    assert pointer is not None
    assert pointer.version == second["version"]
    assert len({key.split("/")[2] for key in full.keys("models")}) == 2


def test_stages_have_pointers_of_their_own(full: LocalStore) -> None:
    nightly.retrain(full, "prod", LATER, TINY)
    assert pointer_of(full) is None
    night(full)
    one, other = pointer_of(full), pointer_of(full, "prod")
    assert one is not None
    assert other is not None
    assert (one.as_of, other.as_of) == ("2026-01-11", "2026-01-12")


def test_a_run_that_loses_the_race_for_the_pointer_says_so(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*args: Any) -> None:
        raise ConflictError("moved")

    monkeypatch.setattr(moves, "write_pointer", lost)
    metrics = night(full)
    assert (metrics["published"], metrics["pointed"]) == (True, False)
    assert "another run" in metrics["reason"]


def test_a_run_that_fails_in_publishing_leaves_the_pointer(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    night(full)
    before = pointer_of(full)

    def fail(*args: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(nightly, "publish", fail)
    with pytest.raises(OSError, match="No space"):
        night(full, LATER)
    assert pointer_of(full) == before


def test_whoever_watches_hears_of_every_stage_in_order(full: LocalStore) -> None:
    heard: list[str] = []
    metrics = night(full, watch=heard.append)
    stages = ["read", "train", "evaluate", "score live", "publish", "point", "describe"]
    assert heard == stages
    assert list(metrics["seconds"]) == list(metrics["memory_mb"]) == heard
    held = list(metrics["memory_mb"].values())
    assert held == sorted(held)
    assert 10 < held[0] <= held[-1] <= metrics["peak_memory_mb"]


def test_files_of_another_order_and_split_give_the_same_model(
    full: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    shuffled = attempts.copy()
    random.Random(5).shuffle(shuffled)
    other = LocalStore(full.root / "other")
    filled(other.root, [])
    for at, entry in enumerate(reversed(shuffled[:60])):
        put_attempts(other, entry["completed_at"][:10], f"{at % 7}-{at}.parquet", [entry])
    for start in (60, 200):
        add(other, shuffled[start : 200 if start == 60 else None])
    assert night(other)["manifest_sha256"] == night(full)["manifest_sha256"]


SCRIPT = (
    "import sys; from datetime import date; from leap_model.store import LocalStore; "
    "from tests.unit.retrain.nights import night; "
    "print(night(LocalStore(sys.argv[1]), date(2026, 1, 11))['manifest_sha256'])"
)


@pytest.mark.parametrize(
    "settings", [{"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1"}, {"OMP_NUM_THREADS": "2"}]
)
def test_another_process_with_other_threads_trains_the_same_model(
    full: LocalStore, settings: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(full.root)],
        env={**os.environ, **settings, "OMP_WAIT_POLICY": "PASSIVE"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == night(full)["manifest_sha256"]


def test_a_date_is_no_part_of_what_is_learnt(full: LocalStore) -> None:
    one, other = night(full), night(full, date(2026, 1, 20))
    assert one["version"] != other["version"]
    assert one["evaluation"] == other["evaluation"]
    assert one["window"] == other["window"]


def test_two_runs_of_one_version_that_end_together_both_succeed(
    full: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = LocalStore.replace

    def beaten(store: LocalStore, key: str, content: bytes, etag: str | None) -> str:
        if key.startswith("reports/"):
            raise ConflictError(f"{key} was changed by another writer")
        return write(store, key, content, etag)

    monkeypatch.setattr(LocalStore, "replace", beaten)
    assert night(full)["pointed"]
