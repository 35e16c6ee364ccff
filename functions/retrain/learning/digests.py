"""Digests of what a fit is decided by: arrays, texts, numbers, and what is made of them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

_TIME_ONLY: Final = frozenset(("threads", "keeping"))
"""Fields that decide how long a fit takes, and not what comes of it."""


class Data:
    """What was digested once and whole: as a part of something else it is not digested again."""

    __slots__ = ()


def digest_of(value: Any) -> str:
    """The digest of a value, the same in every process.

    Raises
    ------
    TypeError
        Some part of it has none.
    """
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()


def _feed(digest: Any, value: Any) -> None:
    digest.update(f"{type(value).__name__}(".encode())
    if isinstance(value, np.ndarray):
        _feed_array(digest, value)
    elif isinstance(value, (str, int, float)) or value is None:
        digest.update(repr(value).encode())
    elif hasattr(value, "to_json"):
        digest.update(json.dumps(value.to_json(), sort_keys=True).encode())
    else:
        for part in _parts(value):
            _feed(digest, part)
    digest.update(b")")


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [part for name in sorted(value) for part in (name, value[name])]
    if isinstance(value, (frozenset, set)):
        return sorted(value)
    if isinstance(value, (tuple, list)):
        return [part for part in value if not isinstance(part, Data)]
    if is_dataclass(value) and not isinstance(value, type):
        named = [field.name for field in fields(value) if field.name not in _TIME_ONLY]
        parts = [(name, getattr(value, name)) for name in named]
        return [part for part in parts if not isinstance(part[1], Data)]
    raise TypeError(f"{type(value).__name__} has no digest")


def _feed_array(digest: Any, array: NDArray[Any]) -> None:
    # Memory in its own order: a matrix that lies by columns is not turned for it.
    turned = array.flags.f_contiguous and not array.flags.c_contiguous
    flat = np.ascontiguousarray(array.T if turned else array)
    digest.update(f"{array.dtype.str}{array.shape}{turned}".encode())
    digest.update(flat.reshape(-1).view(np.uint8).data)
