"""leap simulate and the second fleet's command: the marks that they print."""

import subprocess
import sys
from pathlib import Path

from tests.unit.cli.commands import document, succeeded

ROOT = Path(__file__).resolve().parents[3]


def test_json_has_every_mark_beside_the_published_one(tmp_path: Path) -> None:
    summary = document("simulate", tmp_path / "fleet", "--days", 2, "--per-day", 300, "--seed", 4)
    marks = {mark["name"]: mark for mark in summary["marks"]}
    assert all(mark.keys() == {"name", "published", "fleet"} for mark in summary["marks"])
    assert marks["model types"]["published"] == 660
    assert marks["model types"]["fleet"] <= summary["model_types"]
    assert marks["p95/p5 on single hardware types"] == {
        "name": "p95/p5 on single hardware types",
        "published": [42, 701],
        "fleet": None,  # no type has enough attempts
    }


def test_the_table_says_how_the_fleet_differs(tmp_path: Path) -> None:
    text = succeeded("simulate", tmp_path / "fleet", "--days", 1, "--per-day", 40)
    table = {line.strip().rsplit("  ", 2)[0].strip(): line.split() for line in text.splitlines()}
    assert table["mark"][-3:] == ["published", "this", "fleet"]
    row = next(cells for name, cells in table.items() if name.startswith("p95/p5 of throughput"))
    assert row[-2] == "133"
    row = next(cells for name, cells in table.items() if name.startswith("p95/p5 on single"))
    assert row[-4:] == ["42", "to", "701", "–"]


def test_the_second_fleet_prints_the_same_marks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench.second_fleet", str(tmp_path / "fleet")]
    options = ["--days", "1", "--per-day", "40", "--seed", "1"]
    done = subprocess.run(  # as people call it
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "p95/p5 of throughput" in done.stdout
    again = subprocess.run(
        [*command, *options], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert again.returncode != 0
    assert again.stderr.strip().splitlines()[-1].startswith("Error: out is")
