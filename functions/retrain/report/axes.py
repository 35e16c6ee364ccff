"""Axes: where a value lies, and which values are marked. Pictures have no other scales."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10

_FINEST = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from `low` to `high` laid from `start` to `end`, evenly or by their logarithm.

    With `log` both are above zero. Values beyond the ends lie at the ends.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The coordinate of a value."""
        low, high, here = (self._measure(v) for v in (self.low, self.high, value))
        share = (here - low) / (high - low)
        return self.start + (self.end - self.start) * min(max(share, 0.0), 1.0)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values within the axis, at most as many as stated, from low to high."""
        return self._log_ticks(most) if self.log else self._even_ticks(most)

    def _measure(self, value: float) -> float:
        return log10(value) if self.log and value > 0 else value

    def _log_ticks(self, most: int) -> list[float]:
        first, last = ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9)
        step = max(1, ceil((last - first + 1) / most))
        decades = [10.0**power for power in range(first, last + 1) if power % step == 0]
        for finer in (_FINEST, (1, 2, 5), (1, 3)):
            ticks = [times * 10.0**power for power in range(first - 1, last + 1) for times in finer]
            within = [t for t in ticks if self.low * 0.9999 <= t <= self.high * 1.0001]
            if len(decades) < 3 and len(decades) < len(within) <= most:
                return within
        return decades

    def _even_ticks(self, most: int) -> list[float]:
        span = self.high - self.low
        power = 10.0 ** floor(log10(span / most))
        step = next(power * times for times in (1, 2, 2.5, 5, 10) if span / (power * times) < most)
        first = ceil(self.low / step - 1e-9)
        return [at * step for at in range(first, floor(self.high / step + 1e-9) + 1)]


def log_axis(values: Iterable[float | None], start: float, end: float) -> Axis | None:
    """An axis of decades or less that holds every value; None of no values above zero."""
    known = [value for value in values if value is not None and value > 0]
    if not known:
        return None
    low, high = min(known) / 1.1, max(known) * 1.1
    if high / low < 2:
        low, high = low / 1.5, high * 1.5
    return Axis(low, high, start, end, log=True)


def power_of_ten(value: float) -> str:
    """A tick of a log axis: plain near one, else with a power."""
    if 0.01 <= value < 10_000:
        return f"{value:,.6g}"
    power = floor(log10(value) + 1e-9)
    times = round(value / 10.0**power)
    return f"{'' if times == 1 else f'{times}×'}10{str(power).translate(_SUPERSCRIPT)}"
