"""A model of utilization in a store: how it comes and goes beside that of throughput."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leap_model import Ranker
from leap_model.artifact import Artifact, pack, publish
from leap_model.catalogue import parse_catalogue
from leap_model.model import Model
from leap_model.pointer import Pointer, pointer_key
from leap_model.source import StageSource
from leap_model.store import LocalStore
from tests.support import CATALOGUE, checked, excluded, preferred, request
from tests.unit.cli.commands import document
from tests.unit.leap_model.builders import forest, tiny_artifact

FAST_IS_PREMIUM = [
    {**entry, "premium": True} if entry["hardware_type"] == "fast-8" else entry
    for entry in CATALOGUE["hardware_types"]
]
"""fast-8 has thirty times the peak of slow-4, the best plain type where all run alike."""


def _constant(value: float, target: str, **training: Any) -> Artifact:
    """A model that predicts one value for every job."""
    rows = {"fast-8": 60, "mid-8": 60, "slow-4": 60}
    whole = tiny_artifact(target=target, hardware_rows=rows, **training)
    model = Model.of_one(forest(n_inputs=2, baseline=(math.log(value),)))
    return replace(whole, model=model, catalogue=parse_catalogue(FAST_IS_PREMIUM))


def _publish(store: LocalStore, artifact: Artifact) -> Pointer:
    packed = pack(artifact)
    uri = f"models/{artifact.target.name}/{packed.version}"
    publish(store, uri, packed)
    as_of = artifact.training["as_of"]
    return Pointer(packed.version, uri, packed.manifest_sha256, as_of, "2026-02-01T00:00:00Z")


def _path(store: LocalStore, target: str) -> Path:
    return store.root / pointer_key("local", target)


def _point(store: LocalStore, target: str, pointer: Pointer) -> None:
    path = _path(store, target)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(pointer.to_json()))


def _serve(store: LocalStore, value: float, target: str, **training: Any) -> Pointer:
    """Publish a constant model and point at it."""
    pointer = _publish(store, _constant(value, target, **training))
    _point(store, target, pointer)
    return pointer


@pytest.fixture
def throughput(store: LocalStore) -> Pointer:
    return _serve(store, 100.0, "throughput")


@pytest.fixture
def both(store: LocalStore, throughput: Pointer) -> dict[str, str]:
    """The versions of a stage that serves both; the job uses every type well."""
    pointer = _serve(store, 0.9, "utilization")
    return {"throughput": throughput.version, "utilization": pointer.version}


def _ranked(source: Ranker | LocalStore) -> tuple[dict[str, str], bool]:
    """The versions that answered, and whether the premium type stayed."""
    ranker = Ranker.from_store(source.root) if isinstance(source, LocalStore) else source
    answer = checked(ranker.rank(request()))
    assert answer["reason"] is None
    assert {"slow-4", "mid-8"} <= set(preferred(answer))
    return answer["models"], "fast-8" in preferred(answer)


def test_without_a_pointer_of_utilization_throughput_ranks(
    store: LocalStore, throughput: Pointer
) -> None:
    assert _ranked(store) == ({"throughput": throughput.version}, False)


def test_a_stage_with_both_models_serves_both(store: LocalStore, both: dict[str, str]) -> None:
    assert _ranked(store) == (both, True)


def test_a_model_of_utilization_alone_ranks_nothing(store: LocalStore) -> None:
    _serve(store, 0.9, "utilization")
    answer = checked(Ranker.from_store(store.root).rank(request()))
    assert (answer["reason"], answer["models"]) == ("model_unavailable", {})


def _alter_manifest(store: LocalStore) -> None:
    pointer = _publish(store, _constant(0.8, "utilization"))
    _point(store, "utilization", replace(pointer, manifest_sha256="0" * 64))


def _alter_file(store: LocalStore) -> None:
    pointer = _serve(store, 0.8, "utilization")
    (store.folder(pointer.uri) / "schema.json").write_bytes(b"{}")


def _lose_folder(store: LocalStore) -> None:
    pointer = _publish(store, _constant(0.8, "utilization"))
    _point(store, "utilization", replace(pointer, version="v9", uri="models/utilization/v9"))


def _name_throughput(store: LocalStore) -> None:
    _point(store, "utilization", _publish(store, _constant(70.0, "throughput")))


def _name_unknown_target(store: LocalStore) -> None:
    artifact = _constant(0.8, "utilization")
    packed = pack(replace(artifact, training={**artifact.training, "target": "cost_usd"}))
    publish(store, "models/utilization/v9", packed)
    named = ("v9", "models/utilization/v9", packed.manifest_sha256)
    _point(store, "utilization", Pointer(*named, "2026-01-13", "2026-02-01T00:00:00Z"))


def _pointer_is(content: bytes) -> Callable[[LocalStore], object]:
    return lambda store: _path(store, "utilization").write_bytes(content)


BREAK: dict[str, Callable[[LocalStore], object]] = {
    "empty pointer": _pointer_is(b""),
    "pointer cut short": _pointer_is(b"{"),
    "pointer of another kind": _pointer_is(b"[1]"),
    "another manifest": _alter_manifest,
    "file altered": _alter_file,
    "no such folder": _lose_folder,
    "artifact of throughput": _name_throughput,
    "artifact of an unknown target": _name_unknown_target,
}
"""Ways in which the pointer of utilization, there already, comes to name nothing that serves."""
BROKEN = pytest.mark.parametrize("way", BREAK)


@BROKEN
def test_a_utilization_that_does_not_load_leaves_throughput_ranking(
    store: LocalStore, both: dict[str, str], way: str
) -> None:
    BREAK[way](store)
    assert _ranked(store) == ({"throughput": both["throughput"]}, False)


@BROKEN
def test_a_good_utilization_stays_when_its_successor_does_not_load(
    store: LocalStore, both: dict[str, str], way: str, caplog: pytest.LogCaptureFixture
) -> None:
    ranker = Ranker.from_store(store.root, cache_s=0)
    assert _ranked(ranker) == (both, True)
    BREAK[way](store)
    for _ in range(3):
        assert _ranked(ranker) == (both, True)
    (logged,) = [record.getMessage() for record in caplog.records]
    assert logged.startswith("utilization of stage local not refreshed: ")


def test_an_artifact_of_the_other_target_is_refused_by_name(
    store: LocalStore, both: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    _name_throughput(store)
    _ranked(store)
    assert "predicts throughput" in caplog.text
    _point(store, "throughput", _publish(store, _constant(0.9, "utilization")))
    answer = checked(Ranker.from_store(store.root).rank(request()))
    assert answer["reason"] == "model_unavailable"
    assert "predicts utilization" in answer["detail"]


def test_a_removed_pointer_of_utilization_drops_the_model(
    store: LocalStore, both: dict[str, str]
) -> None:
    ranker = Ranker.from_store(store.root, cache_s=0)
    assert _ranked(ranker) == (both, True)
    _path(store, "utilization").unlink()
    assert _ranked(ranker) == ({"throughput": both["throughput"]}, False)


def test_a_model_that_broke_before_its_pointer_was_removed_is_dropped(
    store: LocalStore, both: dict[str, str]
) -> None:
    ranker = Ranker.from_store(store.root, cache_s=0)
    assert _ranked(ranker) == (both, True)
    _path(store, "utilization").write_bytes(b"{")
    assert _ranked(ranker) == (both, True)
    _path(store, "utilization").unlink()
    assert _ranked(ranker) == ({"throughput": both["throughput"]}, False)


def test_a_new_version_of_utilization_is_taken_up_after_the_cache_time(
    store: LocalStore, throughput: Pointer
) -> None:
    now = [0.0]
    source = StageSource(store, "local", switched=False, cache_s=60, clock=lambda: now[0])
    ranker = Ranker(source)
    seen = [_ranked(ranker)]
    versions = []
    for value, as_of in ((0.9, "2026-01-13"), (0.1, "2026-01-14")):
        versions.append(_serve(store, value, "utilization", as_of=as_of).version)
        assert _ranked(ranker) == seen[-1]
        now[0] += 60
        seen.append(_ranked(ranker))
    alone = {"throughput": throughput.version}
    assert seen == [
        (alone, False),
        ({**alone, "utilization": versions[0]}, True),
        ({**alone, "utilization": versions[1]}, False),
    ]


@pytest.mark.parametrize("broken", ["throughput", "utilization"])
def test_of_the_two_models_one_that_cannot_be_read_does_not_hold_up_the_other(
    store: LocalStore, both: dict[str, str], broken: str
) -> None:
    ranker = Ranker.from_store(store.root, cache_s=0)
    assert _ranked(ranker)[0] == both
    newer = {
        target: _serve(store, value, target, as_of="2026-02-01").version
        for target, value in (("throughput", 50.0), ("utilization", 0.8))
    }
    _path(store, broken).write_bytes(b"{")
    assert _ranked(ranker)[0] == newer | {broken: both[broken]}


@pytest.mark.parametrize("with_utilization", [False, True])
def test_a_ranker_and_the_command_can_turn_the_filter_off(
    store: LocalStore, throughput: Pointer, tmp_path: Path, with_utilization: bool
) -> None:
    if with_utilization:
        _serve(store, 0.1, "utilization")
    asked = tmp_path / "request.json"
    asked.write_text(json.dumps(request()))
    filtered = ["slow-4", "mid-8"]
    everyone = [*filtered, "fast-8"]
    for answer, expected in (
        (Ranker.from_store(store.root).rank(request()), filtered),
        (Ranker.from_store(store.root, premium_filter=False).rank(request()), everyone),
        (document("rank", asked, "--store", store), filtered),
        (document("rank", asked, "--store", store, "--no-premium-filter"), everyone),
    ):
        assert preferred(checked(answer)) == expected
        left = [] if expected == everyone else [("fast-8", "premium_underused")]
        assert excluded(answer) == left
