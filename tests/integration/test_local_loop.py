"""The whole loop on a local folder, by command: simulate, import, retrain, rank."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from functions.retrain import settings
from functions.retrain.learning import presets
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.learning.single import Single
from leap_model import Ranker
from leap_model.store import LocalStore
from tests.support import checked
from tests.unit.cli.commands import document, refused, run, succeeded

DAYS, PER_DAY = 4, 150
NEXT = "2026-01-05"


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Any:
    """The command's own estimators take their time."""
    with pytest.MonkeyPatch.context() as patch:
        quick = {
            "network": ResidualNetwork(width=32, blocks=1, vector=4, epochs=10),
            "single": Single(trees=30, leaves=15, learning_rate=0.2),
        }
        for module in (presets, settings):
            patch.setattr(module, "ESTIMATORS", quick)
        yield


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each step of the loop printed."""
    root = tmp_path_factory.mktemp("loop")
    store = ("--store", root / "store")
    fleet = document("simulate", root / "fleet", "--days", DAYS, "--per-day", PER_DAY)
    imported = document("import", *fleet["files"], *store, "--catalogue", fleet["catalogue"])
    trained = document("retrain", *store, "--as-of", NEXT)
    return {"root": root, "fleet": fleet, "imported": imported, "trained": trained}


def _request(loop: dict[str, Any]) -> dict[str, Any]:
    """A job of the fleet, asked for on every type of the catalogue."""
    with gzip.open(loop["fleet"]["files"][-1], "rt") as lines:
        attempt = json.loads(next(iter(lines)))
    names = ("job_name", "model_type", "num_trainers", "batch_size", "config", "architecture")
    types = json.loads(Path(loop["fleet"]["catalogue"]).read_text())["hardware_types"]
    return {
        "job": {name: attempt[name] for name in names if name in attempt},
        "candidates": [entry["hardware_type"] for entry in types],
        "launched_at": "2026-01-05T08:00:00Z",
    }


def test_every_attempt_of_the_fleet_is_stored_or_rejected(loop: dict[str, Any]) -> None:
    imported = loop["imported"]
    assert imported["read"] == loop["fleet"]["attempts"] == DAYS * PER_DAY
    assert imported["stored"] + imported["duplicates"] + imported["rejected"] == imported["read"]
    assert imported["rejected"] == 0


def test_the_run_trains_on_the_days_before_its_evaluation_day(loop: dict[str, Any]) -> None:
    trained = loop["trained"]
    assert (trained["window"]["to"], trained["evaluation"]["from"]) == ("2026-01-03", "2026-01-04")
    assert trained["rows"] <= 3 * PER_DAY
    assert trained["pointed"]


def test_the_stage_points_at_the_run(loop: dict[str, Any]) -> None:
    pointer = document("pointer", "show", "--store", loop["root"] / "store")
    assert pointer["version"] == loop["trained"]["version"]


def test_a_job_is_ranked_by_command_as_in_process(loop: dict[str, Any]) -> None:
    asked, store = _request(loop), loop["root"] / "store"
    path = loop["root"] / "request.json"
    path.write_text(json.dumps(asked))
    by_command = checked(document("rank", path, "--store", store))
    in_process = checked(Ranker.from_store(store).rank(asked))
    assert by_command["reason"] is None
    assert len(by_command["preference"]) + len(by_command["excluded"]) == len(asked["candidates"])
    assert {**by_command, "ranking_id": ""} == {**in_process, "ranking_id": ""}
    assert by_command["model_version"] == loop["trained"]["version"]


def test_the_next_import_and_run_go_on_where_the_first_ended(loop: dict[str, Any]) -> None:
    store = ("--store", loop["root"] / "store")
    again = document("import", *loop["fleet"]["files"], *store)
    assert (again["stored"], again["duplicates"]) == (0, DAYS * PER_DAY)
    assert document("retrain", *store, "--as-of", NEXT)["version"] == loop["trained"]["version"]


def test_a_backtest_runs_over_the_same_store(loop: dict[str, Any]) -> None:
    result = document("backtest", "--store", loop["root"] / "store", "--nights", 1)
    assert result["nights"][0]["as_of"] == "2026-01-04"
    assert result["nights"][0]["attempts"] <= PER_DAY


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that a small demo left, and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "kept"
    options = ("--keep", folder, "--days", 4, "--per-day", 200, "--seed", 2)
    return folder, succeeded("demo", *options)


def test_the_demo_ends_with_a_preference(shown: tuple[Path, str]) -> None:
    folder, text = shown
    assert "Preference, best first" in text
    assert "a-type-nobody-knows: unknown_hardware" in text
    assert "no_cost" in text
    assert text.index("1. simulate") < text.index("4. POST a job to http://127.0.0.1:")
    assert str(folder) in text


def test_the_demo_can_be_asked_again(shown: tuple[Path, str]) -> None:
    folder, _ = shown
    answer = document("rank", folder / "request.json", "--store", folder / "store")
    assert checked(answer)["reason"] is None
    assert len(LocalStore(folder / "store").keys("models")) > 5


def test_a_second_demo_in_the_same_folder_is_refused_in_one_line(
    shown: tuple[Path, str], tmp_path: Path
) -> None:
    result = run("demo", "--keep", shown[0], "--days", 4, "--per-day", 200)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    (tmp_path / "mine.txt").write_text("x")
    result = run("demo", "--keep", tmp_path, "--days", 4, "--per-day", 200)
    assert result.exit_code != 0
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("options", [("--days", 2), ("--per-day", 1), ("--seed", -1), ("x",)])
def test_the_demo_refuses_what_it_cannot_show(options: tuple[object, ...]) -> None:
    refused("demo", *options)
