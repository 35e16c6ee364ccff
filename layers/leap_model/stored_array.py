"""Arrays in files: numpy's format 1.0, without objects, row after row.

Headers are matched and not evaluated: numpy has Python's parser read them, which raises now and
then where another thread of the process parses at the same moment (Python 3.11 and 3.12, whose
threads share one count of its depth; github.com/python/cpython/issues/106905).
"""

import io
import re
from math import prod
from typing import Any, Final

import numpy as np

from leap_model.forest_file import Array

_MAGIC: Final = b"\x93NUMPY\x01\x00"
_LONGEST_HEADER: Final = 4_096
_HEADER: Final = re.compile(
    rb"\{'descr': '([<|>](?:b1|[iu][1248]|f[248]))', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d+,)?(?: \d+,)* ?(?:\d+)?)\), \} *\n"
)


def to_npy(array: Array) -> bytes:
    """The array's file."""
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()


def of_npy(content: Any) -> Array:
    """The array of a file, as a view of its bytes.

    Raises
    ------
    ValueError
        They are of another format.
    """
    first = bytes(content[:_LONGEST_HEADER])
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(first[start - 2 : start], "little")
    header = _HEADER.fullmatch(first[start:end])
    if not first.startswith(_MAGIC) or header is None:
        raise ValueError("no array of format 1.0, of numbers, with a header as numpy writes it")
    shape = tuple(int(size) for size in header[3].split(b",") if size.strip())
    if header[2] == b"True" and len(shape) > 1:
        raise ValueError("an array column after column")
    dtype = np.dtype(header[1].decode())
    return np.frombuffer(content, dtype, prod(shape), end).reshape(shape)
