"""leap backtest: its tables, its document, its options, and what it refuses."""

from typing import Any

import pytest

from functions.retrain import comparators
from functions.retrain.comparators import COMPARATORS
from functions.retrain.learning import presets
from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.single import Single
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.cli.commands import document, refused, succeeded

SINGLE = ("--estimator", "single")
USED = {"resnet": 0.8, "bert": 0.4, "ctr": 0.1}
ALL = "lookup-table,family-median,family-median-else-model,without-history,plain,cascade"
SMALL = {
    "single": Single(trees=4, leaves=6),
    "plain": Single(name="plain", scaled=False, trees=2),
    "cascade": Cascade(bins=2, rounds=1, expert_trees=2, deciding_trees=1, classifier_trees=2),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's own estimators take their time."""
    monkeypatch.setattr(presets, "ESTIMATORS", SMALL)
    monkeypatch.setattr(comparators, "ESTIMATORS", SMALL)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    """Ten days of throughput and utilization; read it only."""
    attempts = [entry | {"utilization": USED[entry["model_type"]]} for entry in fleet(320)]
    return filled(tmp_path_factory.mktemp("past"), attempts)


def _backtest(past: LocalStore, *options: object) -> Any:
    return document("backtest", *SINGLE, "--store", past, "--nights", 2, *options)


def _tables(text: str) -> dict[str, dict[str, list[str]]]:
    """Title of each table, and the cells of each row by the row's name."""
    tables: dict[str, dict[str, list[str]]] = {}
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, *cells = line.replace(" %", "%").replace(" – ", "–").split() or [""]
        if name in ("throughput,", "Of") or line.startswith("w20 less"):
            rows = tables.setdefault(line.strip(), {})
        elif cells and name not in ("w10", "points", "the", "─" * len(name)):
            rows[name] = cells
    return tables


def test_the_main_table_is_followed_by_one_for_each_partial_comparator(past: LocalStore) -> None:
    tables = _tables(
        succeeded("backtest", *SINGLE, "--store", past, "--nights", 2, "--compare", ALL)
    )
    assert list(tables) == [
        "throughput, median of 2 nights",
        "Of the attempts that lookup-table answers",
        "Of the attempts that family-median answers",
        "w20 less that of single",
    ]
    apart = tables.pop("w20 less that of single")
    assert list(apart) == ALL.split(",")
    for rows in tables.values():
        assert list(rows) == ["single", *ALL.split(",")]


def test_without_comparators_there_is_one_table_of_one_row(past: LocalStore) -> None:
    tables = _tables(succeeded("backtest", *SINGLE, "--store", past, "--nights", 2))
    assert [list(rows) for rows in tables.values()] == [["single"]]


def _percent(share: float) -> str:
    return f"{share * 100:.1f}%"


def test_a_row_tells_medians_range_attempts_and_coverage(past: LocalStore) -> None:
    options = ("--compare", "lookup-table")
    result = _backtest(past, *options)
    text = succeeded("backtest", *SINGLE, "--store", past, "--nights", 2, *options)
    everywhere, covered, apart = _tables(text).values()
    entry = result["comparators"]["lookup-table"]
    median, nights = entry["median"], entry["nights"]
    low, high = sorted(night["w20"] for night in nights)
    coverage = sum(night["coverage"] for night in nights) / 2
    figures = [
        *(_percent(median["w10"]), _percent(median["w20"]), f"{_percent(low)}–{_percent(high)}"),
        *(_percent(median["mdape"]), f"{median['ratio']:.2f}"),
    ]
    attempts = sum(night["attempts"] for night in nights)
    assert 0 < coverage < 1
    assert everywhere["lookup-table"][:5] == figures
    assert everywhere["lookup-table"][-2:] == [str(attempts), _percent(coverage)]
    assert everywhere["single"][-2:] == ["64", "100.0%"]
    assert covered["lookup-table"] == [*figures, str(attempts)]
    assert covered["single"][-1] == str(attempts)
    told = result["differences"]["lookup-table"]
    mean, low, high = (f"{told[name] * 100:+.1f}" for name in ("mean", "low", "high"))
    assert apart["lookup-table"] == [mean, low, "to", high, "2"]


def test_the_document_holds_what_the_contract_names(past: LocalStore) -> None:
    result = _backtest(past, "--compare", ALL)
    assert result.keys() >= {"nights", "median", "comparators"}
    assert [night["as_of"] for night in result["nights"]] == ["2026-01-09", "2026-01-10"]
    assert [night["rows"] for night in result["nights"]] == [256, 288]
    assert result["comparators"].keys() == set(ALL.split(","))
    for entry in (result, *result["comparators"].values()):
        assert len(entry["nights"]) == 2
        assert entry["median"].keys() == {"w5", "w10", "w15", "w20", "mdape", "ratio"}
    assert result["covered"].keys() == {"lookup-table", "family-median"}
    for name, entry in result["differences"].items():
        assert entry.keys() == {"nights", "mean", "low", "high"}
        if result["comparators"][name]["nights"][0]["coverage"] == 1:
            theirs = [night["w20"] for night in result["comparators"][name]["nights"]]
            own = [night["w20"] for night in result["nights"]]
            assert entry["mean"] == pytest.approx(sum(theirs) / 2 - sum(own) / 2)


def test_a_difference_is_of_what_the_method_answers(past: LocalStore) -> None:
    result = _backtest(past, "--compare", "lookup-table")
    covered = result["covered"]["lookup-table"]
    by_night = [
        theirs["w20"] - own["w20"]
        for theirs, own in zip(
            covered["lookup-table"]["nights"], covered["model"]["nights"], strict=True
        )
    ]
    assert result["differences"]["lookup-table"]["mean"] == pytest.approx(sum(by_night) / 2)


def test_the_ceiling_is_said_where_attempts_repeat_each_other(store: LocalStore) -> None:
    shape = {"hardware_type": "fast-8", "num_trainers": 1, "batch_size": 32, "config": {}}
    runs = [
        entry | shape | {"job_family": f"family {at % 40}", "throughput": 100.0 + at % 40}
        for at, entry in enumerate(fleet(320))
    ]
    filled(store.root, runs)
    text = succeeded("backtest", *SINGLE, "--store", store, "--nights", 1)
    assert "could have within 20 %: 100.0 %" in text


def test_the_ceiling_is_unknown_where_they_do_not(past: LocalStore) -> None:
    text = succeeded("backtest", *SINGLE, "--store", past, "--nights", 1)
    assert "could have within 20 %: unknown, too few attempts repeat each other" in text


def test_nights_without_attempts_are_dashes_in_every_table(past: LocalStore) -> None:
    options = ("--nights", 1, "--from", "2026-01-20", "--compare", "family-median")
    tables = _tables(succeeded("backtest", *SINGLE, "--store", past, *options))
    assert tables == {
        "throughput, median of 1 night": dict.fromkeys(
            ("single", "family-median"), ["–"] * 7 + ["0", "–"]
        ),
        "Of the attempts that family-median answers": dict.fromkeys(
            ("single", "family-median"), ["–"] * 5 + ["0"]
        ),
        "w20 less that of single": {"family-median": ["–", "–", "0"]},
    }


@pytest.mark.parametrize("names", ["oracle", "lookup-table, oracle", "oracle,single", "oracle "])
def test_a_comparator_that_is_none_is_refused_beside_those_that_are(
    past: LocalStore, names: str
) -> None:
    line = refused("backtest", *SINGLE, "--store", past, "--nights", 1, "--compare", names)
    assert line.endswith(f"oracle is none of {', '.join(COMPARATORS)}")


@pytest.mark.parametrize("names", ["", " ", ",", " ,, "])
def test_no_names_are_no_comparators(past: LocalStore, names: str) -> None:
    assert _backtest(past, "--compare", names)["comparators"] == {}


def test_names_may_be_spaced_and_repeated(past: LocalStore) -> None:
    result = _backtest(past, "--compare", " lookup-table , plain,,lookup-table ")
    assert list(result["comparators"]) == ["lookup-table", "plain"]


def test_the_target_is_what_is_predicted_and_compared(past: LocalStore) -> None:
    options = ("--estimator", "plain", "--compare", "family-median")
    result = _backtest(past, "--target", "utilization", *options)
    assert result["comparators"]["family-median"]["median"]["w5"] == 1.0
    assert result["median"] != _backtest(past, *options)["median"]


def test_a_target_that_nobody_measured_is_one_line(store: LocalStore) -> None:
    filled(store.root, fleet(240))
    options = ("--nights", 1, "--target", "utilization")
    line = refused("backtest", *SINGLE, "--store", store, *options)
    assert line.startswith("Error: 0 attempts with a usable utilization on 0 days")


def test_constants_change_what_the_estimator_learns(past: LocalStore) -> None:
    usual = _backtest(past)
    assert _backtest(past, "--set", "trees=4", "--set", "leaves=6") == usual
    assert _backtest(past, "--set", "trees=40")["median"] != usual["median"]


def test_an_estimator_with_other_constants_has_a_row_beside_that_of_its_name(
    past: LocalStore,
) -> None:
    options = ("--nights", 2, "--set", "trees=40", "--compare", "single,family-median")
    text = succeeded("backtest", *SINGLE, "--store", past, *options).replace("as set", "as-set")
    tables = _tables(text.replace("single as-set", "single-as-set"))
    apart = tables.popitem()[1]
    assert list(apart) == ["single", "family-median"]
    for rows in tables.values():
        assert list(rows) == ["single-as-set", "single", "family-median"]
        assert rows["single-as-set"] != rows["single"]


def test_the_number_of_processes_reaches_every_fit(
    past: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int | None] = []
    fit = Single.fit

    def watched(own: Single, rows: TrainingSet, seed: int, processes: int | None = None) -> Fitted:
        asked.append(processes)
        return fit(own, rows, seed, 1)

    monkeypatch.setattr(Single, "fit", watched)
    usual = _backtest(past, "--compare", "without-history,plain")
    assert _backtest(past, "--compare", "without-history,plain", "--processes", 3) == usual
    assert asked == [None] * 6 + [3] * 6


def test_online_history_shows_more_of_the_horizon(past: LocalStore) -> None:
    options = ("--from", "2026-01-08", "--horizon-days", 3, "--compare", "family-median")
    frozen, online = (_backtest(past, *options, *more) for more in ((), ("--online-history",)))
    assert frozen["comparators"] != online["comparators"]
    assert [night["rows"] for night in frozen["nights"]] == [
        night["rows"] for night in online["nights"]
    ]


@pytest.mark.parametrize(
    "options",
    [
        *(("--set", "trees"), ("--set", "tree=3"), ("--set", "trees=x"), ("--set", "trees=0")),
        *(("--processes", "0"), ("--processes", "two"), ("--target", "cost_usd")),
        *(("--estimator", "oracle"), ("--estimator", "lookup-table"), ("--horizon-days", "x")),
    ],
    ids=" ".join,
)
def test_a_bad_option_is_refused_in_one_line(past: LocalStore, options: tuple[str, ...]) -> None:
    refused("backtest", *SINGLE, "--store", past, "--nights", 1, *options)
