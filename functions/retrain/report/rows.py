"""Pictures of one row a name: bars from zero, boxes of quantiles, and stacked shares."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from functions.retrain.report.axes import Axis, log_axis, power_of_ten
from functions.retrain.report.drawing import (
    LEFT,
    RIGHT,
    ROW,
    TOP,
    WIDTH,
    bottom_axis,
    label,
    line,
    name_of_row,
    picture,
    rectangle,
    row_middles,
)
from functions.retrain.report.figures import UNKNOWN

KINDS = 8
"""Classes of fill that a stack tells apart; one more is the rest's."""
LETTERS = "ABCDEFGH"


@dataclass(frozen=True, slots=True)
class Bar:
    """A named value, None where unknown, and what is written after it."""

    name: str
    value: float | None
    said: str


def bars(
    rows: Sequence[Bar],
    axis: Axis,
    said: Callable[[float], str],
    name: str,
    mark: float | None = None,
    band: Sequence[float] | None = None,
) -> str:
    """Bars from zero; `mark` is a line across all of them, `band` a strip from low to high."""
    bottom = TOP + ROW * len(rows)
    drawn = [] if band is None else [rectangle(*_span(axis, band, bottom), "band")]
    drawn += bottom_axis(axis, TOP, bottom, said)
    for row, y in zip(rows, row_middles(len(rows)), strict=True):
        drawn.append(name_of_row(y, row.name))
        if row.value is None:
            drawn.append(label(LEFT + 4, y, UNKNOWN, kind="t"))
        else:
            drawn.append(rectangle(axis.at(0), y - 6, axis.at(row.value), y + 6, "bar"))
        drawn.append(label(WIDTH - 2, y, row.said, anchor="end", kind="t"))
    if mark is not None:
        drawn.append(line(axis.at(mark), TOP, axis.at(mark), bottom, "mark"))
    return picture(drawn, bottom + 18, name)


def _span(axis: Axis, band: Sequence[float], bottom: float) -> tuple[float, float, float, float]:
    low, high = (axis.at(value) for value in band)
    return low, TOP, high, bottom


def boxes(
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    title: str,
    name: str,
    mark: float | None = None,
    band: Sequence[float] | None = None,
) -> str:
    """Quantiles on a log axis: a line from p5 to p95, a box from p25 to p75, a stroke at p50.

    A row whose quantiles are not all above zero says that it is unknown. Empty where none is.
    """
    known = [float(row[q] or 0) for _, row in rows if _whole(row) for q in ("p5", "p95")]
    axis = log_axis([*known, *(band or ())] if known else [], LEFT, RIGHT + 38)
    if axis is None:
        return ""
    bottom = TOP + ROW * len(rows)
    drawn = [] if band is None else [rectangle(*_span(axis, band, bottom), "band")]
    drawn += bottom_axis(axis, TOP, bottom, power_of_ten, title)
    if mark is not None:
        drawn.append(line(axis.at(mark), TOP, axis.at(mark), bottom, "mark"))
    for (label_of_row, row), y in zip(rows, row_middles(len(rows)), strict=True):
        drawn.append(name_of_row(y, label_of_row))
        if not _whole(row):
            drawn.append(label(LEFT + 4, y, UNKNOWN, kind="t"))
            continue
        p5, p25, p50, p75, p95 = (axis.at(row[q]) for q in ("p5", "p25", "p50", "p75", "p95"))
        drawn.append(line(p5, y, p95, y, "whisker"))
        drawn.append(rectangle(p25, y - 5, max(p75, p25 + 1), y + 5, "bar"))
        drawn.append(line(p50, y - 6.5, p50, y + 6.5, "middle"))
    return picture(drawn, bottom + 33, name)


def _whole(row: Mapping[str, Any]) -> bool:
    return all((row[q] or 0) > 0 for q in ("p5", "p25", "p50", "p75", "p95"))


def stacks(rows: Sequence[tuple[str, Sequence[float]]], name: str) -> str:
    """Shares of one, side by side; the k-th of every row has the k-th letter and fill, those
    from `KINDS` on the rest's."""
    axis = Axis(0, 1, LEFT, WIDTH - 8)
    bottom = TOP + ROW * len(rows)
    drawn = bottom_axis(axis, TOP, bottom, lambda tick: f"{tick * 100:.0f} %")
    for (label_of_row, shares), y in zip(rows, row_middles(len(rows)), strict=True):
        drawn.append(name_of_row(y, label_of_row))
        start = 0.0
        for kind, share in enumerate(shares):
            if share > 0:
                x1, x2 = axis.at(start), axis.at(start + share)
                fill = f"k{kind}" if kind < KINDS else "kx"
                drawn.append(rectangle(x1, y - 7, x2, y + 7, fill))
                if x2 - x1 >= 12 and kind < KINDS:
                    middle = (x1 + x2) / 2
                    drawn.append(label(middle, y, LETTERS[kind], anchor="middle", kind="on"))
            start += share
    return picture(drawn, bottom + 18, name)
