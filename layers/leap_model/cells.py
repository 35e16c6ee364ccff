"""CSV cells are text: what they say as JSON values."""

import re

from leap_model.fields import Scalar

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|[+-]?inf(inity)?")


def value_of_cell(cell: str) -> Scalar:
    """true, false, a number, or the trimmed text itself. An empty cell is None.

    Stricter than `float`, which would read the text 2024_01 as a number.
    """
    trimmed = cell.strip()
    folded = trimmed.casefold()
    if not trimmed:
        return None
    if folded in ("true", "false"):
        return folded == "true"
    if _INTEGER.fullmatch(trimmed):
        return int(trimmed)
    if _NUMBER.fullmatch(folded):
        return float(folded)
    return trimmed
