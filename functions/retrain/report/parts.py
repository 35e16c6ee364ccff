"""What pages are put together from: tables, pictures with their table, tiles, the page itself."""

from collections.abc import Iterable, Sequence

from functions.retrain.report.markup import element, joined, text
from functions.retrain.report.style import style

MOST_ROWS = 50
"""Rows of one table; metrics.json has all."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """Texts in a box of its own, which scrolls where the page is narrower; long ones are cut."""
    head = element("tr", joined(element("th", text(name)) for name in header)) if header else ""
    lines = joined(
        element("tr", joined(element("td", text(cell)) for cell in row)) for row in rows[:MOST_ROWS]
    )
    more = len(rows) - MOST_ROWS
    rest = quiet(f"and {more:,} more in metrics.json") if more > 0 else ""
    body = element("table", head + lines, **({"class_": kind} if kind else {}))
    return element("div", body, class_="wide", tabindex=0) + rest


def figure(
    title: str,
    note: str,
    picture: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    key: str = "",
    kind: str = "",
) -> str:
    """A picture under its title, and its figures as a table that opens. Nothing of no rows."""
    if not rows:
        return ""
    caption = element("h3", text(title)) + (element("p", text(note)) if note else "")
    opened = element("summary", "Table") + table(header, rows, kind)
    content = element("figcaption", caption) + picture + key + element("details", opened)
    return element("figure", content)


def key(entries: Iterable[tuple[str, str, str]]) -> str:
    """What the fills of a picture mean: (class, letter, meaning) each."""
    return element(
        "ul",
        joined(
            element("li", element("i", text(letter), class_=kind) + text(meaning))
            for kind, letter, meaning in entries
        ),
        class_="key",
    )


def card(title: str, content: str) -> str:
    """A table that has no picture."""
    return element("div", element("h3", text(title)) + content, class_="card")


def tiles(entries: Iterable[tuple[str, str, str]]) -> str:
    """(what, figure, remark) each, the figure large."""
    return element(
        "dl",
        joined(
            element(
                "div",
                element("dt", text(what))
                + element("dd", text(figure_of_it) + element("small", text(remark))),
            )
            for what, figure_of_it, remark in entries
        ),
        class_="tiles",
    )


def section(title: str, figures: Iterable[str]) -> str:
    """Pictures beside each other under a heading; nothing where there is none."""
    content = joined(figures)
    return element("h2", text(title)) + element("div", content, class_="grid") if content else ""


def quiet(remark: str) -> str:
    """A remark."""
    return element("p", text(remark), class_="quiet")


def page(title: str, content: Iterable[str]) -> str:
    """The whole document."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        + element("title", text(title))
        + element("style", style())
    )
    body = element("body", joined([element("h1", text(title)), *content]))
    return f'<!doctype html>\n<html lang="en">{element("head", head)}{body}</html>\n'
