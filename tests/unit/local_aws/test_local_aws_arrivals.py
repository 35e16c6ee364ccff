"""Attempts have arrived when they can be read as Parquet."""

import threading
from pathlib import Path

import pytest

from cli.local_aws import arrivals
from cli.local_aws.arrivals import Arrivals
from cli.local_aws.errors import LocalAwsError
from leap_model.store import LocalStore
from tests.support import filled, fleet


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_LOOK_S", 0.01)
    monkeypatch.setattr(arrivals, "_SILENT_S", 0.2)


def test_what_is_there_is_counted_by_day_and_object(tmp_path: Path) -> None:
    store = filled(tmp_path, fleet(60, days=3))
    steps: list[int] = []
    arrived = Arrivals(store)
    arrived.wait(60, steps.append)
    assert (arrived.total, arrived.days) == (60, 3)
    assert sorted(arrived.rows) == store.keys("attempts")
    assert sum(steps) == 60


def test_what_is_still_on_its_way_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "_SILENT_S", 20.0)
    attempts = fleet(60, days=3)
    store = filled(tmp_path, attempts[:20])
    late = threading.Timer(0.2, filled, (tmp_path, attempts[20:]))
    late.start()
    arrived = Arrivals(store)
    arrived.wait(60)
    assert arrived.total == 60
    late.join()


def test_what_never_comes_is_an_error_with_the_count(tmp_path: Path) -> None:
    store = filled(tmp_path, fleet(20, days=2))
    with pytest.raises(LocalAwsError, match=r"20 of 21 attempts arrived, and no more for 0\.2 s"):
        Arrivals(store).wait(21)


def test_nothing_at_all_is_an_error_too(tmp_path: Path) -> None:
    with pytest.raises(LocalAwsError, match="0 of 1 attempts arrived"):
        Arrivals(LocalStore(tmp_path)).wait(1)
