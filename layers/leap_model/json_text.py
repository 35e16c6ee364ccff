"""JSON as attempts bring it and as the store keeps it, by orjson: Python's own takes three times
as long. Not on the path of a ranking, which needs nothing but numpy."""

import json
from typing import Any

import orjson


def read_exactly(body: bytes) -> Any:
    """The same by Python's own reader, which holds whole numbers of any size, for what is sent on
    as it is.

    Raises
    ------
    ValueError, RecursionError
        It is no JSON, or is nested too deeply.
    """
    return json.loads(body.decode("utf-8"))


def read_json(body: bytes | str) -> Any:
    """The value of JSON text, in UTF-8 where it is bytes. NaN and infinities pass: fields decide.
    Whole numbers that 64 bits do not hold may come as floats.

    Raises
    ------
    ValueError, RecursionError
        It is no JSON, or is nested too deeply.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return json.loads(body if isinstance(body, str) else body.decode("utf-8"))


def compact(value: Any) -> str:
    """JSON text that is the same for the same value: keys sorted, no white space. Numbers are
    finite, and whole ones of at most 64 bits."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def as_written(text: str) -> Any:
    """JSON text that stands as it is in what `compact` writes."""
    return orjson.Fragment(text)
