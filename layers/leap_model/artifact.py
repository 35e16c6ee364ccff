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
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from leap_model import family, limits
from leap_model.catalogue import Catalogue, parse_catalogue
from leap_model.columns import Jobs
from leap_model.errors import ArtifactError, LeapError, StoreError
from leap_model.features import Schema
from leap_model.history import Hashes, Snapshot
from leap_model.intervals import Intervals
from leap_model.model import Model
from leap_model.network import Network, Shape
from leap_model.references import COLUMNS, Known, References
from leap_model.sealed import MANIFEST, SealedFolder
from leap_model.store import Store, checked_key
from leap_model.stored_array import of_npy, to_npy
from leap_model.stored_forest import StoredForest
from leap_model.stored_past import (
    REFERENCES,
    StoredReferences,
    StoredSnapshot,
    reference_files,
    references_document,
    snapshot_files,
    stored_references,
    stored_snapshot,
)
from leap_model.targets import TARGETS, Target

FORMAT_VERSION = 4
_DIGITS = 12
"""Of the manifest's digest, in a version's name."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """Everything that a ranking needs besides the request.

    `training` says where the model comes from: target, as_of, window, estimator, seed, rows,
    `hardware_rows` (training rows of each type), library versions.
    """

    model: Model
    schema: Schema
    catalogue: Catalogue
    snapshot: Snapshot | StoredSnapshot
    training: Mapping[str, Any]
    references: References | StoredReferences | None = None
    intervals: Intervals | None = None
    trained: frozenset[str] = field(init=False, repr=False, compare=False)
    """The types on which enough attempts trained the model."""

    def __post_init__(self) -> None:
        # Once an artifact, not once a request.
        least = int(self.training.get("min_hardware_rows", limits.MIN_HARDWARE_ROWS))
        rows = self.training["hardware_rows"]
        trained = frozenset(name for name, count in rows.items() if int(count) >= least)
        object.__setattr__(self, "trained", trained)

    @property
    def target(self) -> Target:
        """What the model predicts."""
        return TARGETS[self.training["target"]]

    def known(self, jobs: Jobs, families: Hashes) -> Known | None:
        """What resembles n jobs, where the model asks."""
        if self.references is None:
            return None
        return self.references.known(jobs, families, self.catalogue)


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
        files[checked_key(_network_file(network_name))] = to_npy(network.to_array())
    if artifact.references is not None:
        files[REFERENCES] = _json(references_document(artifact.references))
        files |= reference_files(artifact.references)
    if artifact.intervals is not None:
        files["intervals.json"] = _json(artifact.intervals.to_json())
    files |= snapshot_files(artifact.snapshot)
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

    Forests, snapshot and references of a folder that was found whole before are digested and
    checked when they are first used (sealed.py).

    Parameters
    ----------
    folder : Path
        Where the version's files lie. Forests and arrays are mapped, not read into memory.
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
    _check_training(training)
    described = document("model.json")
    forests = {
        name: _stored_forest(sealed, name, entry) for name, entry in described["forests"].items()
    }
    if at_once:
        for forest in forests.values():
            forest.opened()
    networks = {
        name: Network.of_array(Shape.from_json(shape), of_npy(sealed.mapped(_network_file(name))))
        for name, shape in described["networks"].items()
    }
    model = Model(int(described["n_features"]), described["steps"], forests, networks).checked()
    schema = Schema.from_json(document("schema.json"))
    if len(schema.columns) != model.n_features:
        raise ArtifactError("the artifact's schema and model differ in their number of columns")
    snapshot = stored_snapshot(sealed)
    references = stored_references(sealed) if REFERENCES in sealed else None
    if references is None and not set(COLUMNS).isdisjoint(schema.names):
        raise ArtifactError(f"the artifact's manifest does not list {REFERENCES}")
    if at_once:
        snapshot.opened()
        if references is not None:
            references.opened()
    catalogue = parse_catalogue(document("catalogue.json"))
    intervals = None
    if "intervals.json" in sealed:
        intervals = Intervals.from_json(document("intervals.json"))
    return Artifact(model, schema, catalogue, snapshot, training, references, intervals)


def _check_training(training: Mapping[str, Any]) -> None:
    if training["target"] not in TARGETS:
        raise ArtifactError(f"the artifact predicts {training['target']}, which nothing here reads")
    if training["family_rules_version"] != family.RULES_VERSION:
        raise ArtifactError(
            f"the artifact's families follow rules {training['family_rules_version']}; "
            f"this library follows rules {family.RULES_VERSION}"
        )


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


def _json(document: Any) -> bytes:
    # There and back first: a document that is not plain JSON must fail here, not at load.
    plain = json.loads(json.dumps(document))
    return (json.dumps(plain, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()
