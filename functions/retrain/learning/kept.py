"""Finished fits, kept until their run is done: one that is killed and begun anew makes each once.

A fit is known by all that decides it: function, arguments, data, and the code and libraries that
make it. What is kept is arrays and JSON, no pickle. What cannot be read is made again, and what
cannot be written costs a run nothing.
"""

import hashlib
import io
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

import leap_model
from functions.retrain.learning.digests import digest_of
from leap_model.errors import LeapError
from leap_model.network import Network, Shape
from leap_model.store import LocalStore, Store
from leap_model.stores import open_store
from leap_model.trees import Forest, open_forest

FOLDER: Final = "scratch"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder of a store that fits are kept in while a run is under way."""

    root: str
    prefix: str

    @classmethod
    def of(cls, store: Store, stage: str, target: str) -> "Scratch":
        """That of a stage and target."""
        return cls(str(store), f"{FOLDER}/{stage}/{target}")

    def keeping(self, data: Any) -> "Keeping":
        """Where the fits of some data are kept."""
        return Keeping(self.root, self.prefix, digest_of((made_by(), digest_of(data))))

    def clear(self, store: Store) -> None:
        """Remove what was kept. A bucket's lifecycle does so by itself."""
        if isinstance(store, LocalStore):
            store.expire(store.keys(self.prefix))


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where the fits of one training set are kept; it goes to other processes with their calls.

    `data` is the digest of the training set, and of the code and libraries that learn from it.
    """

    root: str
    prefix: str
    data: str

    def key(self, call: Sequence[Any]) -> str:
        """The object of a call: a function of a module, then its arguments."""
        function, *arguments = call
        name = f"{function.__module__}.{function.__qualname__}"
        return f"{self.prefix}/{digest_of((self.data, name, arguments))}.npz"

    def read(self, key: str) -> Any:
        """What is kept there; None where nothing is that can be read."""
        try:
            content = open_store(self.root).read(key)
            return None if content is None else decoded(content)
        except Exception as fault:  # whatever damaged bytes lead to
            _log.warning("%s is made again: %s", key, type(fault).__name__)
            return None

    def write(self, key: str, result: Any) -> str | None:
        """Keep a result; why it could not be, where it could not."""
        try:
            open_store(self.root).create(key, encoded(result))
        except Exception as fault:  # it must not cost the fit
            return str(fault) if isinstance(fault, LeapError) else type(fault).__name__
        return None


def kept(keeping: Keeping, key: str, function: Any, *arguments: Any) -> tuple[Any, str | None]:
    """The result of a call, once it is kept, or why it is not. Another process has no log."""
    result = function(*arguments)
    return result, keeping.write(key, result)


@cache
def made_by() -> str:
    """The digest of the code that learns, and the versions of what it learns with."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(leap_model.__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    for name in ("numpy", "scikit-learn"):
        digest.update(version(name).encode())
    return digest.hexdigest()


def encoded(result: Any) -> bytes:
    """A result as bytes: forests, networks, arrays, numbers, and tuples and records of them."""
    arrays: list[Any] = []
    told = _told(result, arrays)
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(told).encode(), np.uint8)
    np.savez(buffer, told=text, **{f"a{at}": array for at, array in enumerate(arrays)})
    return buffer.getvalue()


def decoded(content: bytes) -> Any:
    """The result that `encoded` made bytes of.

    Raises
    ------
    Exception
        They are damaged.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return _result(json.loads(file["told"].tobytes()), file)


def _told(result: Any, arrays: list[Any]) -> Any:
    if isinstance(result, float):
        return result
    if isinstance(result, tuple):
        return [_told(part, arrays) for part in result]
    if isinstance(result, Forest):
        arrays.append(np.frombuffer(result.to_bytes(), np.uint8))
        return {"forest": len(arrays) - 1}
    if isinstance(result, Network):
        arrays.append(result.to_array())
        return {"network": len(arrays) - 1, "shape": result.shape.to_json()}
    if isinstance(result, np.ndarray):
        arrays.append(result)
        return {"array": len(arrays) - 1}
    raise TypeError(f"{type(result).__name__} cannot be kept")


def _result(told: Any, file: Mapping[str, Any]) -> Any:
    if isinstance(told, float):
        return told
    if isinstance(told, list):
        return tuple(_result(part, file) for part in told)
    if "forest" in told:
        return open_forest(file[f"a{told['forest']}"].tobytes())
    if "network" in told:
        return Network.of_array(Shape.from_json(told["shape"]), file[f"a{told['network']}"])
    return file[f"a{told['array']}"]
