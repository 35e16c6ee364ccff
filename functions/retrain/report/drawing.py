"""What pictures are drawn of: lines, rectangles, texts, axes and rows, in units of one phone's
width. Colours are classes of the page's style, so that they follow light, dark and print."""

from collections.abc import Callable, Sequence

from functions.retrain.report.axes import Axis
from functions.retrain.report.markup import element, joined, number, text

WIDTH = 360.0
LEFT, RIGHT = 118.0, 310.0
"""Where rows begin and end; their names stand before, their amounts after."""
ROW = 20.0
TOP = 8.0
_CHARACTER = 6.6
"""Of a tick's text: digits, at its size."""
_NARROW, _WIDE = frozenset("fijlrtI.,:;|!'()[]-/ "), frozenset("mwMW@%")


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
    short = shortened(content, LEFT - 8)
    title = element("title", text(content)) if short != content else ""
    return element(
        "text", title + text(short), x=LEFT - 6, y=y + 3.8, class_="l", text_anchor="end"
    )


def shortened(name: str, room: float) -> str:
    """A name without as much of its middle as it takes to fit, by what letters usually take."""
    widths = [_width(character) for character in name]
    if sum(widths) <= room:
        return name
    room -= _width("…")
    first, last = 0, len(name)
    while True:
        at = first if first <= len(name) - last else last - 1
        room -= widths[at]
        if room < 0:
            return f"{name[:first]}…{name[last:]}"
        first, last = (first + 1, last) if at == first else (first, at)


def _width(character: str) -> float:
    """Units of one letter in a wide font, at the size of a row's name."""
    if character in _NARROW:
        return 5.0
    if not character.isascii() or character in _WIDE:
        return 11.5
    return 8.8 if character.isupper() else 7.4


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
