"""A model of utilization beside that of throughput: what it decides, and how it comes and goes."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leap_model import Ranker
from leap_model.artifact import Artifact, pack, publish
from leap_model.catalogue import parse_catalogue
from leap_model.model import Model
from leap_model.pointer import Pointer, pointer_key
from leap_model.ranking import rank_with
from leap_model.request import parse_request
from leap_model.source import Serving, StageSource, Versioned
from leap_model.store import LocalStore
from leap_model.switches import EVERYONE
from tests.support import CATALOGUE, checked, excluded, preferred, request
from tests.unit.cli.commands import document
from tests.unit.leap_model.builders import forest, tiny_artifact
from tests.unit.ranking.hand_made import hand_made, hardware, job, snapshot_of

Rows = list[dict[str, Any]]


def _chip(name: str, used: float | None, peak: float | None = 100.0, **values: Any) -> Any:
    """A type with a relative efficiency of 100 ÷ peak beside a plain one of peak 100."""
    specifications = {"peak_fp16_tflops": peak, "used": used}
    known = {name: value for name, value in specifications.items() if value is not None}
    return hardware(name, 1.0, accelerators_per_host=1, **known, **values)


def _premium(name: str, used: float | None, peak: float | None = 100.0, **values: Any) -> Any:
    return _chip(name, used, peak, premium=True, **values)


def _utilization(types: Rows, column: str = "hardware.used", **values: Any) -> Artifact:
    """A model that predicts the column as it is."""
    return hand_made(types, column, target="utilization", **values)


def _answer(
    types: Rows,
    utilization: Artifact | None = None,
    candidates: Any = None,
    *,
    throughput: Artifact | None = None,
    premium_filter: bool = True,
    **values: Any,
) -> dict[str, Any]:
    models = throughput or hand_made(types), utilization or _utilization(types)
    serving = Serving(Versioned("t7", models[0]), Versioned("u3", models[1]), EVERYONE)
    asked = candidates or [entry["hardware_type"] for entry in types]
    parsed = parse_request({"job": job(), "candidates": asked, **values})
    return checked(rank_with(serving, parsed, premium_filter=premium_filter))


def _entries(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {entry["id"]: entry for entry in answer["preference"]}


@pytest.mark.parametrize(
    ("used", "floor", "stays"),
    [
        (0.5, None, True),  # the default
        (0.4999, None, False),
        (0.25, 0.25, True),
        (0.25, 0.2501, False),
        (1e-6, 0.0, True),
        (1.0, 1.0, True),
        (0.9999, 1.0, False),
        (3.0, 1.0, True),  # no prediction is above 1
        (3.0, 1.0001, False),
    ],
)
def test_a_premium_type_stays_from_its_floor_of_utilization_on(
    used: float, floor: float | None, stays: bool
) -> None:
    limit = {} if floor is None else {"premium_min_efficiency": floor}
    answer = _answer([_chip("plain", 0.9), _premium("premium", used, **limit)])
    assert preferred(answer) == (["plain", "premium"] if stays else ["plain"])
    assert excluded(answer) == ([] if stays else [("premium", "premium_underused")])


def test_predicted_utilization_decides_where_relative_efficiency_says_otherwise() -> None:
    types = [
        _chip("plain", 0.9),
        _premium("busy", used=0.9, peak=400),
        _premium("idle", used=0.1, peak=100),
    ]
    assert preferred(_answer(types)) == ["busy", "plain"]


@pytest.mark.parametrize("peak", [None, 100.0])
def test_it_decides_where_there_is_nothing_to_compare_with(peak: float | None) -> None:
    types = [_premium("busy", 0.9, peak), _premium("idle", 0.1, peak)]
    answer = _answer(types)
    assert (preferred(answer), answer["reason"]) == (["busy"], None)
    assert excluded(answer) == [("idle", "premium_underused")]


def test_it_decides_where_peaks_are_unknown() -> None:
    types = [_chip("plain", 0.9, None), _premium("busy", 0.9), _premium("idle", 0.1)]
    assert preferred(_answer(types)) == ["busy", "plain"]


def test_where_every_candidate_is_underused_all_are_excluded() -> None:
    answer = _answer([_premium("one", 0.1), _premium("two", 0.2)], candidates=["two", "one", "x"])
    assert (answer["preference"], answer["reason"]) == ([], "all_excluded")
    assert excluded(answer) == [
        ("x", "unknown_hardware"),
        ("two", "premium_underused"),
        ("one", "premium_underused"),
    ]
    assert answer["models"] == {"throughput": "t7", "utilization": "u3"}


def test_a_type_that_is_not_premium_stays_whatever_its_utilization() -> None:
    types = [_chip("plain", 1e-6), _chip("other", 0.1), _premium("premium", 0.9)]
    answer = _answer(types)
    assert preferred(answer) == ["other", "plain", "premium"]
    assert excluded(answer) == []


def test_each_id_of_a_premium_type_is_judged_by_its_own_prediction() -> None:
    types = [_premium("premium", None)]
    candidates = [
        {"hardware_type": "premium", "id": "spot", "allocation": {"used": 0.8}},
        {"hardware_type": "premium", "id": "on-demand", "allocation": {"used": 0.2}},
    ]
    answer = _answer(types, _utilization(types, "allocation.used"), candidates)
    assert preferred(answer) == ["spot"]
    assert excluded(answer) == [("on-demand", "premium_underused")]


def test_entries_carry_their_utilization_which_is_never_above_one() -> None:
    types = [_chip("a", 0.25), _premium("b", 0.75), _chip("c", 7.0)]
    entries = _entries(_answer(types))
    assert [entries[name]["utilization"] for name in "abc"] == pytest.approx([0.25, 0.75, 1.0])
    assert all(0 <= entry["utilization"] <= 1 for entry in entries.values())


def test_the_answer_names_both_versions_and_throughput_s_is_the_model_version() -> None:
    answer = _answer([_chip("plain", 0.9)])
    assert answer["models"] == {"throughput": "t7", "utilization": "u3"}
    assert answer["model_version"] == "t7"


def test_order_is_by_throughput_alone() -> None:
    types = [{**_chip("slow", 1.0), "rate": 1.0}, {**_chip("fast", 0.1), "rate": 2.0}]
    assert preferred(_answer(types)) == ["fast", "slow"]


def test_with_the_filter_off_underused_types_are_ranked_with_their_utilization() -> None:
    types = [_chip("plain", 0.9), _premium("idle", 0.1, 400)]
    answer = _answer(types, premium_filter=False)
    assert (preferred(answer), excluded(answer)) == (["idle", "plain"], [])
    assert _entries(answer)["idle"]["utilization"] == pytest.approx(0.1)


@pytest.mark.parametrize(("rows", "kept"), [(49, ["efficient"]), (50, ["busy"])])
def test_a_type_with_too_few_rows_of_utilization_is_judged_by_relative_efficiency(
    rows: int, kept: list[str]
) -> None:
    types = [
        _chip("plain", 0.9),
        _premium("busy", used=0.9, peak=400),
        _premium("efficient", used=0.1, peak=100),
    ]
    known = {"plain": 50, "busy": rows, "efficient": rows}
    entries = _entries(_answer(types, _utilization(types, rows=known)))
    assert sorted({*entries} - {"plain"}) == kept
    assert {name for name, entry in entries.items() if "utilization" in entry} == (
        {"plain"} if rows < 50 else {"plain", *kept}
    )


def test_the_least_rows_of_utilization_are_its_own_model_s() -> None:
    types = [_chip("plain", 0.9), _premium("idle", 0.1)]
    few = {"plain": 9, "idle": 9}
    answer = _answer(types, _utilization(types, rows=few, min_hardware_rows=9))
    assert excluded(answer) == [("idle", "premium_underused")]


def test_a_type_that_throughput_was_not_trained_on_is_judged_by_utilization_all_the_same() -> None:
    types = [_premium("busy", 0.9), _premium("idle", 0.1)]
    throughput = hand_made(types, rows={"elsewhere": 50})
    answer = _answer(types, throughput=throughput, allow_untrained=True)
    assert preferred(answer) == ["busy"]
    assert _entries(answer)["busy"]["extrapolated"]


@pytest.mark.parametrize(("config", "kept"), [({}, "efficient"), ({"depth": 3}, "busy")])
def test_a_request_without_what_utilization_needs_is_judged_by_relative_efficiency(
    config: dict[str, Any], kept: str
) -> None:
    types = [
        _chip("plain", 0.9),
        _premium("busy", used=0.9, peak=400),
        _premium("efficient", used=0.1, peak=100),
    ]
    utilization = _utilization(types, required=("config.depth",))
    answer = _answer(types, utilization, job=job(config=config))
    assert preferred(answer) == sorted([kept, "plain"])
    assert answer["reason"] is None
    assert all(("utilization" in entry) is bool(config) for entry in answer["preference"])
    assert answer["models"] == {"throughput": "t7", "utilization": "u3"}


def test_a_type_whose_utilization_cannot_be_predicted_is_judged_by_relative_efficiency() -> None:
    types = [_chip("plain", 0.9), _premium("good", None), _premium("poor", None, peak=400)]
    answer = _answer(types)
    assert preferred(answer) == ["good", "plain"]
    assert "utilization" not in _entries(answer)["good"]


@pytest.mark.parametrize("known_to", ["throughput", "utilization"])
def test_each_model_reads_a_history_of_its_own(known_to: str) -> None:
    types = [_chip("plain", 0.9)]
    runs = snapshot_of({"mine": [(0, 5.0), (1, 5.0)]})
    own = {"snapshot": runs, "offset": 0.25}
    other = {"offset": 0.25}
    for_throughput, for_utilization = (own, other) if known_to == "throughput" else (other, own)
    answer = _answer(
        types,
        _utilization(types, "history.runs", **for_utilization),
        throughput=hand_made(types, "history.runs", **for_throughput),
        job=job(job_family="mine"),
    )
    entry = _entries(answer)["plain"]
    seen = entry["throughput"], entry["utilization"]
    assert seen == pytest.approx((2.25, 0.25) if known_to == "throughput" else (0.25, 1.0))
    assert answer["cold_start"] is (known_to == "utilization")


# From a store: what the stage's two pointers name.

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
