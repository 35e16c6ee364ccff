"""What pictures are drawn of: lines, rectangles, texts, axes and rows, in units of one phone's
width. Colours are classes of the page's style, so that they follow light, dark and print."""

from collections.abc import Callable, Sequence

from functions.retrain.report.axes import Axis
from functions.retrain.report.markup import element, joined, number, text

WIDTH = 360.0
LEFT, RIGHT = 112.0, 310.0
"""Where rows begin and end; their names stand before, their amounts after."""
ROW = 20.0
TOP = 8.0
_LONGEST_NAME = 16
_CHARACTER = 6.2


def picture(content: Sequence[str], height: float, name: str) -> str:
    """An SVG of the usual width; `name` is what a screen reader says."""
    box = f"0 0 {number(WIDTH)} {number(height)}"
    return element("svg", joined(content), viewBox=box, role="img", aria_label=name)


def label(x: float, y: float, content: str, *, anchor: str = "start", kind: str = "l") -> str:
    """One line of text; its middle is at `y`."""
    placed = {} if anchor == "start" else {"text_anchor": anchor}
    return element("text", text(content), x=x, y=y + 3.8, class_=kind, **placed)


def name_of_row(y: float, content: str) -> str:
    """A name before a row: its ends if it is long, and all of it where a pointer rests."""
    long = len(content) > _LONGEST_NAME
    short = f"{content[:6]}…{content[7 - _LONGEST_NAME :]}" if long else content
    title = element("title", text(content)) if short != content else ""
    return element(
        "text", title + text(short), x=LEFT - 6, y=y + 3.8, class_="l", text_anchor="end"
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return element("path", d=f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", class_=kind)


def rectangle(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A filled rectangle between two corners, whichever is which."""
    left, top = min(x1, x2), min(y1, y2)
    return element("rect", x=left, y=top, width=abs(x2 - x1), height=abs(y2 - y1), class_=kind)


def bottom_axis(
    axis: Axis, top: float, bottom: float, said: Callable[[float], str], title: str = ""
) -> list[str]:
    """Grid lines down to an axis at the bottom, each with its value, and what they are of."""
    drawn = []
    last = float("-inf")
    for tick in axis.ticks():
        x = axis.at(tick)
        drawn.append(line(x, top, x, bottom, "g"))
        half = len(said(tick)) * _CHARACTER / 2
        middle = min(max(x, half + 1), WIDTH - half - 1)
        if middle - half > last:
            drawn.append(label(middle, bottom + 10, said(tick), anchor="middle", kind="t"))
            last = middle + half + 4
    if title:
        middle = (axis.start + axis.end) / 2
        drawn.append(label(middle, bottom + 25, title, anchor="middle", kind="t"))
    return drawn


def left_axis(axis: Axis, left: float, right: float, said: Callable[[float], str]) -> list[str]:
    """Grid lines from an axis at the left, each with its value."""
    drawn = []
    for tick in axis.ticks():
        y = axis.at(tick)
        drawn.append(line(left, y, right, y, "g"))
        drawn.append(label(left - 5, y, said(tick), anchor="end", kind="t"))
    return drawn


def row_middles(count: int) -> list[float]:
    """The middle of each row."""
    return [TOP + ROW * (at + 0.5) for at in range(count)]
