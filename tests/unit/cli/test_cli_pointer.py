"""leap pointer and the gate of leap retrain: what is printed, and what is refused."""

import json
import random
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from functions.retrain.learning import presets
from functions.retrain.learning.single import Single
from functions.retrain.nightly import retrain
from leap_model.store import LocalStore
from tests.support import filled, fleet, request
from tests.unit.cli.commands import document, refused, succeeded
from tests.unit.retrain.nights import TINY

PROD = ("--stage", "prod")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's own estimators take their time."""
    quick = Single(trees=40, leaves=6, learning_rate=0.5)
    monkeypatch.setattr(presets, "ESTIMATORS", {"single": quick})


@pytest.fixture(scope="module")
def attempts() -> list[dict[str, Any]]:
    return fleet(320)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, attempts: list[dict[str, Any]]) -> Path:
    """A store whose stage prod had three nights."""
    store = filled(tmp_path_factory.mktemp("nights"), attempts)
    for day in (11, 12, 13):
        retrain(store, "prod", date(2026, 1, day), TINY)
    return store.root


@pytest.fixture
def full(template: Path, tmp_path: Path) -> LocalStore:
    """A copy of that store to move in."""
    return LocalStore(shutil.copytree(template, tmp_path / "copy"))


@pytest.fixture
def versions(full: LocalStore) -> tuple[str, ...]:
    """The versions of the three nights, in their order."""
    return tuple(sorted({key.split("/")[2] for key in full.keys("models/throughput")}))


def _history(store: LocalStore, *options: object) -> Any:
    return document("pointer", "history", "--store", store, *PROD, *options)


def _told(move: dict[str, Any]) -> tuple[str, str, str | None]:
    """What a move was, to which version, and from which."""
    return move["action"], move["pointer"]["version"], (move["replaced"] or {}).get("version")


def test_history_tells_every_move_the_newest_last(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    a, b, c = versions
    succeeded("pointer", "rollback", "--store", full, *PROD)
    told = _history(full)
    assert told.keys() == {"serving", "withdrawn", "moves"}
    assert (told["serving"], told["withdrawn"]) == (b, [c])
    assert [_told(move) for move in told["moves"]] == [
        ("publish", a, None),
        ("publish", b, a),
        ("publish", c, b),
        ("rollback", b, c),
    ]
    pointers = [move["pointer"] for move in told["moves"]]
    assert [move["replaced"] for move in told["moves"]] == [None, *pointers[:-1]]
    assert [move["moved_at"] for move in told["moves"]] == [at["published_at"] for at in pointers]
    assert pointers[-1] == document("pointer", "show", "--store", full, *PROD)
    text = succeeded("pointer", "history", "--store", full, *PROD)
    rows = [line.split() for line in text.splitlines() if "2026-01-1" in line][:4]
    assert [row[1:] for row in rows] == [
        ["publish", a, "2026-01-11", "–"],
        ["publish", b, "2026-01-12", a],
        ["publish", c, "2026-01-13", b],
        ["rollback", b, "2026-01-12", c],
    ]
    assert text.rstrip().splitlines()[-2:] == [f"rolled back from {c}", f"serving {b}"]


def test_history_names_every_version_that_is_rolled_back_from_and_no_other(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    a, b, c = versions

    def named() -> list[str]:
        text = succeeded("pointer", "history", "--store", full, *PROD)
        return [line for line in text.splitlines() if line.startswith("rolled back from")]

    assert named() == []
    for options, expected in (
        ((), [c]),
        ((), [b, c]),
        (("--to", c), [b]),
        (("--to", a), [b, c]),
        (("--to", b), [c]),
    ):
        succeeded("pointer", "rollback", "--store", full, *PROD, *options)
        assert named() == [f"rolled back from {version}" for version in expected]
    assert _history(full)["withdrawn"] == [c]
    assert _history(full, "--newest", 1)["withdrawn"] == [c]


def test_history_shows_more_than_two_hundred_moves_where_asked(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    folder = full.root / "pointers/prod/throughput.moves"
    b, last = (json.loads((folder / f"0000000{at}.json").read_text()) for at in (2, 3))
    there, here = b["pointer"], last["pointer"]
    for number in range(4, 254):
        at = f"2026-02-01T00:00:00.{number:06}Z"
        there, here = here, there | {"published_at": at}
        entry = {"action": "publish", "moved_at": at, "replaced": there, "pointer": here}
        (folder / f"{number:08}.json").write_text(json.dumps(entry))
    (full.root / "pointers/prod/throughput.json").write_text(json.dumps(here))
    succeeded("pointer", "rollback", "--store", full, *PROD, "--to", versions[1])
    for newest, count in ((1000, 254), (254, 254), (253, 253), (200, 200), (201, 201), (1, 1)):
        shown = _history(full, "--newest", newest)["moves"]
        assert len(shown) == count
        assert shown[-1]["pointer"]["version"] == versions[1]
    assert _history(full, "--newest", 1000)["moves"][0]["pointer"]["version"] == versions[0]
    assert len(_history(full)["moves"]) == 20
    text = succeeded("pointer", "history", "--store", full, *PROD, "--newest", 1000)
    assert sum("2026-01-1" in line for line in text.splitlines()) >= 254


def test_history_shows_the_newest_moves_only_where_asked(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    shown = _history(full, "--newest", 1)["moves"]
    assert [move["pointer"]["version"] for move in shown] == [versions[2]]
    text = succeeded("pointer", "history", "--store", full, *PROD, "--newest", 1)
    assert versions[0] not in text


def test_history_of_a_stage_that_never_moved(full: LocalStore) -> None:
    assert document("pointer", "history", "--store", full, "--stage", "dev") == {
        "serving": None,
        "withdrawn": [],
        "moves": [],
    }
    text = succeeded("pointer", "history", "--store", full, "--stage", "dev")
    assert text == "the stage dev has no moves on record\n"


@pytest.mark.parametrize("at", [1, 2])
def test_history_shows_what_a_broken_record_pointed_at_in_its_place(
    full: LocalStore, versions: tuple[str, ...], at: int
) -> None:
    before = _history(full)["moves"]
    (full.root / f"pointers/prod/throughput.moves/0000000{at + 1}.json").write_text("{")
    before[at] |= {"action": "publish", "replaced": None}
    assert _history(full)["moves"] == before
    text = succeeded("pointer", "history", "--store", full, *PROD)
    row = next(line.split() for line in text.splitlines() if f" {versions[at]} " in line)
    assert row[1:] == ["publish", versions[at], f"2026-01-{11 + at}", "–"]


def test_history_leaves_out_a_move_that_was_never_made(full: LocalStore) -> None:
    before = _history(full)
    pointer = full.root / "pointers/prod/throughput.json"
    kept = pointer.read_bytes()
    succeeded("pointer", "rollback", "--store", full, *PROD)
    pointer.write_bytes(kept)  # as if it had ended before the pointer
    assert (full.root / "pointers/prod/throughput.moves/00000004.json").exists()
    assert _history(full) == before


def test_rollback_serves_the_version_before_at_once(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    a, b, c = versions
    text = succeeded("pointer", "rollback", "--store", full, *PROD)
    assert text == f"stage prod serves {b} of 2026-01-12\nin the place of {c} of 2026-01-13\n"
    assert document("pointer", "show", "--store", full, *PROD)["version"] == b
    move = document("pointer", "rollback", "--store", full, *PROD)
    assert move.keys() == {"action", "moved_at", "replaced", "pointer"}
    assert _told(move) == ("rollback", a, b)
    assert move["pointer"] == document("pointer", "show", "--store", full, *PROD)
    assert a in refused("pointer", "rollback", "--store", full, *PROD)


def test_rollback_to_a_named_version_and_forward_again(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    a, _, c = versions
    for action, version, replaced in (("rollback", a, c), ("forward", c, a)):
        move = document("pointer", "rollback", "--store", full, *PROD, "--to", version)
        assert _told(move) == (action, version, replaced)
    assert _history(full)["withdrawn"] == []


def test_rollback_goes_forward_only_where_named(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    a, b, c = versions
    text = succeeded("pointer", "rollback", "--store", full, *PROD, "--to", a)
    assert text == f"stage prod serves {a} of 2026-01-11\nin the place of {c} of 2026-01-13\n"
    line = refused("pointer", "rollback", "--store", full, *PROD)
    assert line == f"Error: the stage prod has served no version before {a}"
    assert len(_history(full)["moves"]) == 4
    text = succeeded("pointer", "rollback", "--store", full, *PROD, "--to", b)
    assert text == f"stage prod serves {b} of 2026-01-12\nin the place of {a} of 2026-01-11\n"


def test_what_was_rolled_back_to_is_what_ranks(
    full: LocalStore, versions: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "asked.json"
    path.write_text(json.dumps(request()))
    succeeded("switches", "set", "--store", full, *PROD, "--default", 100)
    for version in (versions[1], versions[0]):
        succeeded("pointer", "rollback", "--store", full, *PROD)
        answer = document("rank", path, "--store", full, *PROD)
        assert (answer["model_version"], answer["reason"]) == (version, None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--stage", "dev"), "Error: the stage dev points at no model"),
        ((*PROD, "--target", "utilization"), "Error: the stage prod points at no model"),
        ((*PROD, "--to", "2026-01-01-0"), "Error: the stage prod has never served 2026-01-01-0"),
        ((*PROD, "--target", "cost"), "cost"),
        (("--stage", "a/b"), "a/b is no name of a stage"),
        (("--stage", ".."), "no key of a store"),
        ((*PROD, "--nonsense"), "No such option"),
    ],
)
def test_rollback_refuses_in_one_line(
    full: LocalStore, versions: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    assert said in refused("pointer", "rollback", "--store", full, *options)
    assert said in refused("pointer", "rollback", "--store", full, *options, "--json")
    assert _history(full)["serving"] == versions[2]


def test_rollback_refuses_the_version_served_and_one_that_does_not_load(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    _, b, c = versions
    line = refused("pointer", "rollback", "--store", full, *PROD, "--to", c)
    assert line == f"Error: the stage prod serves {c} already"
    (full.root / f"models/throughput/{b}/schema.json").unlink()
    line = refused("pointer", "rollback", "--store", full, *PROD)
    assert line == f"Error: {b} cannot serve: the artifact lacks its file schema.json"
    assert len(_history(full)["moves"]) == 3


@pytest.mark.parametrize("name", ["history", "rollback"])
def test_stores_and_pointers_that_cannot_be_read_are_one_line(
    full: LocalStore, tmp_path: Path, name: str
) -> None:
    assert "does not exist" in refused("pointer", name, "--store", tmp_path / "missing")
    refused("pointer", name)
    (full.root / "pointers/prod/throughput.json").write_text("{")
    assert "the pointer is unreadable" in refused("pointer", name, "--store", full, *PROD)


def test_where_a_record_cannot_be_read_nothing_is_moved(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    folder = full.root / "pointers/prod/throughput.moves"
    unreadable = folder / "00000004.json"
    unreadable.symlink_to(unreadable)
    for options in (("rollback",), ("rollback", "--to", versions[0]), ("history",)):
        line = refused("pointer", *options, "--store", full, *PROD)
        key = "pointers/prod/throughput.moves/00000004.json"
        assert line.startswith(f"Error: {key} cannot be read: ")
    assert document("pointer", "show", "--store", full, *PROD)["version"] == versions[2]
    unreadable.unlink()
    assert len(_history(full)["moves"]) == 3


@pytest.mark.parametrize("newest", ["0", "-1", "x", ""])
def test_history_refuses_what_is_no_count(full: LocalStore, newest: str) -> None:
    refused("pointer", "history", "--store", full, *PROD, "--newest", newest)


RETRAIN = ("retrain", *PROD, "--as-of", "2026-01-14", "--window-days", "9")
WORSE = ("--set", "trees=1", "--set", "leaves=2", "--set", "learning_rate=0.05")


def test_a_night_within_the_margin_is_pointed_at_and_one_below_it_is_not(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    text = succeeded(*RETRAIN, "--store", full, *WORSE)
    assert f"live {versions[2]} on the same attempts: within 20 % " in text
    last = text.splitlines()[-1]
    assert last.startswith("stage prod does not point at it: w20 of 2026-01-10 is ")
    assert last.endswith("worse by more than 3.0 %; --force points anyway")
    metrics = document(*RETRAIN, "--store", full, *WORSE)
    own, theirs = metrics["evaluation"]["w20"], metrics["live"]["evaluation"]["w20"]
    assert f"is {own * 100:.1f} %, and {theirs * 100:.1f} % with the live {versions[2]}: " in last
    assert (metrics["published"], metrics["pointed"]) == (True, False)
    assert metrics["live"]["version"] == versions[2]
    assert document(*RETRAIN, "--store", full, *WORSE, "--gate-margin", 1)["pointed"]


def test_force_points_against_the_gate(full: LocalStore) -> None:
    text = succeeded(*RETRAIN, "--store", full, *WORSE, "--gate-margin", 0, "--force")
    assert text.splitlines()[-1] == "stage prod points at it"


def test_a_live_model_that_was_not_scored_is_told_of(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    (full.root / f"models/throughput/{versions[2]}/manifest.json").unlink()
    text = succeeded(*RETRAIN, "--store", full)
    assert f"live {versions[2]} on the same attempts: not scored, it does not load: " in text


@pytest.mark.parametrize("margin", ["-0.01", "1.01", "x", "", "inf"])
def test_what_is_no_margin_is_refused(full: LocalStore, margin: str) -> None:
    assert "--gate-margin" in refused(*RETRAIN, "--store", full, "--gate-margin", margin)


@pytest.mark.parametrize("margin", ["nan", "NaN", "-nan"])
def test_a_margin_that_is_no_number_is_refused(
    full: LocalStore, versions: tuple[str, ...], margin: str
) -> None:
    line = refused(*RETRAIN, "--store", full, *WORSE, "--gate-margin", margin)
    assert line == f"Error: Invalid value for '--gate-margin': {margin} is no number"
    assert _history(full)["serving"] == versions[2]


def test_a_version_rolled_back_from_is_not_pointed_at_when_its_night_runs_again(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    first = document(*RETRAIN, "--store", full)
    succeeded("pointer", "rollback", "--store", full, *PROD)
    text = succeeded(*RETRAIN, "--store", full)
    assert text.startswith(f"version {first['version']}\n")
    assert text.splitlines()[-1] == (
        "stage prod does not point at it: the stage was rolled back from this night's model; "
        "--force points anyway"
    )
    assert _history(full)["serving"] == versions[2]
    assert document(*RETRAIN, "--store", full, "--force")["pointed"]


def test_a_constant_of_the_estimator_is_set(full: LocalStore) -> None:
    options = ("--set", "trees=3", "--set", " scaled = false", "--set", "learning_rate=2e-1")
    metrics = document(*RETRAIN, "--store", full, *options, "--test-run")
    kept = full.read(f"models/throughput/{metrics['version']}/training.json")
    estimator = json.loads(kept or b"")["estimator"]
    assert estimator == Single(trees=3, leaves=6, learning_rate=0.2, scaled=False).settings()


@pytest.mark.parametrize(
    ("assigned", "said"),
    [
        ("nonsense=1", 'constant is "nonsense"; it must be one of single\'s: scaled, trees'),
        ("name=mine", 'constant is "name"; it must be one of'),
        ("=1", 'constant is ""; it must be one of'),
        ("trees", "trees is no NAME=VALUE"),
        ("", "is no NAME=VALUE"),
        ("trees=", 'trees is ""; it must be a value'),
        ("trees=  ", 'trees is "  "; it must be a value'),
        ("scaled=", 'scaled is ""; it must be a value'),
        ("learning_rate=", 'learning_rate is ""; it must be a value'),
        ("trees=0", "trees is 0; it must be an integer from 1"),
        ("trees=2.5", "trees is 2.5; it must be an integer"),
        ("trees=many", 'trees is "many"; it must be an integer'),
        ("trees=1000001", "it must be an integer from 1 to 1,000,000"),
        ("leaves=1", "leaves is 1; it must be an integer from 2"),
        ("learning_rate=0", "learning_rate is 0; it must be a finite number above 0"),
        ("learning_rate=nan", "learning_rate is NaN; it must be a finite number"),
        ("scaled=yes", 'scaled is "yes"; it must be true or false'),
    ],
)
def test_a_constant_that_is_none_or_breaks_its_rule_is_refused(
    full: LocalStore, assigned: str, said: str
) -> None:
    line = refused(*RETRAIN, "--store", full, "--set", assigned)
    assert line.startswith("Error: Invalid value for '--set': ")
    assert said in line


def test_the_number_of_processes_changes_no_model(full: LocalStore) -> None:
    nights = [
        document(*RETRAIN, "--store", full, "--test-run", *options)
        for options in ((), ("--processes", 1), ("--processes", 2))
    ]
    assert len({metrics["manifest_sha256"] for metrics in nights}) == 1


@pytest.mark.parametrize("processes", ["0", "-1", "1.5", "x", "1025"])
def test_what_is_no_number_of_processes_is_refused(full: LocalStore, processes: str) -> None:
    assert "--processes" in refused(*RETRAIN, "--store", full, "--processes", processes)


UTILIZATION = ("--target", "utilization")


def test_utilization_is_trained_where_attempts_report_it(
    store: LocalStore, attempts: list[dict[str, Any]]
) -> None:
    draw, shares = random.Random(1), {"fast-8": 0.25, "mid-8": 0.5, "slow-4": 0.75}
    used = [shares[a["hardware_type"]] * draw.uniform(0.95, 1.05) for a in attempts]
    pairs = zip(attempts, used, strict=True)
    filled(store.root, [{**a, "utilization": share} for a, share in pairs])
    metrics = document(*RETRAIN, "--store", store, *UTILIZATION)
    assert (metrics["target"], metrics["pointed"]) == ("utilization", True)
    assert metrics["evaluation"]["w20"] > 0.9
    shown = document("pointer", "show", "--store", store, *PROD, *UTILIZATION)
    assert shown["uri"] == f"models/utilization/{metrics['version']}"
    assert _history(store, *UTILIZATION)["serving"] == metrics["version"]
    assert "points at no model" in refused("pointer", "show", "--store", store, *PROD)


def test_utilization_that_no_attempt_reports_is_refused(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    line = refused(*RETRAIN, "--store", full, *UTILIZATION)
    assert line.startswith("Error: 0 attempts with a usable utilization on 0 days")
    assert full.keys("models/utilization") == []
    assert _history(full)["serving"] == versions[2]
