"""The second fleet: the same files as the first, by nothing of the same make."""

import ast
import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.second_fleet import write_fleet
from bench.second_fleet.catalogue import NEWCOMER
from cli.readers import read_records
from cli.simulation.marks import Mark
from leap_model.family import family_of
from leap_model.intake import Counts, take_in
from leap_model.store import LocalStore
from leap_model.stored_catalogue import keep_catalogue
from leap_model.times import start_of

Attempt = dict[str, Any]
DAYS, PER_DAY, START = 4, 2000, dt.date(2026, 1, 1)
HERE = Path(__file__).resolve().parents[3] / "bench" / "second_fleet"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Mark]]:
    out = tmp_path_factory.mktemp("second") / "fleet"
    return out, write_fleet(out, days=DAYS, per_day=PER_DAY, seed=2, start=START)


@pytest.fixture(scope="module")
def attempts(fleet: tuple[Path, list[Mark]]) -> list[Attempt]:
    files = sorted((fleet[0] / "attempts").iterdir())
    return [json.loads(line) for path in files for line in gzip.open(path, "rt")]


@pytest.fixture(scope="module")
def truth(fleet: tuple[Path, list[Mark]]) -> pa.Table:
    files = sorted((fleet[0] / "truth").iterdir())
    return pa.concat_tables([pq.read_table(path) for path in files])


def test_same_arguments_write_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        write_fleet(tmp_path / name, days=2, per_day=40, seed=seed)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        contents.append([path.read_bytes() for path in files])
    assert len(contents[0]) == 5
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_a_longer_window_is_not_needed_to_write_one_day(tmp_path: Path) -> None:
    marks = write_fleet(tmp_path / "fleet", days=1, per_day=1, seed=0)
    assert {mark.name: mark.fleet for mark in marks}["hardware types, at least"] in (0, 1)


@pytest.mark.parametrize("change", [{"days": 0}, {"per_day": 0}, {"seed": -1}], ids=str)
def test_numbers_out_of_range_are_refused(tmp_path: Path, change: dict[str, int]) -> None:
    arguments: dict[str, Any] = {"days": 1, "per_day": 1, "seed": 0, **change}
    with pytest.raises(ValueError, match="at least"):
        write_fleet(tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_two_fleets_are_never_mixed(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(ValueError, match="new or an empty folder"):
        write_fleet(tmp_path, days=1, per_day=1, seed=0)


def test_the_intake_takes_every_attempt(fleet: tuple[Path, list[Mark]], tmp_path: Path) -> None:
    store, counts = LocalStore(tmp_path), Counts()
    catalogue = fleet[0] / "hardware.json"
    keep_catalogue(store, catalogue.read_bytes(), catalogue.name)
    for path in sorted((fleet[0] / "attempts").iterdir()):
        take_in(store, read_records(path), counts, start_of(START + dt.timedelta(days=DAYS)))
    assert counts.stored == counts.read == DAYS * PER_DAY
    assert (counts.rejected, counts.duplicates, counts.dropped_values) == (0, 0, 0)


def test_a_job_name_gives_its_family(attempts: list[Attempt]) -> None:
    for attempt in attempts[:500]:
        derived = family_of(attempt["job_name"])
        assert derived == attempt["job_name"].partition("@")[0]
        assert family_of(attempt["job_name"], attempt.get("job_family")) == derived


def test_the_truth_has_every_attempt_on_every_type(
    fleet: tuple[Path, list[Mark]], attempts: list[Attempt], truth: pa.Table
) -> None:
    entries = json.loads((fleet[0] / "hardware.json").read_text())["hardware_types"]
    types = [entry["hardware_type"] for entry in entries]
    assert truth.column_names == ["attempt_id", "hardware_type", *types]
    for name in ("attempt_id", "hardware_type"):
        assert truth[name].to_pylist() == [attempt[name] for attempt in attempts]
    assert truth[NEWCOMER].null_count < 0.5 * len(attempts)


def test_measured_is_the_truth_but_for_the_noise(attempts: list[Attempt], truth: pa.Table) -> None:
    ratio = np.array(
        [
            row[row["hardware_type"]] / attempt["throughput"]
            for row, attempt in zip(truth.to_pylist(), attempts, strict=True)
            if attempt["throughput"]
        ]
    )
    assert np.median(ratio) == pytest.approx(1, abs=0.01)
    assert 0.88 < np.mean(np.abs(ratio - 1) <= 0.2) < 0.93
    # Heavier tails than a normal distribution of the same middle half has.
    logs = np.log(ratio)
    middle = np.subtract(*np.quantile(logs, [0.75, 0.25])) / 1.349
    assert np.mean(np.abs(logs) > 4 * middle) > 0.02


def test_the_newcomer_runs_from_its_day_on(attempts: list[Attempt]) -> None:
    days = [attempt["completed_at"][:10] for attempt in attempts]
    new = [
        day
        for day, attempt in zip(days, attempts, strict=True)
        if attempt["hardware_type"] == NEWCOMER
    ]
    assert sorted(set(new)) == sorted(set(days))[DAYS // 2 :]


def test_the_fleet_is_like_the_published_one(fleet: tuple[Path, list[Mark]]) -> None:
    marks = {mark.name: mark for mark in fleet[1]}
    for name, tolerance in {
        "attempts of the 19 most popular model types": 0.1,
        "attempts of the 100 most popular model types": 0.1,
        "attempts within the best two decades": 0.1,
        "p95/p5 of throughput": 0.4,
    }.items():
        mark = marks[name]
        assert isinstance(mark.fleet, float)
        assert isinstance(mark.published, float | int)
        assert abs(mark.fleet / mark.published - 1) < tolerance, mark


def test_it_shares_no_formula_with_the_first_fleet() -> None:
    allowed = {"cli.simulation.marks", "cli.simulation.arrays"}
    imported = set()
    for path in HERE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
            elif isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
    assert "bench.second_fleet.speed" in imported
    assert {name for name in imported if name.startswith("cli.simulation")} <= allowed
