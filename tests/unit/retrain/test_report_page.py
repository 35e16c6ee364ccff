"""The page of a run: complete, and safe whatever names a fleet uses."""

from html.parser import HTMLParser
from typing import Any

import pytest

from functions.retrain.report_page import render_report
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.nights import night

VOID = {"meta"}


class _Page(HTMLParser):
    """Tags in the order they close, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return night(filled(tmp_path_factory.mktemp("report"), fleet(300)))


def test_a_run_leaves_a_page_beside_its_metrics(store: LocalStore) -> None:
    version = night(filled(store.root, fleet(300)))["version"]
    page = _Page((store.read(f"reports/throughput/{version}/report.html") or b"").decode())
    assert page.open == []
    said = " ".join(page.text)
    assert version in said
    assert "the stage points at it" in said
    for name in ("fast-8", "mid-8", "slow-4", "bert", "ctr", "resnet"):
        assert name in said


def test_names_of_a_fleet_are_text_and_never_markup(metrics: Any) -> None:
    name = "<script>alert('x')</script>&"
    evaluation = metrics["evaluation"] | {"by_model_type": {name: {"attempts": 1, "w20": 1.0}}}
    page = _Page(render_report(metrics | {"evaluation": evaluation, "unknown_hardware": {name: 2}}))
    assert "script" not in page.tags
    assert sum(name in text for text in page.text) == 2


def test_unknown_figures_are_said_to_be_unknown(metrics: Any) -> None:
    nothing: dict[str, Any] = dict.fromkeys(metrics["evaluation"])
    evaluation = nothing | {
        "attempts": 0,
        "from": "2026-01-10",
        "cold": {"attempts": 0, "w20": None},
        "warm": {"attempts": 0, "w20": None},
        "by_hardware": {},
        "by_model_type": {},
        "by_model_rank": {},
        "by_decade": {},
    }
    page = _Page(
        render_report(metrics | {"evaluation": evaluation, "pointed": False, "reason": "x"})
    )
    assert "unknown" in page.text
    assert "None" not in " ".join(page.text)


def test_a_long_table_is_cut_and_says_so(metrics: Any) -> None:
    many = {f"type-{at:03}": {"attempts": 100 - at, "w20": 0.5} for at in range(80)}
    page = _Page(
        render_report(metrics | {"evaluation": metrics["evaluation"] | {"by_hardware": many}})
    )
    said = " ".join(page.text)
    assert "type-049" in said
    assert "type-050" not in said
    assert "and 30 more" in said
