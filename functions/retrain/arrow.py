"""Arrow columns as the library's columns, without a Python object a row."""

import numpy as np
import pyarrow as pa

from leap_model.columns import Floats, Ints, Labels, Objects, Open
from leap_model.json_text import read_json


def floats_of(column: pa.ChunkedArray) -> Floats:
    """(n,) numbers, NaN for null."""
    filled = column.combine_chunks().cast(pa.float64()).fill_null(np.nan)
    return np.array(filled.to_numpy(zero_copy_only=False), np.float64)


def times_of(column: pa.ChunkedArray | pa.Array) -> Ints:
    """(n,) int64 microseconds since 1970-01-01 UTC; nulls are not allowed."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.array(whole.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)


def labels_of(column: pa.ChunkedArray | pa.Array) -> Labels:
    """(n,) text, dictionary-encoded."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    codes = np.array(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int32)
    return Labels(codes, tuple(encoded.dictionary.to_pylist()))


def objects_of_json(column: pa.ChunkedArray) -> Objects:
    """(n,) objects from JSON text; each distinct text is parsed once."""
    texts = labels_of(column)
    return Objects.of([*map(read_json, texts.values), None]).take(texts.codes)


def objects_of_map(column: pa.ChunkedArray) -> Objects:
    """(n,) objects of numbers from a map column."""
    whole = column.combine_chunks()
    rows = len(whole)
    lengths = np.diff(whole.offsets.to_numpy())
    owner = np.repeat(np.arange(rows), lengths)
    first = whole.offsets[0].as_py() if rows else 0
    names = labels_of(whole.keys.slice(first, len(owner)))
    values = floats_of(pa.chunked_array([whole.items.slice(first, len(owner))]))
    nothing = Labels(np.full(rows, -1, np.int32), ())
    by_name = {}
    for code, name in enumerate(names.values):
        numbers = np.full(rows, np.nan)
        at = names.codes == code
        numbers[owner[at]] = values[at]
        by_name[name] = Open(numbers, nothing)
    return Objects(rows, dict(sorted(by_name.items())))
