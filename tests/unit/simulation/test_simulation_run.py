"""simulate() itself: what it repeats, refuses and reports."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from cli.simulation import simulate


def _contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


def test_same_arguments_write_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        simulate(tmp_path / name, days=2, per_day=60, seed=5)
    assert _contents(tmp_path / "one") == _contents(tmp_path / "two")


def test_another_seed_is_another_fleet(tmp_path: Path) -> None:
    for seed in (5, 6):
        simulate(tmp_path / str(seed), days=1, per_day=60, seed=seed)
    one, other = _contents(tmp_path / "5"), _contents(tmp_path / "6")
    assert one.keys() == other.keys()
    assert {name for name in one if one[name] == other[name]} == {"hardware.json"}


def test_files_are_named_by_day_from_the_start(tmp_path: Path) -> None:
    summary = simulate(tmp_path, days=3, per_day=5, seed=0, start=dt.date(2024, 2, 28))
    names = ["2024-02-28", "2024-02-29", "2024-03-01"]
    assert [path.name for path in summary.files] == [f"{name}.jsonl.gz" for name in names]
    assert sorted(path.stem for path in summary.truth.iterdir()) == names
    assert all(path.parent == tmp_path / "attempts" for path in summary.files)


def test_one_attempt_is_a_fleet(tmp_path: Path) -> None:
    summary = simulate(tmp_path / "new" / "folder", days=1, per_day=1, seed=0)
    assert (summary.attempts, summary.model_types, summary.families) == (1, 1, 1)


def test_progress_counts_attempts(tmp_path: Path) -> None:
    seen: list[int] = []
    simulate(tmp_path, days=3, per_day=4, seed=0, progress=seen.append)
    assert seen == [4, 8, 12]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"days": 0}, "days is 0, but must be at least 1"),
        ({"per_day": -2}, "per_day is -2, but must be at least 1"),
        ({"seed": -1}, "seed is -1, but must be at least 0"),
    ],
)
def test_numbers_out_of_range_are_refused(
    tmp_path: Path, change: dict[str, int], message: str
) -> None:
    arguments: dict[str, Any] = {"days": 1, "per_day": 1, "seed": 0, **change}
    with pytest.raises(ValueError, match=message):
        simulate(tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_two_fleets_are_never_mixed(tmp_path: Path) -> None:
    simulate(tmp_path, days=1, per_day=2, seed=0)
    before = _contents(tmp_path)
    with pytest.raises(ValueError, match="must be a new or an empty folder"):
        simulate(tmp_path, days=1, per_day=2, seed=1)
    assert _contents(tmp_path) == before


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(ValueError, match="must be a new or an empty folder"):
        simulate(tmp_path / "out", days=1, per_day=2, seed=1)
