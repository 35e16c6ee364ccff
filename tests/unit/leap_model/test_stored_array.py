"""Arrays in files: what numpy wrote is read, by nobody's parser, and nothing else is."""

from typing import Any

import numpy as np
import pytest

from leap_model.stored_array import of_npy, to_npy
from tests.unit.leap_model.altering import npy
from tests.unit.leap_model.parsing import parsed

ARRAYS = [
    *(np.arange(6).astype(kind) for kind in ("<u8", "<i4", "<f4", "<f8", "|u1", "|b1", ">f8")),
    *(np.ones(shape, np.float32) for shape in ((0,), (1,), (3, 2), (2, 0), (2, 3, 4))),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype.str}{array.shape}")
def test_an_array_comes_back_to_its_bits(array: np.ndarray[Any, Any]) -> None:
    back = of_npy(memoryview(to_npy(array)))
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00\x00\x00", b"PK\x03\x04 no archive"),
        npy(np.ones((3, 2), order="F")),
        npy(np.array([{}], object), allow_pickle=True),
        npy(np.array(["x", "yy"])),
        npy(np.zeros(2, [("a", "<f8")])),
        npy(np.ones(3))[:-1],
        npy(np.ones(3)).replace(b"(3,)", b"(-3,)"),
        npy(np.ones(3)).replace(b"False", b"Fals0"),
        npy(np.ones(3)).replace(b"'<f8'", b"'<f9'"),
    ],
)
def test_anything_else_is_no_array(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"array|buffer"):
        of_npy(content)


def test_no_parser_is_asked() -> None:
    content = to_npy(np.ones((3, 2)))
    with parsed() as heard:
        of_npy(content)
    assert heard == []
