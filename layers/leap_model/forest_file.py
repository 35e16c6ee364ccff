"""The bytes of a forest: what an artifact stores, what is mapped, and what the kernel reads.

A header of 128 bytes, then the parts in the order of `PARTS`, each from a multiple of 64 bytes on.
Numbers are little-endian. `leap_model.trees` says what each part means.

    magic                     8 bytes
    counts, as in `Counts`    8 bytes each
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leap_model.errors import ArtifactError

Array: TypeAlias = NDArray[Any]

MAGIC: Final = b"LEAPtre1"
HEADER_BYTES: Final = 128
_ALIGNMENT: Final = 64
_MOST: Final = 2**32

NARROW: Final = np.dtype([("question", "<u2"), ("left_leaves", "u1")])
WIDE: Final = np.dtype([("question", "<u4"), ("left_leaves", "<u4")])
"""A split. The narrow form holds trees of up to 256 leaves that ask up to 65,536 questions."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many of everything a forest has; `wide` is 1 where its splits are of the wide form."""

    n_inputs: int
    n_outputs: int
    n_trees: int
    n_edges: int
    n_runs: int
    n_categories: int
    set_bytes: int
    wide: int
    n_leaves: int
    n_sets: int


_COUNTS: Final = struct.Struct("<8s10Q")

PARTS: Final[Mapping[str, tuple[str, Callable[[Counts], int]]]] = {
    "baseline": ("<f8", lambda counts: counts.n_outputs),
    "first_leaf": ("<u4", lambda counts: counts.n_trees + 1),
    "first_set": ("<u4", lambda counts: counts.n_trees + 1),
    "output": ("<u4", lambda counts: counts.n_trees),
    "edges": ("<f8", lambda counts: counts.n_edges),
    "first_edge": ("<u4", lambda counts: counts.n_runs + 1),
    "run_column": ("<u4", lambda counts: counts.n_runs),
    "category_column": ("<u4", lambda counts: counts.n_categories),
    "category_codes": ("<u4", lambda counts: counts.n_categories),
    "set_at": ("<u4", lambda counts: counts.n_sets),
    "sets": ("u1", lambda counts: counts.set_bytes),
    "nodes": ("", lambda counts: counts.n_leaves - counts.n_trees),
    "leaves": ("<f8", lambda counts: counts.n_leaves),
}
"""Each part's type and length. The type of `nodes` is that of the form."""


def encode(counts: Counts, parts: Mapping[str, Array]) -> bytes:
    """The file of a forest; a part that is not given is zeros."""
    content = bytearray(_size(counts))
    content[: _COUNTS.size] = _COUNTS.pack(MAGIC, *astuple(counts))
    places = _places(counts)
    for name, values in parts.items():
        dtype, length, at = places[name]
        part = np.ascontiguousarray(values, dtype)
        if part.shape != (length,):
            raise ValueError(f"the part {name} has shape {part.shape}, not ({length},)")
        content[at : at + part.nbytes] = part.tobytes()
    return bytes(content)


def decode(content: Any) -> tuple[Counts, dict[str, Array]]:
    """Counts and parts of a file's bytes, as views of them.

    Raises
    ------
    ArtifactError
        It is no forest, or not of the size that its header states.
    """
    size = len(content)
    if size < HEADER_BYTES or content[: len(MAGIC)] != MAGIC:
        raise ArtifactError("the forest's file is no forest of this format")
    counts = Counts(*_COUNTS.unpack_from(content)[1:])
    if max(astuple(counts)) >= _MOST or counts.n_leaves < counts.n_trees or counts.wide > 1:
        raise ArtifactError("the forest's header states counts that no forest has")
    if _size(counts) != size:
        raise ArtifactError("the forest's file is not of the size that its header states")
    return counts, {
        name: np.frombuffer(content, dtype, length, at)
        for name, (dtype, length, at) in _places(counts).items()
    }


def _places(counts: Counts) -> dict[str, tuple[Any, int, int]]:
    """Type, length and first byte of each part."""
    places = {}
    at = HEADER_BYTES
    for name, (of_type, length_of) in PARTS.items():
        dtype = np.dtype(of_type) if of_type else (WIDE if counts.wide else NARROW)
        length = length_of(counts)
        places[name] = (dtype, length, at)
        # A byte more, since the kernel reads four for a narrow split.
        at += -(-(length * dtype.itemsize + 1) // _ALIGNMENT) * _ALIGNMENT
    return places


def _size(counts: Counts) -> int:
    dtype, length, at = _places(counts)["leaves"]
    return int(at + length * dtype.itemsize)
