"""What has come in: the newest day of attempts, and how much of the last arrivals was refused."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

import pyarrow.compute as pc

from cli.doctor.place import Place
from cli.doctor.report import Problem, Problems
from cli.doctor.rules import MOST_DAYS_WITHOUT, MOST_REJECTED
from leap_model.limits import DAY_US
from leap_model.reading import day_keys, partition_days, read_days
from leap_model.store import Store
from leap_model.times import start_of

_NEAR: Final = 7
"""Days back that are listed one by one; further back, all of them are at once."""
_SILENT: Final = 3
"""Partitions without an arrival of a day after which older ones are taken to have none either."""
_MOST_PARTITIONS: Final = 60
"""Partitions that are read to count a day's arrivals."""


def newest_day(place: Place) -> date | None:
    """The newest day, up to today, that has attempts; None where there are none.

    A sender whose clock is ahead must not hide that the others are silent.
    """
    for back in range(_NEAR):
        day = place.today - timedelta(days=back)
        if day_keys(place.store, day):
            return day
    return max((day for day in partition_days(place.store) if day <= place.today), default=None)


def attempt_problems(place: Place, newest: date | None) -> Problems:
    """Whether attempts still come in; `newest` is their newest day."""
    do = "see that launchers still publish, and what waits in the queue and its dead letters"
    rule = f"the newest lies at most {MOST_DAYS_WITHOUT} day back"
    if newest is None:
        yield Problem("there are no attempts", rule, do)
        return
    back = (place.today - newest).days
    if back > MOST_DAYS_WITHOUT:
        yield Problem(f"the newest are of {newest}, {back:,} days back", rule, do)


def rejected_problems(place: Place, newest: date | None) -> Problems:
    """The share that was refused of what arrived on the last day of arrivals.

    Parameters
    ----------
    place, newest : Place, date
        Whose, and the newest day of its attempts.
    """
    days = sorted({day for key in place.store.keys("rejected") if (day := _day(key)) is not None})
    if not days:
        return
    last = days[-1]
    if newest is not None and _arrived_after(place.store, newest, last):
        return  # more has arrived since, and none of that was refused
    keys = place.store.keys(f"rejected/dt={last}")
    refused = sum((place.store.read(key) or b"").count(b"\n") for key in keys)
    enough = refused * (1 - MOST_REJECTED) / MOST_REJECTED
    taken = 0
    for count in _arrivals(place.store, last):
        taken += count
        if taken >= enough:
            return
    share = refused / max(refused + taken, 1)
    yield Problem(
        f"{refused:,} of {refused + taken:,} records that arrived on {last} were refused, "
        f"{share:.1%}".replace("%", " %"),
        f"at most {MOST_REJECTED:.0%} are".replace("%", " %"),
        f"read the reasons in {place.store}/rejected/dt={last}/, and have the sender mend them",
    )


def _arrivals(store: Store, day: date) -> Iterator[int]:
    """Attempts that arrived on a day, partition by partition, the newest first."""
    partitions = sorted(partition_days(store).items(), reverse=True)
    partitions = [entry for entry in partitions if entry[0] <= day + timedelta(days=1)]
    silent = 0
    for entry in partitions[:_MOST_PARTITIONS]:
        arrived = read_days(store, [entry], ["ingested_at"]).table["ingested_at"].cast("int64")
        start = start_of(day)
        inside = pc.and_(pc.greater_equal(arrived, start), pc.less(arrived, start + DAY_US))
        count = int(pc.sum(inside).as_py() or 0)
        yield count
        silent = 0 if count else silent + 1
        if silent == _SILENT:
            return


def _arrived_after(store: Store, newest: date, day: date) -> bool:
    """Whether something of the newest partition arrived after a day."""
    keys = day_keys(store, newest)
    arrived = read_days(store, [(newest, keys)], ["ingested_at"]).table["ingested_at"]
    last = pc.max(arrived.cast("int64")).as_py()
    return last is not None and last >= start_of(day) + DAY_US


def _day(key: str) -> date | None:
    try:
        return date.fromisoformat(key.split("/")[1].removeprefix("dt="))
    except (ValueError, IndexError):
        return None
