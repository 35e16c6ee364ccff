"""The page of a run: complete, sound, and safe whatever a fleet names things."""

import copy
from typing import Any

import numpy as np
import pytest

from functions.retrain.distributions import by_label, calibration, density
from functions.retrain.report.nightly_page import nightly_page
from leap_model.columns import Labels
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.nights import night
from tests.unit.retrain.pages import sound

HOSTILE = (
    "<script>alert('x')</script>&",
    '"><img src=x onerror=alert(1)>',
    "</text></svg></figure>",
    "]]>--><style>*{display:none}",
    "a\x00b\x1b[31mc\ud800d\uffff",
    "\u202eltr\u2066",
    "w" * 256,
    " ",
    "&amp;&#60;",
    "{braces} %s",
)
PICTURES = (
    *("Accuracy and its ceiling", "Within 20 % by night", "Predicted against measured"),
    *("Calibration", "By power of ten", "By commonness of the model type", "By hardware type"),
    *("By model type", "What the model leans on, by group", "What the model leans on, by column"),
    *("Ranked first, by model type", "Throughput by hardware type"),
)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return night(filled(tmp_path_factory.mktemp("report"), fleet(300)))


@pytest.fixture
def metrics(first: Any) -> Any:
    return copy.deepcopy(first)


def test_a_run_leaves_a_page_beside_its_metrics(store: LocalStore) -> None:
    version = night(filled(store.root, fleet(300)))["version"]
    page = sound((store.read(f"reports/throughput/{version}/report.html") or b"").decode())
    for name in (version, "the stage points at it", "fast-8", "mid-8", "slow-4", "bert", "resnet"):
        assert name in page.said
    for title in PICTURES:
        assert title in page.text
    assert len(page.figures) == len(PICTURES)
    assert all("svg" in parts for parts in page.figures)


def test_the_same_metrics_give_the_same_bytes(metrics: Any) -> None:
    assert nightly_page(metrics).encode() == nightly_page(copy.deepcopy(metrics)).encode()


def test_the_same_data_gives_the_same_metrics_and_page(first: Any, store: LocalStore) -> None:
    own = night(filled(store.root, fleet(300)))
    measured = ("seconds", "memory_mb", "peak_memory_mb")
    assert own | dict.fromkeys(measured) == first | dict.fromkeys(measured)
    timed = {name: first[name] for name in measured}
    assert nightly_page(own | timed) == nightly_page(first)


def _renamed(value: Any, name: str) -> Any:
    """The same document with one entry of every group, and every name in it, replaced."""
    counted = {"attempts": 3, "w20": 1.0}
    quantiles = {"attempts": 3, "p5": 1.0, "p25": 2.0, "p50": 3.0, "p75": 4.0, "p95": 5.0}
    evaluation = value["evaluation"] | {
        part: {name: counted} for part in ("by_hardware", "by_model_type", "by_model_rank")
    }
    return value | {
        "version": name,
        "target": name,
        "estimator": name,
        "pointed": False,
        "reason": name,
        "evaluation": evaluation,
        "unknown_hardware": {name: 2},
        "skipped_objects": [name],
        "live": {"version": name, "evaluation": None, "reason": name},
        "importance": {
            "attempts": 3,
            "w20": 0.5,
            "left_out": 1,
            "groups": {name: 0.1},
            "columns": {name: -0.1},
        },
        "first_choices": {
            "candidates": [name, "b"],
            "model_types": {name: {"attempts": 9, "asked": 4, "first": {name: 3, "b": 1}}},
        },
        "measured_by_hardware": {name: quantiles},
    }


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_of_a_fleet_are_text_and_never_markup(metrics: Any, name: str) -> None:
    plain, hostile = (nightly_page(_renamed(metrics, n)) for n in ("name", name))
    hostile.encode()
    expected, page = sound(plain), sound(hostile)
    # A long name's short form carries all of it as a title.
    assert page.tags - {"title"} == expected.tags - {"title"}
    assert page.attributes == expected.attributes
    if name.isprintable() and name.strip():
        assert sum(name in text for text in page.text) >= 12


def test_unknown_figures_are_said_to_be_unknown(metrics: Any) -> None:
    nothing: dict[str, Any] = dict.fromkeys(metrics["evaluation"])
    nobody = {"attempts": 0, "w20": None}
    evaluation = nothing | {
        "attempts": 0,
        "from": "2026-01-10",
        "cold": nobody,
        "warm": nobody,
        "by_hardware": {},
        "by_model_type": {},
        "by_model_rank": {},
        "by_decade": {},
    }
    none = np.zeros(0)
    night = {"as_of": "2026-01-11", "version": "v", "attempts": 0, "w20": None}
    unknown = {
        "evaluation": evaluation,
        "pointed": False,
        "reason": "x",
        "live": None,
        "importance": None,
        "first_choices": None,
        "calibration": calibration(none, none),
        "predicted_against_measured": density(none, none),
        "measured_by_hardware": by_label(Labels.of([]), none),
        "nights": [night | {"noise_ceiling_w20": None}],
    }
    page = sound(nightly_page(metrics | unknown))
    assert "unknown" in page.text
    assert "None" not in page.said
    assert "nan" not in page.said


OPEN = (
    *("evaluation.by_hardware", "evaluation.by_model_type", "evaluation.by_model_rank"),
    *("evaluation.by_decade", "importance.groups", "importance.columns", "nights"),
    *("first_choices.model_types", "first_choices.candidates", "measured_by_hardware"),
    *("unknown_hardware", "skipped_objects", "window.missing_days", "seconds"),
)
"""Collections that may hold any number of entries."""


@pytest.mark.parametrize("path", OPEN)
def test_a_collection_that_holds_nothing_is_no_fault(metrics: Any, path: str) -> None:
    *parts, last = path.split(".")
    holder = metrics
    for part in parts:
        holder = holder[part]
    holder[last] = type(holder[last])()
    sound(nightly_page(metrics))


def test_one_attempt_is_drawn(metrics: Any) -> None:
    one, labels = np.array([100.0]), Labels.of(["fast-8"])
    for predicted in (100.0, 1e-300, 0.0, np.inf, 1e300):
        guess = np.array([predicted])
        told = {
            "predicted_against_measured": density(one, guess),
            "calibration": calibration(one, guess),
            "measured_by_hardware": by_label(labels, one),
        }
        sound(nightly_page(metrics | told))


def test_quantiles_that_are_unknown_are_drawn_as_unknown(metrics: Any) -> None:
    spread = {"a": dict.fromkeys(("p5", "p25", "p50", "p75", "p95")) | {"attempts": 2}}
    page = sound(nightly_page(metrics | {"measured_by_hardware": spread}))
    assert "unknown" in page.text


def test_a_long_table_is_cut_and_says_so(metrics: Any) -> None:
    many = {f"type-{at:03}": {"attempts": 100 - at, "w20": 0.5} for at in range(80)}
    evaluation = metrics["evaluation"] | {"by_hardware": many}
    page = sound(nightly_page(metrics | {"evaluation": evaluation}))
    assert "type-049" in page.said
    assert "type-050" not in page.said
    assert "and 30 more" in page.said
    assert "The 24 commonest of 80." in page.said


def _large(metrics: Any) -> Any:
    """As many of everything as a large fleet has, over twelve decades."""
    draw = np.random.default_rng(1)
    measured = 10 ** draw.uniform(-3, 9, 25_000)
    predicted = measured * np.exp(draw.normal(0, 1.0, len(measured)))
    counted = {"attempts": 40, "w20": 0.7}
    types = [f"accelerator-type-{at:04}.24xlarge" for at in range(600)]
    labels = Labels.of(types[at % 600] for at in range(len(measured)))
    parts = dict.fromkeys(types, counted)
    first = dict.fromkeys(types[:25], 1)
    models = {f"model-{at}": {"attempts": 9, "asked": 25, "first": first} for at in range(12)}
    columns = {f"config_text.a-rather-long-name-{at}": at / 1e4 for at in range(1_000)}
    nights = [
        {"as_of": f"2026-{1 + at // 28:02}-{1 + at % 28:02}", "version": "v", "attempts": 9}
        | {"w20": 0.7 + at / 1e3, "noise_ceiling_w20": 0.9}
        for at in range(60)
    ]
    return metrics | {
        "evaluation": metrics["evaluation"] | {"by_hardware": parts, "by_model_type": parts},
        "predicted_against_measured": density(measured, predicted),
        "calibration": calibration(measured, predicted),
        "measured_by_hardware": by_label(labels, measured),
        "importance": metrics["importance"] | {"columns": columns},
        "first_choices": {"candidates": types, "model_types": models},
        "nights": nights,
    }


def test_a_large_fleets_page_stays_small(metrics: Any) -> None:
    page = nightly_page(_large(metrics))
    sound(page)
    assert len(page.encode()) < 300_000
