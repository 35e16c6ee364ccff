"""leap doctor over a folder: a sound stage has no problem, and each planted one is found."""

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from leap_model.errors import FieldError
from leap_model.intake import Counts, Record, take_in
from leap_model.rejected import Rejected, write_rejected
from leap_model.store import LocalStore
from leap_model.times import parse_time
from tests.support import CATALOGUE, attempt
from tests.unit.cli.commands import process, refused, run, succeeded
from tests.unit.cli.doctoring import (
    POINTER,
    STAGE,
    SWITCHES,
    as_stage,
    examined,
    found,
    it_is,
    replaced,
)

REPORT = "reports/throughput/{}-ffffffffffff/metrics.json"
ARRIVED = date(2026, 3, 1)
"""When the attempts of tests.support.filled arrived."""


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    it_is(monkeypatch)


@pytest.fixture
def sound(trained: LocalStore, store: LocalStore) -> LocalStore:
    """A stage with nothing wrong in it."""
    as_stage(trained, store)
    return store


def _version(store: LocalStore) -> Path:
    pointer = json.loads(store.read(POINTER) or b"")
    return store.root / str(pointer["uri"])


def _report(store: LocalStore, day: str, pointed: bool, reason: str | None) -> None:
    document = {"pointed": pointed, "reason": reason}
    store.create(REPORT.format(day), json.dumps(document).encode())


def _later_attempts(store: LocalStore, **values: object) -> None:
    """One more attempt of yesterday."""
    whole = attempt(attempt_id="more", completed_at="2026-01-12T23:00:00Z", **values)
    records = [Record.of_json(json.dumps(whole).encode())]
    take_in(store, records, Counts(), parse_time("2026-03-01T00:00:00Z"))


def _rejected(store: LocalStore, count: int, day: date = ARRIVED) -> None:
    fault = FieldError("num_trainers", "four", "an integer")
    lines = [Rejected(f"{at}".encode(), fault, 0) for at in range(count)]
    assert write_rejected(store, day, lines)


def _pointing(store: LocalStore, **values: str) -> None:
    pointer = json.loads(store.read(POINTER) or b"") | values
    replaced(store, POINTER, json.dumps(pointer).encode())


def _without(store: LocalStore, prefix: str) -> None:
    shutil.rmtree(store.root / prefix)


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b" ")


def _without_price(store: LocalStore) -> None:
    types = [dict(entry) for entry in CATALOGUE["hardware_types"]]
    del types[0]["cost_per_hour"]
    content = json.dumps({"hardware_types": types}).encode()
    replaced(store, "catalogue/hardware.json", content)


Plant = Callable[[LocalStore], object]
PLANTED: dict[str, tuple[Plant, str, str]] = {
    "pointer missing": (
        lambda s: (s.root / POINTER).unlink(),
        "pointer of throughput",
        f"{POINTER} is not there",
    ),
    "pointer broken": (
        lambda s: replaced(s, POINTER, b"{"),
        "pointer of throughput",
        f"{POINTER} is broken: the pointer is unreadable",
    ),
    "version absent": (
        lambda s: shutil.rmtree(_version(s)),
        "throughput model",
        "cannot serve: the artifact has no manifest",
    ),
    "version incomplete": (
        lambda s: (_version(s) / "model.json").unlink(),
        "throughput model",
        "cannot serve: the artifact lacks its file model.json",
    ),
    "file altered": (
        lambda s: _append(_version(s) / "schema.json"),
        "throughput model",
        "cannot serve: the artifact's file schema.json was altered",
    ),
    "manifest altered": (
        lambda s: _append(_version(s) / "manifest.json"),
        "throughput model",
        "manifest is not the one that the pointer names",
    ),
    "model old": (
        lambda s: _pointing(s, as_of="2026-01-11"),
        "age of the throughput model",
        "of 2026-01-11, is 54 h old",
    ),
    "night not pointed": (
        lambda s: _report(s, "2026-01-14", False, "w20 is worse"),
        "last night of throughput",
        "2026-01-14-ffffffffffff and did not point at it: w20 is worse",
    ),
    "report broken": (
        lambda s: s.create(REPORT.format("2026-01-14"), b"{"),
        "last night of throughput",
        "metrics.json cannot be read",
    ),
    "no attempts": (lambda s: _without(s, "attempts"), "attempts", "there are no attempts"),
    "records refused": (
        lambda s: _rejected(s, 60),
        "rejected records",
        "60 of 960 records that arrived on 2026-03-01 were refused, 6.2 %",
    ),
    "switches missing": (
        lambda s: (s.root / f"pointers/{STAGE}/switches.json").unlink(),
        "switches",
        "nobody is ranked",
    ),
    "switches broken": (
        lambda s: replaced(s, f"pointers/{STAGE}/switches.json", b"[]"),
        "switches",
        "is broken, so the stage ranks nobody",
    ),
    "catalogue missing": (
        lambda s: _without(s, "catalogue"),
        "catalogue",
        "catalogue/hardware.json is not there",
    ),
    "catalogue broken": (
        lambda s: replaced(s, "catalogue/hardware.json", b"[]"),
        "catalogue",
        "catalogue/hardware.json is broken",
    ),
    "type unknown": (
        lambda s: _later_attempts(s, hardware_type="quantum-2"),
        "catalogue",
        "quantum-2 (1) of the newest attempts are not in catalogue/hardware.json",
    ),
    "price missing": (
        _without_price,
        "catalogue",
        "of the newest attempts have no price",
    ),
}


def test_a_sound_stage_has_no_problem(sound: LocalStore) -> None:
    code, document = examined("--store", sound, "--stage", STAGE)
    assert (code, document["problems"], document["unseen"]) == (0, [], [])
    assert {"pointer of throughput", "throughput model", "attempts"} <= set(document["checked"])
    said = succeeded("doctor", "--store", sound, "--stage", STAGE)
    assert said.startswith(f"nothing is wrong with {STAGE}; looked at store, pointer of throughput")


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_problem_is_found_and_no_other(name: str, sound: LocalStore) -> None:
    plant, check, wrong = PLANTED[name]
    plant(sound)
    code, document = examined("--store", sound, "--stage", STAGE)
    ((where, said),) = found(document)
    assert (code, where) == (1, check)
    assert wrong in said


def test_all_problems_are_told_at_once(sound: LocalStore) -> None:
    for name in ("file altered", "records refused", "switches missing", "type unknown"):
        PLANTED[name][0](sound)
    _, document = examined("--store", sound, "--stage", STAGE)
    checks = ["throughput model", "rejected records", "catalogue", "switches"]
    assert [check for check, _ in found(document)] == checks
    printed = run("doctor", "--store", sound, "--stage", STAGE)
    assert printed.exit_code == 1
    lines = [
        f"{entry['check']}: {entry['wrong']}; {entry['rule']}: {entry['do']}"
        for entry in document["problems"]
    ]
    assert printed.stdout.splitlines() == lines


def test_attempts_that_stopped_coming_are_found_and_the_model_ages(
    sound: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    it_is(monkeypatch, "2026-01-14T12:00:01Z")
    _, document = examined("--store", sound, "--stage", STAGE)
    assert found(document)[0][0] == "age of the throughput model"
    assert "the newest are of 2026-01-12, 2 days back" in found(document)[1][1]
    it_is(monkeypatch, "2026-01-13T23:59:59Z")
    assert examined("--store", sound, "--stage", STAGE)[0] == 0


def test_attempts_long_past_are_found_by_their_day(
    sound: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    it_is(monkeypatch, "2026-06-01T00:00:00Z")
    _, document = examined("--store", sound, "--stage", STAGE)
    assert ("attempts", "the newest are of 2026-01-12, 140 days back") in found(document)


def test_an_attempt_of_tomorrow_hides_no_silence(
    sound: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = attempt(attempt_id="ahead", completed_at="2026-01-16T00:00:00Z")
    records = [Record.of_json(json.dumps(whole).encode())]
    take_in(sound, records, Counts(), parse_time("2026-01-15T12:00:00Z"))
    it_is(monkeypatch, "2026-01-15T12:00:00Z")
    _, document = examined("--store", sound, "--stage", STAGE)
    assert ("attempts", "the newest are of 2026-01-12, 3 days back") in found(document)


@pytest.mark.parametrize(
    ("count", "day"), [(47, ARRIVED), (500, date(2026, 2, 28)), (0, date(2026, 3, 2))]
)
def test_few_refused_records_or_old_ones_are_no_problem(
    count: int, day: date, sound: LocalStore
) -> None:
    if count:
        _rejected(sound, count, day)
    assert examined("--store", sound, "--stage", STAGE)[0] == 0


def test_a_day_on_which_all_was_refused_is_found(sound: LocalStore) -> None:
    _rejected(sound, 3, date(2026, 3, 2))
    _, document = examined("--store", sound, "--stage", STAGE)
    assert "3 of 3 records that arrived on 2026-03-02" in found(document)[0][1]


@pytest.mark.parametrize(
    ("day", "pointed", "reason"),
    [
        ("2026-01-14", True, None),  # rolled back from since
        ("2026-01-14", False, "a test run never points"),
        ("2026-01-13", False, "w20 is worse"),  # another run of the night was pointed at
        ("2026-01-10", False, "w20 is worse"),
    ],
)
def test_reports_that_mean_nothing_bad_are_no_problem(
    day: str, pointed: bool, reason: str | None, sound: LocalStore
) -> None:
    _report(sound, day, pointed, reason)
    assert examined("--store", sound, "--stage", STAGE)[0] == 0


def test_a_stage_without_a_model_says_why_its_last_night_made_none(sound: LocalStore) -> None:
    (sound.root / POINTER).unlink()
    _report(sound, "2026-01-13", False, "2026-01-12 has no usable attempt to evaluate on")
    _, document = examined("--store", sound, "--stage", STAGE)
    assert [check for check, _ in found(document)] == [
        "pointer of throughput",
        "last night of throughput",
    ]


def test_the_stage_of_a_person_s_own_folder_needs_no_switches(trained: LocalStore) -> None:
    assert examined("--store", trained.root)[0] == 0


def test_a_version_of_another_target_is_found(sound: LocalStore) -> None:
    other = f"pointers/{STAGE}/utilization.json"
    sound.create(other, sound.read(POINTER) or b"")
    _, document = examined("--store", sound, "--stage", STAGE)
    ((check, wrong),) = found(document)
    assert (check, wrong.split(" ", 1)[1]) == ("utilization model", "predicts throughput")


def test_a_share_of_nothing_is_a_decision(sound: LocalStore) -> None:
    nobody = SWITCHES.replace(b"10", b"0")
    replaced(sound, f"pointers/{STAGE}/switches.json", nobody)
    assert examined("--store", sound, "--stage", STAGE)[0] == 0


def _unreadable(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    read = LocalStore.read

    def broken(self: LocalStore, key: str) -> bytes | None:
        if key.startswith(part):
            raise OSError(5, "Input/output error")
        return read(self, key)

    monkeypatch.setattr(LocalStore, "read", broken)


def test_what_cannot_be_read_is_one_line_and_stops_nothing(
    sound: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rejected(sound, 60)
    (sound.root / f"pointers/{STAGE}/switches.json").unlink()
    _unreadable(monkeypatch, "catalogue")
    code, document = examined("--store", sound, "--stage", STAGE)
    assert code == 1
    assert [check for check, _ in found(document)] == ["rejected records", "switches"]
    why = "OSError: [Errno 5] Input/output error"
    assert document["unseen"] == [{"check": "catalogue", "why": why}]
    said = run("doctor", "--store", sound, "--stage", STAGE).stdout
    assert said.splitlines()[-1] == f"cannot look at catalogue: {why}"


def test_where_nothing_is_wrong_but_not_all_was_seen_it_ends_with_two(
    sound: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _unreadable(monkeypatch, "catalogue")
    code, document = examined("--store", sound, "--stage", STAGE)
    assert (code, document["problems"], len(document["unseen"])) == (2, [], 1)
    said = run("doctor", "--store", sound, "--stage", STAGE).stdout
    assert f"nothing wrong was found in what could be seen of {STAGE}; looked at " in said


def test_nothing_in_the_store_is_changed(sound: LocalStore) -> None:
    PLANTED["records refused"][0](sound)
    before = {path: path.stat().st_mtime_ns for path in sound.root.rglob("*")}
    examined("--store", sound, "--stage", STAGE)
    assert {path: path.stat().st_mtime_ns for path in sound.root.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name what to look at: --stage, or --store for a store alone"),
        (("--store", "s3:/x"), "s3:/x is no s3://BUCKET/PREFIX"),
        (("--store", "s3:///x"), "is no s3://BUCKET/PREFIX"),
        (("--store", "missing"), "missing is no folder that exists"),
        (("--stage", "a/b"), "a/b is no name of a stage"),
    ],
)
def test_what_cannot_be_looked_at_is_one_line(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused("doctor", *arguments)
    assert run("doctor", *arguments).exit_code == 2


def test_the_command_works_in_a_process_of_its_own(sound: LocalStore) -> None:
    done = process("doctor", "--store", sound, "--stage", STAGE)
    assert (done.returncode, done.stderr) == (1, b"")  # the fleet's days lie in the past by now
    assert b"attempts: the newest are of 2026-01-12" in done.stdout
