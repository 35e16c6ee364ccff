"""The past in files: the snapshot of families, and references to what resembles a job.

Beside the forests these are most of an artifact's bytes.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from leap_model.catalogue import Catalogue
from leap_model.columns import Jobs
from leap_model.errors import ArtifactError
from leap_model.forest_file import Array
from leap_model.history import Hashes, History, Snapshot
from leap_model.late import Late
from leap_model.references import Asked, Cells, Known, Recall, References, recall_of
from leap_model.sealed import SealedFolder
from leap_model.stored_array import of_npy, to_npy

_HISTORY: Mapping[str, np.dtype[Any]] = {
    "family": np.dtype("<u8"),
    "last": np.dtype("<f4"),
    "mean": np.dtype("<f4"),
    "std": np.dtype("<f4"),
    "runs": np.dtype("<u4"),
    "last_completed_at": np.dtype("<i8"),
}
_CELLS: Mapping[str, np.dtype[Any]] = {
    "key": np.dtype("<u8"),
    "hardware": np.dtype("<i4"),
    "size": np.dtype("<f4"),
    "rest": np.dtype("<f4"),
    "level": np.dtype("<f4"),
    "votes": np.dtype("<f4"),
    "last": np.dtype("<i8"),
}
_FAMILIES, _MODEL_TYPES = _BY = "families", "model_types"
REFERENCES: Final = "references.json"
"""How references are recalled, and the hardware types they are of."""


class StoredSnapshot(Late[Snapshot]):
    """A snapshot in files: looks families up as `Snapshot` does."""

    @property
    def family(self) -> Hashes:
        """(families,) ascending."""
        return self.opened().family

    @property
    def history(self) -> History:
        """Theirs."""
        return self.opened().history

    def lookup(self, family: Hashes) -> History:
        """The history of each family asked for; families not in the snapshot have none."""
        return self.opened().lookup(family)


class StoredReferences(Late[References]):
    """References in files: recall as `References` do."""

    @property
    def families(self) -> Cells:
        """Cells by family."""
        return self.opened().families

    @property
    def model_types(self) -> Cells:
        """Cells by model type."""
        return self.opened().model_types

    @property
    def hardware(self) -> tuple[str, ...]:
        """The types that cells are of."""
        return self.opened().hardware

    @property
    def recall(self) -> Recall:
        """How much of them counts."""
        return self.opened().recall

    def latest(self) -> int:
        """When the latest attempt in any cell completed, in microseconds; 0 without one."""
        return self.opened().latest()

    def known(self, jobs: Jobs, families: Hashes, catalogue: Catalogue) -> Known:
        """What is known of n jobs as of their launches."""
        return self.opened().known(jobs, families, catalogue)

    def recalled(self, asked: Asked) -> Known:
        """The same of jobs that were put in the references' terms before."""
        return self.opened().recalled(asked)


def snapshot_files(snapshot: Snapshot | StoredSnapshot) -> dict[str, bytes]:
    """A snapshot's arrays."""
    history = snapshot.history
    return {
        _history_file(name): to_npy(
            np.asarray(snapshot.family if name == "family" else getattr(history, name), dtype)
        )
        for name, dtype in _HISTORY.items()
    }


def reference_files(references: References | StoredReferences) -> dict[str, bytes]:
    """The arrays of references."""
    parts = {_FAMILIES: references.families, _MODEL_TYPES: references.model_types}
    return {
        _cells_file(by, name): to_npy(getattr(cells, name).astype(dtype))
        for by, cells in parts.items()
        for name, dtype in _CELLS.items()
    }


def references_document(references: References | StoredReferences) -> dict[str, Any]:
    """What `REFERENCES` says."""
    return {"hardware": list(references.hardware), "recall": references.recall.to_json()}


def stored_snapshot(sealed: SealedFolder) -> StoredSnapshot:
    """The snapshot of a folder.

    Raises
    ------
    ArtifactError
        The manifest lacks one of its files.
    """
    _listed(sealed, [_history_file(name) for name in _HISTORY])
    return StoredSnapshot(partial(_snapshot, sealed))


def stored_references(sealed: SealedFolder) -> StoredReferences:
    """The references of a folder.

    Raises
    ------
    ArtifactError
        The manifest lacks one of their files.
    """
    _listed(sealed, [_cells_file(by, name) for by in _BY for name in _CELLS])
    return StoredReferences(partial(_references, sealed))


def _listed(sealed: SealedFolder, names: list[str]) -> None:
    for name in names:
        if name not in sealed:
            raise ArtifactError(f"the artifact's manifest does not list {name}")


def _history_file(name: str) -> str:
    return f"history/{name}.npy"


def _cells_file(by: str, name: str) -> str:
    return f"references/{by}/{name}.npy"


def _snapshot(sealed: SealedFolder) -> Snapshot:
    arrays = {name: _array(sealed, _history_file(name)) for name in _HISTORY}
    for name, dtype in _HISTORY.items():
        if arrays[name].dtype != dtype or arrays[name].shape != (len(arrays["family"]),):
            raise ArtifactError(f"the snapshot's array {name} has the wrong type or shape")
    if np.any(arrays["family"][1:] <= arrays["family"][:-1]):
        raise ArtifactError("the snapshot's families must ascend")
    history = History(*(arrays[name] for name in _HISTORY if name != "family"))
    return Snapshot(arrays["family"], history)


def _references(sealed: SealedFolder) -> References:
    document = json.loads(sealed.read(REFERENCES))
    hardware = tuple(str(name) for name in document["hardware"])
    families, model_types = (_cells(sealed, by, len(hardware)) for by in _BY)
    return References(families, model_types, hardware, recall_of(document["recall"]))


def _cells(sealed: SealedFolder, by: str, types: int) -> Cells:
    cells = Cells(**{name: _array(sealed, _cells_file(by, name)) for name in _CELLS})
    rows = len(cells.key)
    for name, dtype in _CELLS.items():
        array = getattr(cells, name)
        if array.dtype != dtype or array.shape != ((rows, 2) if name == "size" else (rows,)):
            raise ArtifactError(f"the references' array {by}/{name} has the wrong type or shape")
    if np.any(cells.key[1:] < cells.key[:-1]):
        raise ArtifactError(f"the references' {by} must ascend")
    finite = np.isfinite(cells.rest) & np.isfinite(cells.level) & np.isfinite(cells.votes)
    known = (cells.hardware >= 0) & (cells.hardware < types)
    if not np.all(known & finite & (cells.votes > 0)):
        raise ArtifactError(f"the references' {by} have a cell that means nothing")
    return cells


def _array(sealed: SealedFolder, name: str) -> Array:
    return of_npy(sealed.mapped(name))
