"""Measured throughput: what is withheld is never seen, scores are right by hand, results stay."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from bench.laboratory import cross_hardware as cross
from bench.laboratory import measured_table
from bench.laboratory.measured_command import measured as command
from bench.laboratory.measured_data import (
    Measured,
    MeasuredDataError,
    data_digest,
    night_of_rows,
    read_measured,
)
from bench.laboratory.measured_splits import (
    SPLIT,
    by_configuration,
    by_time,
    configurations,
    held_out_rows,
    marks,
    sit_by_time,
)
from bench.laboratory.methods import Method
from bench.laboratory.results import Results
from functions.retrain.comparators import family_median
from functions.retrain.nights import Night
from leap_model.columns import Floats
from leap_model.features.hardware import Hardware
from leap_model.features.ratios import accelerators_of
from leap_model.history import family_hashes
from leap_model.limits import DAY_US
from leap_model.times import start_of
from tests.unit.laboratory.conftest import QUICK
from tests.unit.laboratory.measured_folder import HARDWARE, SPEED, attempts, write_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Read it only."""
    return write_folder(tmp_path_factory.mktemp("made-up") / "data")


@pytest.fixture(scope="module")
def data(folder: Path) -> Measured:
    return read_measured(folder, "training", QUICK)


def _used(night: Night) -> set[str]:
    labels = night.training.jobs.hardware_type
    return {labels.values[code] for code in labels.codes}


def _oracle(measured: Floats, factor: float = 1.0) -> Method:
    return Method("oracle", {}, lambda night: measured * factor)


def test_every_attempt_is_read_but_those_of_the_short_runs(data: Measured) -> None:
    rows = [row for row in attempts("training") if row["source"] != "lambda"]
    assert len(data.attempts) == len(rows) == len(data.sources)
    assert sorted(data.attempts.measured) == sorted(row["throughput"] for row in rows)
    assert set(data.sources) == {"mlperf", "sia"}
    by_source = sorted(data.attempts.measured[data.sources == "sia"])
    assert by_source == sorted(row["throughput"] for row in rows if row["source"] == "sia")
    jobs = data.attempts.jobs
    found = accelerators_of(jobs, Hardware(jobs, data.catalogue))
    np.testing.assert_array_equal(found, 8 * jobs.num_trainers)


def test_a_night_of_rows_knows_the_kept_ones_alone(data: Measured) -> None:
    kept = np.arange(len(data.attempts)) % 3 > 0
    asked = np.flatnonzero(~kept)
    night = night_of_rows(data, kept, asked)
    assert len(night.training) == kept.sum() == len(night.outcomes.family) == len(night.rows)
    assert np.isnan(night.jobs.measured).all()
    families = family_hashes(data.attempts.jobs.family)
    for at, row in enumerate(asked):
        midnight = data.attempts.completed_at[row] // DAY_US * DAY_US
        earlier = kept & (families == families[row]) & (data.attempts.completed_at < midnight)
        assert night.history.runs[at] == earlier.sum()
    assert night.history.runs.max() > 0


def test_types_with_enough_runs_of_the_benchmark_are_withheld(
    data: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cross.withheld_types(data) == []
    labels = data.attempts.jobs.hardware_type
    used = np.array(labels.values)[labels.codes]
    counts = {name: int(((used == name) & (data.sources == "mlperf")).sum()) for name in SPEED}
    monkeypatch.setattr(cross, "LEAST_RUNS", sorted(counts.values())[1] - 1)
    found = cross.withheld_types(data)
    assert len(found) >= 3
    assert [counts[name] for name in found] == sorted(
        (counts[name] for name in found), reverse=True
    )
    monkeypatch.setattr(cross, "LEAST_RUNS", max(counts.values()))
    assert cross.withheld_types(data) == []


@pytest.mark.parametrize("name", list(SPEED))
def test_nothing_of_a_withheld_type_trains_or_is_history(data: Measured, name: str) -> None:
    shapes = cross.shapes_of(data)
    exam = cross.withhold(data, shapes, name)
    assert _used(exam.night) == set(SPEED) - {name}
    assert (exam.night.history.runs[exam.own] == 0).all()  # families are of one type here
    assert (exam.night.history.runs[~exam.own] > 0).any()
    its = {shapes[row] for row in exam.rows[exam.own]}
    assert {shapes[row] for row in exam.rows} == its
    assert exam.own.sum() == np.count_nonzero(cross.used_types(data) == name)


def test_the_truth_as_a_method_makes_no_error_and_its_reverse_orders_nothing(
    data: Measured,
) -> None:
    shapes = cross.shapes_of(data)
    exam = cross.withhold(data, shapes, "middle")
    measured = data.attempts.measured[exam.rows]
    told = cross.sit_withheld(data, shapes, exam, _oracle(measured))["mlperf"]
    assert (told["w20"], told["log_error"], told["coverage"]) == (1.0, 0.0, 1.0)
    assert (told["pairs_by_throughput"], told["pairs_by_dollar"], told["regret"]) == (1, 1, 0)
    assert told["shapes"] == 18
    assert told["attempts"] == int(((data.sources == "mlperf")[exam.rows] & exam.own).sum())
    worst = Method("reverse", {}, lambda night: 1 / measured)
    told = cross.sit_withheld(data, shapes, exam, worst)["all"]
    assert told["pairs_by_throughput"] == 0
    assert told["regret"] > 0.5


def test_pairs_and_regret_by_hand(data: Measured) -> None:
    types = ("fast", "free", "middle", "slow")
    nothing = np.nan
    grid = cross.Grid(
        types,
        np.array([[400.0, 150, 200, 100], [400, nothing, 200, nothing], [9, 9, nothing, 9]]),
        np.array([[500.0, 150, 90, 100], [400, nothing, 100, nothing], [9, 9, nothing, 9]]),
    )
    told = cross.compared(grid, "middle", data.catalogue)
    # Worth by measurement: fast 100, middle 200, slow 100; predicted 125, 90, 100, then 100, 100.
    assert told["shapes"] == 2
    assert told["pairs_by_throughput"] == pytest.approx(2 / 4)
    assert told["pairs_by_dollar"] == pytest.approx((0 + 0 + 0.5) / 3)
    assert told["regret"] == pytest.approx((200 / 100 - 1 + (200 / 100 - 1)) / 2)
    free = cross.compared(grid, "free", data.catalogue)
    assert (free["pairs_by_dollar"], free["regret"]) == (None, None)
    assert free["pairs_by_throughput"] == pytest.approx(2 / 3)  # equals are no pair
    assert cross.compared(grid, "absent", data.catalogue)["shapes"] == 0


def test_a_method_without_an_answer_for_the_type_is_no_choice(data: Measured) -> None:
    shapes = cross.shapes_of(data)
    exam = cross.withhold(data, shapes, "middle")
    silent = Method("silent", {}, lambda night: np.full(len(night.jobs), np.nan))
    told = cross.sit_withheld(data, shapes, exam, silent)["all"]
    assert told["coverage"] == 0
    assert {told[name] for name in ("w20", "log_error", "regret", "pairs_by_dollar")} == {None}


def test_whole_configurations_are_held_out(folder: Path) -> None:
    data = read_measured(folder, "inference", QUICK)
    numbers = configurations(data)
    held = held_out_rows(data, 0)
    assert not set(numbers[held]) & set(numbers[~held])
    assert len(set(numbers)) == 72
    assert len(set(numbers[held])) == 18
    np.testing.assert_array_equal(held, held_out_rows(data, 0))
    assert (held != held_out_rows(data, 1)).any()
    night, measured = by_configuration(data, 0)
    assert len(night.training) == (~held).sum()
    np.testing.assert_array_equal(measured, data.attempts.measured[held])


def test_the_split_by_time_asks_with_and_without_what_came_after(folder: Path) -> None:
    night, jobs = by_time(folder, QUICK)
    count = len(jobs)
    assert (night.training.completed_at < start_of(SPLIT)).all()
    assert (jobs.completed_at >= start_of(SPLIT)).all()
    assert len(night.jobs) == 2 * count
    assert np.isnan(night.jobs.measured).all()
    assert (night.before[:count] == start_of(SPLIT)).all()
    assert (night.before[count:] <= jobs.completed_at).all()
    more = night.history.runs[count:] - night.history.runs[:count]
    assert more.min() == 0
    assert more.max() == 1
    seen: list[Night] = []

    def median(asked: Night) -> Floats:
        seen.append(asked)
        return family_median(asked, np.full(len(asked.jobs), np.nan))

    told = sit_by_time(night, jobs, Method("median", {}, median))
    assert seen == [night]
    for name in ("before", "online"):
        parts = told[name]
        assert parts["all"]["attempts"] == count
        assert parts["first"]["attempts"] + parts["repeats"]["attempts"] == count
        assert (parts["first"]["coverage"], parts["repeats"]["coverage"]) in (
            (0.0, 1.0),
            (None, 1.0),
        )
    assert told["online"]["repeats"]["attempts"] >= told["before"]["repeats"]["attempts"]


def test_figures_are_of_what_is_answered() -> None:
    told = marks(np.array([10.0, 10, 10]), np.array([11.0, np.nan, 20]))
    assert (told["attempts"], told["w20"]) == (3, 0.5)
    assert told["coverage"] == pytest.approx(2 / 3)
    assert marks(np.zeros(0), np.zeros(0))["coverage"] is None


@pytest.fixture
def filling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """A filling of methods of some names, which are noted each time that they predict."""
    monkeypatch.setattr(cross, "LEAST_RUNS", 10)

    def make(*names: str, asked: list[str]) -> measured_table.Filling:
        def one(name: str) -> Method:
            def predict(night: Night) -> Floats:
                asked.append(name)
                return np.full(len(night.jobs), float(np.median(night.training.measured)))

            return Method(name, {"one": 1}, predict)

        kept = Results(tmp_path, "data")
        return measured_table.Filling([one(name) for name in names], kept, QUICK, lambda _: None)

    return make


def test_results_are_kept_and_gone_on_with(folder: Path, filling: Callable[..., Any]) -> None:
    asked: list[str] = []
    first = {
        "mlperf": measured_table.mlperf(folder, filling("a", asked=asked)),
        "inference": measured_table.inference(folder, filling("a", asked=asked), 2),
        "cross": measured_table.cross_hardware(folder, filling("a", asked=asked)),
    }
    assert asked == ["a"] * (1 + 2 + len(SPEED))
    asked.clear()
    both = filling("a", "b", asked=asked)
    again = measured_table.mlperf(folder, both)
    assert again["a"] == first["mlperf"]["a"]
    more = measured_table.inference(folder, both, 3)
    assert more["a"]["seeds"][:2] == first["inference"]["a"]["seeds"]
    assert measured_table.cross_hardware(folder, both)["a"] == first["cross"]["a"]
    assert asked.count("a") == 1  # the third seed
    assert asked.count("b") == 1 + 3 + len(SPEED)
    json.dumps(first, allow_nan=False)


def test_means_are_over_types_that_have_a_figure(folder: Path, filling: Callable[..., Any]) -> None:
    told = measured_table.cross_hardware(folder, filling("a", asked=[]))["a"]["mlperf"]
    regrets = [entry["regret"] for entry in told["types"].values()]
    assert regrets.count(None) == 1  # the type without a price
    known = [regret for regret in regrets if regret is not None]
    assert told["mean"]["regret"] == pytest.approx(np.mean(known))


def test_the_command_prints_tables_or_json(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross, "LEAST_RUNS", 10)
    options = ["--results", str(tmp_path), "--methods", "scaling-rule,peak-rule", "--seeds", "2"]
    told = CliRunner().invoke(command, [str(folder), *options])
    assert told.exit_code == 0, told.output
    for text in ("history before the split", "online history", "Inference", "mean over types"):
        assert text in told.output
    told = CliRunner().invoke(command, [str(folder), *options, "--splits", "cross", "--json"])
    document = json.loads(told.output)
    assert set(document) == {"data", "cross"}
    assert document["data"] == data_digest(folder)
    # Rates are peaks times a constant of the model, so that scaling by peaks is exact.
    assert document["cross"]["scaling-rule"]["mlperf"]["mean"]["w20"] == 1.0
    refused = CliRunner().invoke(command, [str(folder), *options, "--splits", "other"])
    assert refused.exit_code == 2
    assert "other is none of mlperf, inference, cross" in refused.output


def test_the_digest_is_of_every_file(folder: Path, tmp_path: Path) -> None:
    other = write_folder(tmp_path / "other")
    assert data_digest(other) == data_digest(folder)
    (other / "hardware.csv").write_text(HARDWARE.replace("400", "401"), encoding="utf-8")
    assert data_digest(other) != data_digest(folder)
    (other / "inference.jsonl.gz").unlink()
    with pytest.raises(MeasuredDataError, match=r"inference\.jsonl\.gz is not there"):
        data_digest(other)


def test_what_a_withheld_type_measured_changes_no_prediction(data: Measured) -> None:
    """Were any of its measurements seen, another one would be predicted otherwise."""
    shapes = cross.shapes_of(data)
    own = cross.used_types(data) == "fast"
    measured = np.where(own, data.attempts.measured * 7, data.attempts.measured)
    other = replace(data, attempts=replace(data.attempts, measured=measured))

    def said(some: Measured) -> Floats:
        night = cross.withhold(some, shapes, "fast").night
        return night.predicted_by(QUICK.estimator, night.rows)

    np.testing.assert_array_equal(said(data), said(other))


@pytest.mark.real_data
def test_the_measured_file_has_fourteen_types_to_withhold(measured: Path) -> None:
    data = read_measured(measured, "training", QUICK)
    assert len(data.attempts) == 37_629
    names = cross.withheld_types(data)
    assert len(names) == 14
    assert {"tpu-v3", "tpu-v4", "gaudi2", "h100-sxm5-80gb"} < set(names)
    shapes = cross.shapes_of(data)
    exam = cross.withhold(data, shapes, "gaudi2")
    assert "gaudi2" not in _used(exam.night)
    told = cross.sit_withheld(data, shapes, exam, _oracle(data.attempts.measured[exam.rows]))
    assert told["mlperf"]["shapes"] == 7
    assert told["mlperf"]["regret"] == 0
