"""The nights before a run: one chain of reports, that no damage to them breaks a night with."""

import json
from dataclasses import replace
from typing import Any

import pytest

from functions.retrain.earlier import MOST_NIGHTS, earlier_nights, report_of
from leap_model.errors import StoreError
from leap_model.pointer import Pointer
from leap_model.store import LocalStore
from tests.support import filled, fleet
from tests.unit.retrain.nights import AS_OF, LATER, LATEST, TINY, add, night, pointer_of

NIGHT = {"as_of": "2026-01-01", "version": "v", "attempts": 3, "w20": 0.5}
KNOWN: dict[str, Any] = NIGHT | {"noise_ceiling_w20": None}


def test_each_run_knows_the_nights_that_were_pointed_at_before_it(store: LocalStore) -> None:
    attempts = fleet(420, days=12)
    by_day = {d: [a for a in attempts if a["completed_at"][8:10] == f"{d:02}"] for d in (11, 12)}
    filled(store.root, [a for a in attempts if a["completed_at"] < "2026-01-11"])
    first = night(store, AS_OF)
    add(store, by_day[11])
    skipped = night(store, LATER, test_run=True)
    add(store, by_day[12])
    last = night(store, LATEST)
    assert [entry["version"] for entry in first["nights"]] == [first["version"]]
    told = [(entry["as_of"], entry["version"], entry["w20"]) for entry in last["nights"]]
    assert told == [
        (run["as_of"], run["version"], run["evaluation"]["w20"]) for run in (first, last)
    ]
    assert [entry["version"] for entry in skipped["nights"]][-1] == skipped["version"]


def test_a_night_run_again_is_told_once(store: LocalStore) -> None:
    filled(store.root, fleet(320))
    night(store)
    again = night(store, settings=replace(TINY, seed=1), force=True)
    assert [entry["as_of"] for entry in again["nights"]] == [again["as_of"]]


def _pointed(store: LocalStore, content: bytes) -> Pointer:
    filled(store.root, fleet(320))
    version = night(store)["version"]
    key = store.root / f"reports/throughput/{version}/metrics.json"
    key.write_bytes(content)
    pointer = pointer_of(store)
    assert pointer is not None
    return pointer


def _told(store: LocalStore, content: bytes) -> list[Any]:
    report = report_of(store, "throughput", _pointed(store, content))
    return earlier_nights(report, "2026-02-01")


def test_only_the_latest_nights_are_kept(store: LocalStore) -> None:
    nights = [KNOWN | {"version": f"v{at}"} for at in range(100)]
    told = _told(store, json.dumps({"nights": nights}).encode())
    assert [entry["version"] for entry in told] == [f"v{at}" for at in range(41, 100)]
    assert len(told) == MOST_NIGHTS - 1


@pytest.mark.parametrize(
    "content",
    [
        *(
            b"",
            b"{",
            b"[]",
            b"null",
            b"\xff\xfe",
            b'{"nights": 3}',
            b'{"nights": [3]}',
            b"[" * 9_999,
        ),
        *(b'{"nights": [{}]}', b'{"nights": null}', b'{"nights": {"a": 1}}'),
        *(
            json.dumps({"nights": [KNOWN | broken]}).encode()
            for broken in (
                {"as_of": "yesterday"},
                {"as_of": 3},
                {"w20": 7},
                {"w20": "x"},
                {"attempts": None},
                {"noise_ceiling_w20": float("nan")},
            )
        ),
    ],
    ids=lambda content: ascii(content[:60]),
)
def test_a_damaged_report_tells_of_no_night(store: LocalStore, content: bytes) -> None:
    assert _told(store, content) == []


def test_a_report_that_cannot_be_read_tells_of_no_night(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointer = _pointed(store, b"{}")

    def refused(own: LocalStore, key: str) -> bytes | None:
        raise StoreError(f"{key} cannot be read: AccessDenied")

    monkeypatch.setattr(LocalStore, "read", refused)
    assert report_of(store, "throughput", pointer) == {}
