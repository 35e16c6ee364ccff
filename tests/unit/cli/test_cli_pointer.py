"""leap pointer history and rollback: what is printed, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from leap_model.store import LocalStore
from tests.support import request
from tests.unit.cli.commands import PROD, document, history, refused, succeeded


def _told(move: dict[str, Any]) -> tuple[str, str, str | None]:
    """What a move was, to which version, and from which."""
    return move["action"], move["pointer"]["version"], (move["replaced"] or {}).get("version")


def test_history_tells_every_move_the_newest_last(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    a, b, c = versions
    succeeded("pointer", "rollback", "--store", full, *PROD)
    told = history(full)
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
    assert history(full)["withdrawn"] == [c]
    assert history(full, "--newest", 1)["withdrawn"] == [c]


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
        shown = history(full, "--newest", newest)["moves"]
        assert len(shown) == count
        assert shown[-1]["pointer"]["version"] == versions[1]
    assert history(full, "--newest", 1000)["moves"][0]["pointer"]["version"] == versions[0]
    assert len(history(full)["moves"]) == 20
    text = succeeded("pointer", "history", "--store", full, *PROD, "--newest", 1000)
    assert sum("2026-01-1" in line for line in text.splitlines()) >= 254


def test_history_shows_the_newest_moves_only_where_asked(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    shown = history(full, "--newest", 1)["moves"]
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
    before = history(full)["moves"]
    (full.root / f"pointers/prod/throughput.moves/0000000{at + 1}.json").write_text("{")
    before[at] |= {"action": "publish", "replaced": None}
    assert history(full)["moves"] == before
    text = succeeded("pointer", "history", "--store", full, *PROD)
    row = next(line.split() for line in text.splitlines() if f" {versions[at]} " in line)
    assert row[1:] == ["publish", versions[at], f"2026-01-{11 + at}", "–"]


def test_history_leaves_out_a_move_that_was_never_made(full: LocalStore) -> None:
    before = history(full)
    pointer = full.root / "pointers/prod/throughput.json"
    kept = pointer.read_bytes()
    succeeded("pointer", "rollback", "--store", full, *PROD)
    pointer.write_bytes(kept)  # as if it had ended before the pointer
    assert (full.root / "pointers/prod/throughput.moves/00000004.json").exists()
    assert history(full) == before


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
    assert history(full)["withdrawn"] == []


def test_rollback_goes_forward_only_where_named(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    a, b, c = versions
    text = succeeded("pointer", "rollback", "--store", full, *PROD, "--to", a)
    assert text == f"stage prod serves {a} of 2026-01-11\nin the place of {c} of 2026-01-13\n"
    line = refused("pointer", "rollback", "--store", full, *PROD)
    assert line == f"Error: the stage prod has served no version before {a}"
    assert len(history(full)["moves"]) == 4
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
    assert history(full)["serving"] == versions[2]


def test_rollback_refuses_the_version_served_and_one_that_does_not_load(
    full: LocalStore, versions: tuple[str, ...]
) -> None:
    _, b, c = versions
    line = refused("pointer", "rollback", "--store", full, *PROD, "--to", c)
    assert line == f"Error: the stage prod serves {c} already"
    (full.root / f"models/throughput/{b}/schema.json").unlink()
    line = refused("pointer", "rollback", "--store", full, *PROD)
    assert line == f"Error: {b} cannot serve: the artifact lacks its file schema.json"
    assert len(history(full)["moves"]) == 3


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
    assert len(history(full)["moves"]) == 3


@pytest.mark.parametrize("newest", ["0", "-1", "x", ""])
def test_history_refuses_what_is_no_count(full: LocalStore, newest: str) -> None:
    refused("pointer", "history", "--store", full, *PROD, "--newest", newest)
