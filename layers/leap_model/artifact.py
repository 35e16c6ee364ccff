"""What a model version is: arrays and JSON under a manifest (contract section 3).

    manifest.json                 written last; format version, SHA-256 and size of every file
    model.json, schema.json, catalogue.json, training.json
    forests/NAME.forest           one file a forest (forest_file.py)
    networks/NAME.npy             the parameters of a network, end to end
    history/ARRAY.npy             the snapshot
    references/KEY/ARRAY.npy      what resembles a job, by family and by model type, and
    references.json               how it is recalled; both where the model does
    intervals.json                how far off predictions may be, where that was measured

No file can run code when it is read. A version is named by its content, so two different models
never share a name, and the same data, seed and versions give the same one.
"""

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from leap_model import family
from leap_model.catalogue import Catalogue, parse_catalogue
from leap_model.columns import Jobs
from leap_model.errors import ArtifactError, LeapError, StoreError
from leap_model.features import Schema
from leap_model.forest_file import Array
from leap_model.history import Hashes, History, Snapshot
from leap_model.intervals import Intervals
from leap_model.model import Model
from leap_model.network import Network, Shape
from leap_model.references import COLUMNS, Cells, Known, References, recall_of
from leap_model.sealed import MANIFEST, SealedFolder
from leap_model.store import Store, checked_key
from leap_model.stored_forest import StoredForest
from leap_model.targets import TARGETS, Target

FORMAT_VERSION = 4
_LONGEST_HEADER = 4_096
_DIGITS = 12
"""Of the manifest's digest, in a version's name."""
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
_CELLS_BY = ("families", "model_types")


@dataclass(frozen=True, slots=True)
class Artifact:
    """Everything that a ranking needs besides the request.

    `training` says where the model comes from: target, as_of, window, estimator, seed, rows,
    `hardware_rows` (training rows of each type), library versions.
    """

    model: Model
    schema: Schema
    catalogue: Catalogue
    snapshot: Snapshot
    training: Mapping[str, Any]
    references: References | None = None
    intervals: Intervals | None = None

    @property
    def target(self) -> Target:
        """What the model predicts."""
        return TARGETS[self.training["target"]]

    def known(self, jobs: Jobs, families: Hashes) -> Known | None:
        """What resembles n jobs, where the model asks."""
        if self.references is None:
            return None
        return self.references.known(jobs, families, self.catalogue)

    def hardware_rows(self, hardware_type: str) -> int:
        """Training rows of a type."""
        return int(self.training["hardware_rows"].get(hardware_type, 0))


@dataclass(frozen=True, slots=True)
class Packed:
    """An artifact as bytes: the files, the manifest that seals them, and the name they earn."""

    files: Mapping[str, bytes]
    manifest: bytes
    version: str

    @property
    def manifest_sha256(self) -> str:
        """What a pointer quotes."""
        return hashlib.sha256(self.manifest).hexdigest()


def pack(artifact: Artifact) -> Packed:
    """Turn an artifact into files; equal artifacts give equal bytes."""
    documents = {
        "model.json": {
            "n_features": artifact.model.n_features,
            "steps": list(artifact.model.steps),
            "forests": {
                name: {"n_inputs": forest.n_inputs, "n_outputs": forest.n_outputs}
                for name, forest in artifact.model.forests.items()
            },
            "networks": {
                name: network.shape.to_json() for name, network in artifact.model.networks.items()
            },
        },
        "schema.json": artifact.schema.to_json(),
        "catalogue.json": artifact.catalogue.to_json(),
        "training.json": {**artifact.training, "family_rules_version": family.RULES_VERSION},
    }
    files = {name: _json(document) for name, document in documents.items()}
    for forest_name, forest in artifact.model.forests.items():
        files[checked_key(_forest_file(forest_name))] = forest.to_bytes()
    for network_name, network in artifact.model.networks.items():
        files[checked_key(_network_file(network_name))] = _npy(network.to_array())
    files.update(_reference_files(artifact.references))
    if artifact.intervals is not None:
        files["intervals.json"] = _json(artifact.intervals.to_json())
    for name, dtype in _HISTORY.items():
        holder = artifact.snapshot if name == "family" else artifact.snapshot.history
        files[f"history/{name}.npy"] = _npy(np.asarray(getattr(holder, name), dtype))
    manifest = _json(
        {
            "format_version": FORMAT_VERSION,
            "files": {
                name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
                for name, content in sorted(files.items())
            },
        }
    )
    digest = hashlib.sha256(manifest).hexdigest()
    return Packed(files, manifest, f"{artifact.training['as_of']}-{digest[:_DIGITS]}")


def _reference_files(references: References | None) -> Mapping[str, bytes]:
    if references is None:
        return {}
    document = {"hardware": list(references.hardware), "recall": references.recall.to_json()}
    files = {"references.json": _json(document)}
    for by in _CELLS_BY:
        for name, dtype in _CELLS.items():
            array: Array = getattr(getattr(references, by), name)
            files[f"references/{by}/{name}.npy"] = _npy(array.astype(dtype))
    return files


def earned_by(manifest_sha256: str, version: str) -> bool:
    """Whether a version's name is one that a manifest of this digest earns."""
    return version.endswith(f"-{manifest_sha256[:_DIGITS]}")


def publish(store: Store, prefix: str, packed: Packed) -> None:
    """Write a version, manifest last, after reading every file's size back.

    Publishing the same version again writes nothing.

    Raises
    ------
    StoreError
        Something else lies under the version's name.
    """
    for name, content in packed.files.items():
        _create(store, f"{prefix}/{name}", content)
    for name, content in packed.files.items():
        if store.size(f"{prefix}/{name}") != len(content):
            raise StoreError(f"{prefix}/{name} was not written whole")
    _create(store, f"{prefix}/{MANIFEST}", packed.manifest)


def _create(store: Store, key: str, content: bytes) -> None:
    if not store.create(key, content) and store.read(key) != content:
        raise StoreError(f"{key} is there already with other content; a version never changes")


def listed_files(manifest: bytes) -> list[str]:
    """The files that a manifest lists.

    Raises
    ------
    ArtifactError
        It is no manifest, or a name is none of a file below it.
    """
    try:
        return [checked_key(name) for name in json.loads(manifest)["files"]]
    except (ValueError, TypeError, KeyError, StoreError, RecursionError) as fault:
        raise ArtifactError(f"the artifact's manifest is malformed: {fault!r}") from None


def load(folder: Path, manifest_sha256: str | None = None, *, remember: bool = True) -> Artifact:
    """Open a version, once every file is known to be what was written.

    The forests of a folder that was found whole before are digested and checked when they are first
    used (sealed.py).

    Parameters
    ----------
    folder : Path
        Where the version's files lie. Forests are mapped, not read into memory.
    manifest_sha256 : str, optional
        What the pointer says of the manifest.
    remember : bool
        Whether the folder may be given a hidden note that it was found whole.

    Raises
    ------
    ArtifactError
        The first thing that is wrong, in one sentence.
    """
    try:
        sealed = SealedFolder(folder, manifest_sha256)
        _check_format(sealed.manifest)
        whole = sealed.was_whole()
        if not whole:
            sealed.check_all()
        artifact = _open(sealed, at_once=not whole)
        if remember and not whole:
            sealed.note_whole()
        return artifact
    except ArtifactError:
        raise
    except LeapError as fault:
        raise ArtifactError(str(fault)) from None
    except Exception as fault:  # whatever a reader makes of broken bytes
        raise ArtifactError(f"the artifact is malformed: {fault!r}") from None


def _check_format(manifest: Mapping[str, Any]) -> None:
    if manifest.get("format_version") != FORMAT_VERSION:
        raise ArtifactError(
            f"the artifact is of format {manifest.get('format_version')}; "
            f"this library reads format {FORMAT_VERSION}"
        )


def _open(sealed: SealedFolder, at_once: bool) -> Artifact:
    def document(name: str) -> Any:
        return json.loads(sealed.read(name))

    training = document("training.json")
    if training["target"] not in TARGETS:
        raise ArtifactError(f"the artifact predicts {training['target']}, which nothing here reads")
    for rows in training["hardware_rows"].values():
        int(rows)  # what a ranking will count on must be a number now
    if training["family_rules_version"] != family.RULES_VERSION:
        raise ArtifactError(
            f"the artifact's families follow rules {training['family_rules_version']}; "
            f"this library follows rules {family.RULES_VERSION}"
        )
    described = document("model.json")
    forests = {
        name: _stored_forest(sealed, name, entry) for name, entry in described["forests"].items()
    }
    if at_once:
        for forest in forests.values():
            forest.opened()
    networks = {
        name: Network.of_array(Shape.from_json(shape), _array(sealed, _network_file(name)))
        for name, shape in described["networks"].items()
    }
    model = Model(int(described["n_features"]), described["steps"], forests, networks).checked()
    schema = Schema.from_json(document("schema.json"))
    if len(schema.columns) != model.n_features:
        raise ArtifactError("the artifact's schema and model differ in their number of columns")
    snapshot = _snapshot({name: _array(sealed, f"history/{name}.npy") for name in _HISTORY})
    references = _references(sealed) if "references.json" in sealed else None
    if references is None and not set(COLUMNS).isdisjoint(schema.names):
        raise ArtifactError("the artifact's manifest does not list references.json")
    catalogue = parse_catalogue(document("catalogue.json"))
    intervals = None
    if "intervals.json" in sealed:
        intervals = Intervals.from_json(document("intervals.json"))
    return Artifact(model, schema, catalogue, snapshot, training, references, intervals)


def _forest_file(name: str) -> str:
    return f"forests/{name}.forest"


def _network_file(name: str) -> str:
    return f"networks/{name}.npy"


def _stored_forest(sealed: SealedFolder, name: str, entry: Mapping[str, Any]) -> StoredForest:
    file = _forest_file(name)
    if file not in sealed:
        raise ArtifactError(f"the artifact's manifest does not list {file}")
    return StoredForest(
        int(entry["n_inputs"]), int(entry["n_outputs"]), partial(sealed.mapped, file)
    )


def _array(sealed: SealedFolder, name: str) -> Array:
    """An array of a file, as a view of what was digested."""
    content = sealed.mapped(name)
    file = io.BytesIO(content[:_LONGEST_HEADER])
    version = np.lib.format.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array of format {version}")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or (is_fortran and len(shape) > 1):
        raise ValueError("an array of objects, or column after column")
    count = int(np.prod(shape))
    return np.frombuffer(content, dtype, count, file.tell()).reshape(shape)


def _snapshot(arrays: Mapping[str, Array]) -> Snapshot:
    for name, dtype in _HISTORY.items():
        if arrays[name].dtype != dtype or arrays[name].shape != (len(arrays["family"]),):
            raise ArtifactError(f"the snapshot's array {name} has the wrong type or shape")
    if np.any(arrays["family"][1:] <= arrays["family"][:-1]):
        raise ArtifactError("the snapshot's families must ascend")
    history = History(*(arrays[name] for name in _HISTORY if name != "family"))
    return Snapshot(arrays["family"], history)


def _references(sealed: SealedFolder) -> References:
    document = json.loads(sealed.read("references.json"))
    hardware = tuple(str(name) for name in document["hardware"])
    families, model_types = (_cells(sealed, by, len(hardware)) for by in _CELLS_BY)
    return References(families, model_types, hardware, recall_of(document["recall"]))


def _cells(sealed: SealedFolder, by: str, types: int) -> Cells:
    cells = Cells(**{name: _array(sealed, f"references/{by}/{name}.npy") for name in _CELLS})
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


def _json(document: Any) -> bytes:
    # There and back first: a document that is not plain JSON must fail here, not at load.
    plain = json.loads(json.dumps(document))
    return (json.dumps(plain, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array), allow_pickle=False)
    return buffer.getvalue()
