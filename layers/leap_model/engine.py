"""The compiled kernel, where one fits this machine and this code; numpy serves where none does.

`kernel/` is its source and says how it scores. `python -m infra.kernel` compiles it and a bundle
carries it; nothing compiles it here, so that no launch waits for a compiler. `LEAP_ENGINE=numpy`
leaves it out.
"""

import ctypes
import functools
import hashlib
import logging
import os
import threading
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

import numpy as np

from leap_model.columns import Floats
from leap_model.forest_file import Array, Counts

_log = logging.getLogger(__name__)

SOURCE: Final = Path(__file__).with_name("kernel")
"""The folder of its source."""
FOLDER: Final = Path(__file__).with_name("native")
"""Where compiled kernels lie, one a system and processor."""


_COUNTS: Final = (
    *("n_inputs", "n_outputs", "n_trees", "n_edges", "n_runs", "n_categories", "set_bytes", "wide"),
)
_PARTS: Final = (
    *("baseline", "first_leaf", "first_set", "output", "edges", "first_edge", "run_column"),
    *("category_column", "category_codes", "set_at", "sets", "nodes", "leaves"),
)
_BY_QUESTION: Final = ("first_asked", "asked_tree", "asked_keeps", "first_side", "sides")
_LANES: Final = (32, 64)
"""Bits of a lane, of which each row has one for each tree, and each leaf of a tree is one."""
_MOST_TREES: Final = 4096
"""Of a forest that is scored by question."""


class _Forest(ctypes.Structure):
    """`Forest` of forest.h: the counts, where each part lies, and its splits by question."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in _COUNTS),
        *((name, ctypes.c_void_p) for name in _PARTS),
        ("lane_bits", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in _BY_QUESTION),
    ]


class Prepared:
    """A forest as the kernel reads it: where its parts lie. It keeps them alive."""

    def __init__(self, kernel: Any, counts: Counts, parts: dict[str, Array]) -> None:
        self._kernel = kernel
        self._score = kernel.leap_score
        self._parts = parts
        self._counts = counts
        self._by_question: dict[str, Array] = {}
        self._n_outputs = counts.n_outputs
        self._forest = _Forest(
            **{name: getattr(counts, name) for name in _COUNTS},
            **{name: parts[name].ctypes.data for name in _PARTS},
        )
        self._address = ctypes.addressof(self._forest)
        self._scratch_bytes = int(kernel.leap_scratch_bytes(self._address))

    def score(self, matrix: Floats) -> Floats:
        """(n, outputs) scores of an (n, n_inputs) matrix of float64, row after row in memory."""
        rows = len(matrix)
        scores = np.empty((rows, self._n_outputs))
        self.score_at(address_of(matrix), rows, address_of(scores))
        return scores

    def score_at(self, matrix: int, rows: int, scores: int) -> None:
        """The same of so many rows at an address, written to another."""
        self._score(self._address, matrix, rows, scores, _memory.of(self._scratch_bytes))

    def splits_are_sound(self, largest_tree: int) -> bool:
        """Whether every split lies inside its tree and asks a question that there is."""
        pending = np.empty(max(largest_tree, 1), np.uint32)
        return bool(self._kernel.leap_splits_are_sound(self._address, pending.ctypes.data))

    def sort_splits(self, largest_tree: int) -> None:
        """Put the splits, which are sound, in the order of their questions, where trees are small.

        Candidates of a job are then scored in less time, to the same bits; see `quickscorer.h`.
        """
        counts = self._counts
        lane_bits = next((bits for bits in _LANES if largest_tree <= bits), 0)
        if not lane_bits or counts.n_trees > _MOST_TREES:
            return
        splits = counts.n_leaves - counts.n_trees
        questions = counts.n_edges + counts.n_categories
        set_at = np.empty(splits, np.uint32)
        first_asked = np.empty(questions + 1, np.uint32)
        self._keep("first_asked", first_asked)
        self._keep("asked_tree", np.empty(splits, np.uint16))
        self._keep("asked_keeps", np.empty(splits, np.uint64))
        places, pending = np.empty(questions + 2, np.uint32), np.empty(2 * lane_bits, np.uint32)
        scratch = (places.ctypes.data, pending.ctypes.data)
        self._kernel.leap_sort(self._address, set_at.ctypes.data, *scratch)
        # For each code, and for none, a bit a split of the category, in whole words.
        words = (np.diff(first_asked[counts.n_edges :]) + 31) // 32
        sizes = words * (self._parts["category_codes"] + 1)
        self._keep("first_side", np.cumsum([0, *sizes]).astype(np.uint32))
        self._keep("sides", np.empty(sizes.sum(), np.uint32))
        self._kernel.leap_write_sides(self._address, set_at.ctypes.data)
        self._forest.lane_bits = lane_bits
        self._scratch_bytes = int(self._kernel.leap_scratch_bytes(self._address))

    def _keep(self, name: str, array: Array) -> None:
        """Tell the kernel where one of its own arrays lies."""
        self._by_question[name] = array
        setattr(self._forest, name, array.ctypes.data)


class Block(NamedTuple):
    """(n, inputs) rows of float64, row after row in memory, (n, outputs) scores that are written,
    and where both lie: forests that share the rows out need not be told again and again."""

    rows: Floats
    scores: Floats
    rows_at: int
    scores_at: int

    @classmethod
    def of(cls, rows: Floats, outputs: int) -> Self:
        """The block of rows whose scores are to be written."""
        scores = np.empty((len(rows), outputs))
        return cls(rows, scores, address_of(rows), address_of(scores))


class _Memory(threading.local):
    """What the kernel works in, kept from call to call, apart for each thread."""

    def __init__(self) -> None:
        self._held = np.empty(0, np.uint64)
        self._bytes = self._address = 0

    def of(self, size: int) -> int:
        """The address of at least so many bytes."""
        if self._bytes < size:
            self._held = np.empty(-(-size // 8), np.uint64)
            self._bytes, self._address = size, self._held.ctypes.data
        return self._address


_memory = _Memory()


def address_of(array: Any) -> int:
    """Where an array's numbers lie: the quick way, and numpy's for what cannot be written to."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):
        return int(array.ctypes.data)


def name() -> str:
    """`native` where the compiled kernel scores forests, `numpy` where numpy does."""
    return "numpy" if _kernel() is None else "native"


def prepared(counts: Counts, parts: dict[str, Array]) -> Prepared | None:
    """A forest for the kernel; None where numpy serves. Its small tables were checked."""
    kernel = _kernel()
    return None if kernel is None else Prepared(kernel, counts, parts)


def stamp(source: Path) -> int:
    """What a kernel that was compiled from a folder's files says of itself: by their digest."""
    digest = hashlib.sha256()
    for path in sorted(source.glob("*.[ch]")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return int.from_bytes(digest.digest()[:8], "little")


def library_name(system: str, processor: str) -> str:
    """The file of the kernel for a system and processor, as `os.uname` names them."""
    return f"kernel-{system.lower()}-{processor}.so"


@functools.cache
def _kernel() -> Any:
    """The kernel's functions, or None."""
    if os.environ.get("LEAP_ENGINE", "") == "numpy":
        _log.debug("numpy scores forests: LEAP_ENGINE says so")
        return None
    system = os.uname()
    return opened(FOLDER / library_name(system.sysname, system.machine), SOURCE)


def opened(library: Path, source: Path) -> Any:
    """The functions of a library that was compiled from a source; None, and a line in the log,
    where it is not there, does not load, or was compiled from another source."""
    try:
        kernel = ctypes.CDLL(str(library))
        kernel.leap_stamp.restype = ctypes.c_uint64
        kernel.leap_forest_bytes.restype = ctypes.c_uint64
        if kernel.leap_stamp() != stamp(source):
            raise ValueError("it was compiled from another source")
        if kernel.leap_forest_bytes() != ctypes.sizeof(_Forest):
            raise ValueError("it lays a forest out in another way")
        pointer, number = ctypes.c_void_p, ctypes.c_uint64
        kernel.leap_scratch_bytes.argtypes, kernel.leap_scratch_bytes.restype = [pointer], number
        kernel.leap_score.argtypes = [pointer, pointer, number, pointer, pointer]
        kernel.leap_score.restype = None
        kernel.leap_splits_are_sound.argtypes = [pointer, pointer]
        kernel.leap_splits_are_sound.restype = number
        kernel.leap_sort.argtypes, kernel.leap_sort.restype = [pointer] * 4, None
        kernel.leap_write_sides.argtypes = [pointer, pointer]
        kernel.leap_write_sides.restype = None
    except (OSError, AttributeError, ValueError) as fault:
        _log.debug("numpy scores forests, as %s cannot be used: %s", library.name, fault)
        return None
    return kernel
