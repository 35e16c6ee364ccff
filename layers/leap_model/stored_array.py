"""Arrays in files: numpy's format 1.0, without objects, row after row."""

import io
from typing import Any

import numpy as np

from leap_model.forest_file import Array

_LONGEST_HEADER = 4_096


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
    file = io.BytesIO(content[:_LONGEST_HEADER])
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array of format {version}")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or (is_fortran and len(shape) > 1):
        raise ValueError("an array of objects, or column after column")
    count = int(np.prod(shape))
    return np.frombuffer(content, dtype, count, file.tell()).reshape(shape)
