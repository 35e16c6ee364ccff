"""Which days a run trains on and is judged on. Derived from its date, never from the clock."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Any, TypeVar

from leap_model.errors import TrainingError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Window:
    """The days from `start` up to, not including, `end`; those without attempts are missing."""

    start: date
    end: date
    missing: tuple[date, ...]

    @classmethod
    def before(cls, end: date, days: int, present: Iterable[date]) -> "Window":
        """The `days` days before `end`."""
        start = _earlier(end, days)
        held = {day for day in present if start <= day < end}
        every = (start + timedelta(days=offset) for offset in range((end - start).days))
        return cls(start, end, tuple(day for day in every if day not in held))

    def to_json(self) -> dict[str, Any]:
        """First and last day, both included, and the days without attempts."""
        return {
            "from": self.start.isoformat(),
            "to": (self.end - timedelta(days=1)).isoformat(),
            "missing_days": [day.isoformat() for day in self.missing],
        }


def evaluation_day(as_of: date, present: Iterable[date]) -> date:
    """The last day before `as_of` that has attempts.

    Raises
    ------
    TrainingError
        There is none.
    """
    earlier = [day for day in present if day < as_of]
    if not earlier:
        raise TrainingError(f"the store holds no attempts that completed before {as_of}")
    return max(earlier)


def remembered(
    days: Mapping[date, T], start: date, end: date, history_days: int
) -> Mapping[date, T]:
    """The days that a run with a window from `start`, and an end, reads: those of the window, and
    all from so many days before the end on."""
    first = min(start, _earlier(end, history_days))
    return {day: held for day, held in days.items() if day >= first}


def complete(per_day: Mapping[date, int], day: date, least: float) -> None:
    """Nothing, if a day has at least a share of the median of the days before it.

    Raises
    ------
    TrainingError
        It has less: attempts are missing, and would be missing from the evaluation.
    """
    before = [count for other, count in per_day.items() if other < day]
    if before and per_day.get(day, 0) < least * median(before):
        raise TrainingError(
            f"{day} has {per_day.get(day, 0):,} attempts, where the days before have "
            f"{median(before):,.0f}: with fewer than {least * 100:g} % of them it is not complete"
        )


def _earlier(day: date, days: int) -> date:
    """`days` before, or the first day there is: a window may reach back beyond all data."""
    return day - timedelta(days=min(days, (day - date(1970, 1, 1)).days))
