"""Pictures of two axes: attempts by predicted and measured, and shares by night."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from itertools import pairwise
from math import log1p
from typing import Any

from functions.retrain.report.axes import Axis, power_of_ten
from functions.retrain.report.drawing import (
    TOP,
    WIDTH,
    bottom_axis,
    label,
    left_axis,
    line,
    picture,
)
from functions.retrain.report.markup import element, number

SHADES = 5
SERIES = 8
"""Methods whose lines look apart; further ones are in the table."""
_MOST_DOTS = 60


def shade_of(count: int, most: int) -> int:
    """From 0 for few to `SHADES` − 1 for the most, evenly by logarithm."""
    return min(SHADES - 1, int(SHADES * log1p(count) / (log1p(most) * 1.0001)))


def density_plane(density: Mapping[str, Any], name: str) -> str:
    """Cells shaded by their attempts, the line of perfect predictions, and ±20 % beside it."""
    cells, per_decade = density["cells"], density["per_decade"]
    places = [place for cell in cells for place in cell[:2]]
    first, last = min(places), max(places) + 1
    low, high = 10 ** (first / per_decade), 10 ** (last / per_decade)
    left, bottom = 48.0, TOP + 296.0
    across = Axis(low, high, left, WIDTH - 8, log=True)
    up = Axis(low, high, bottom, TOP, log=True)
    side = (across.end - across.start) / (last - first)
    high_side = (up.start - up.end) / (last - first)
    most = max(count for *_, count in cells)
    shades = [""] * SHADES
    for (row, start), (length, shade) in _runs(cells, most).items():
        x = across.start + (start - first) * side
        y = up.start - (row - first + 1) * high_side
        shades[shade] += (
            f"M{number(x)} {number(y)}h{number(length * side)}v{number(high_side)}"
            f"h{number(-length * side)}z"
        )
    drawn = [
        *bottom_axis(across, TOP, bottom, power_of_ten, "measured"),
        *left_axis(up, left, WIDTH - 8, power_of_ten),
        *(element("path", d=d, class_=f"d{at}") for at, d in enumerate(shades) if d),
        line(across.at(low), up.at(low), across.at(high), up.at(high), "ideal"),
        *(_beside(across, up, factor) for factor in (0.8, 1.2)),
        label(left, TOP - 3, "predicted", kind="t"),
    ]
    return picture(drawn, bottom + 33, name)


def _runs(cells: Sequence[Sequence[int]], most: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(row, first column) → (columns, shade) of neighbours in a row that are shaded alike."""
    ordered = sorted((row, column, shade_of(count, most)) for column, row, count in cells)
    runs: dict[tuple[int, int], tuple[int, int]] = {}
    begun: tuple[int, int] | None = None
    for at, (row, column, shade) in enumerate(ordered):
        before = ordered[at - 1] if at else None
        if begun is None or before != (row, column - 1, shade):
            begun = (row, column)
        runs[begun] = (column - begun[1] + 1, shade)
    return runs


def _beside(across: Axis, up: Axis, factor: float) -> str:
    """The line of predictions off by a factor, as far as it lies within the plane."""
    low, high = max(up.low, up.low / factor), min(up.high, up.high / factor)
    return line(across.at(low), up.at(low * factor), across.at(high), up.at(high * factor), "near")


def nights_plane(
    series: Sequence[Sequence[tuple[date, float | None]]], name: str, ceiling: int | None = None
) -> str:
    """Shares by night, a line a method, broken where a night is unknown.

    `ceiling` is which of the series is no method but the most that any could have.
    """
    days = [day for entries in series for day, _ in entries]
    first, last = min(days), max(days)
    if first == last:
        first, last = first - timedelta(days=1), last + timedelta(days=1)
    left, bottom = 48.0, TOP + 180.0
    across = Axis(first.toordinal(), last.toordinal(), left + 8, WIDTH - 22)
    up = Axis(0, 1, bottom, TOP)
    drawn = left_axis(up, left, WIDTH - 8, lambda share: f"{share * 100:.0f} %")
    marked = sorted(set(days))
    for day in _spread(marked, 4):
        x = across.at(day.toordinal())
        drawn.append(line(x, bottom, x, bottom + 3, "g"))
        drawn.append(label(x, bottom + 12, f"{day:%m-%d}", anchor="middle", kind="t"))
    shown = [at for at in range(len(series)) if at < SERIES or at == ceiling]
    ends: list[float] = []
    for at in reversed(shown):
        kind = "ceiling" if at == ceiling else f"s{at}"
        places = [
            (across.at(d.toordinal()), None if v is None else up.at(v)) for d, v in series[at]
        ]
        drawn.append(element("path", d=_path(places), class_=f"series {kind}"))
        known = [(x, y) for x, y in places if y is not None]
        if at != ceiling and len(known) <= _MOST_DOTS:
            drawn += [element("circle", cx=x, cy=y, r=2.5, class_=f"dot {kind}") for x, y in known]
        if known and at != ceiling and len(series) > 2:
            y = known[-1][1]
            while any(abs(y - other) < 9 for other in ends):
                y += 3
            ends.append(y)
            drawn.append(label(known[-1][0] + 7, y, chr(ord("A") + at), kind="l"))
    return picture(drawn, bottom + 22, name)


def _path(places: Sequence[tuple[float, float | None]]) -> str:
    drawn, pen = "", "M"
    for x, y in places:
        if y is None:
            pen = "M"
            continue
        drawn += f"{pen}{number(x)} {number(y)}"
        pen = "L"
    return drawn or "M0 0"


def _spread(days: Sequence[date], most: int) -> list[date]:
    """At most so many of the days, the last among them, none too close to the next."""
    if len(days) <= most:
        chosen = list(days)
    else:
        chosen = [days[round(at * (len(days) - 1) / (most - 1))] for at in range(most)]
    span = max((days[-1] - days[0]).days, 1)
    pairs = pairwise(chosen)
    return [*(day for day, later in pairs if (later - day).days > span / 8), chosen[-1]]
