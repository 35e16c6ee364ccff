"""Elements of a page as text. Whatever comes from users is escaped here and nowhere else."""

import re
from collections.abc import Iterable
from html import escape

_NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Whatever XML 1.0 does not allow, lone surrogates among it."""


def text(value: object) -> str:
    """A value as text of a page, or of an attribute in double quotes."""
    return escape(_NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", str(value)))


def element(name: str, content: str = "", **attributes: object) -> str:
    """An element around content that is markup already.

    An attribute's underscores are hyphens, one at its end is left out (`class_`); fractions have
    one decimal.
    """
    stated = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{stated}>{content}</{name}>"


def joined(parts: Iterable[str]) -> str:
    """Markup one after another."""
    return "".join(parts)


def number(value: float) -> str:
    """A coordinate: one decimal, and no more than are needed."""
    return f"{round(value, 1) + 0.0:g}"


def _value(value: object) -> str:
    return number(value) if isinstance(value, float) else text(value)
