"""Artifacts: what goes in comes out, the same content has one name, and nothing altered loads."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leap_model import family
from leap_model.artifact import FORMAT_VERSION, Artifact, Packed, load, pack, publish
from leap_model.errors import ArtifactError, StoreError
from leap_model.features.raw import FEATURES_VERSION
from leap_model.forest_file import encode
from leap_model.history import Outcomes, Snapshot, history_as_of, snapshot_as_of
from leap_model.limits import DAY_US
from leap_model.sealed import MANIFEST
from leap_model.store import LocalStore
from leap_model.trees import open_forest
from tests.unit.leap_model.altering import change, npy, refusal, sealed, write
from tests.unit.leap_model.builders import forest, tiny_artifact

PREFIX = "models/throughput/v"
PACKED = pack(tiny_artifact())


def folder_of(store: LocalStore, packed: Packed = PACKED) -> Path:
    publish(store, PREFIX, packed)
    return store.folder(PREFIX)


def assert_same(one: Artifact, other: Artifact) -> None:
    assert one.schema == other.schema
    assert one.catalogue.types == other.catalogue.types
    assert one.model.steps == other.model.steps
    assert one.snapshot.family.tobytes() == other.snapshot.family.tobytes()
    for name in ("last", "mean", "std", "runs", "last_completed_at"):
        mine, theirs = getattr(one.snapshot.history, name), getattr(other.snapshot.history, name)
        assert mine.tolist() == theirs.tolist()
    for name, mine in one.model.forests.items():
        assert mine.to_bytes() == other.model.forests[name].to_bytes()


def test_an_artifact_survives_being_published_and_loaded(store: LocalStore) -> None:
    original = tiny_artifact(rows=110, window={"from": "2026-01-01"})
    packed = pack(original)
    loaded = load(folder_of(store, packed), packed.manifest_sha256)
    assert_same(original, loaded)
    assert loaded.training.items() >= original.training.items()
    assert loaded.training["hardware_rows"]["fast-8"] == 60
    matrix = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, np.nan]])
    predicted = original.model.predict(matrix).tolist()
    assert loaded.model.predict(matrix).tolist() == predicted == [7.5, 9.5, 8.5]


def test_a_published_history_is_the_one_that_training_saw_bit_for_bit(store: LocalStore) -> None:
    draw = np.random.default_rng(1)
    families = draw.integers(0, 2**64, 400, np.uint64)[draw.integers(0, 400, 3_000)]
    outcomes = Outcomes(families, draw.integers(0, DAY_US, 3_000), draw.normal(5, 4, 3_000))
    snapshot = snapshot_as_of(outcomes, DAY_US)
    packed = pack(replace(tiny_artifact(), snapshot=snapshot))
    loaded = load(folder_of(store, packed), packed.manifest_sha256)
    asked = np.append(np.unique(families), np.uint64(1))
    seen = history_as_of(outcomes, asked, np.full(len(asked), DAY_US))
    found = loaded.snapshot.lookup(asked)
    for name in ("last", "mean", "std", "runs", "last_completed_at"):
        assert getattr(found, name).dtype == getattr(seen, name).dtype
        assert getattr(found, name).tobytes() == getattr(seen, name).tobytes()


def test_a_loaded_artifact_packs_to_the_same_bytes(store: LocalStore) -> None:
    assert pack(load(folder_of(store))).manifest == PACKED.manifest


def test_the_same_content_has_the_same_name_and_other_content_another() -> None:
    again = pack(tiny_artifact())
    assert (again.version, again.manifest_sha256) == (PACKED.version, PACKED.manifest_sha256)
    assert again.files == PACKED.files
    assert PACKED.version.startswith("2026-01-13-")
    others = [
        tiny_artifact(shift=1e-9),
        tiny_artifact(rows=1),
        tiny_artifact(as_of="2026-01-14"),
    ]
    assert len({PACKED.version, *(pack(other).version for other in others)}) == 4


def test_the_manifest_lists_every_file_with_its_digest() -> None:
    manifest = json.loads(PACKED.manifest)
    assert manifest["format_version"] == FORMAT_VERSION
    assert manifest["files"] == {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in PACKED.files.items()
    }
    assert {name.split("/")[0] for name in PACKED.files} == {
        *("model.json", "schema.json", "catalogue.json", "training.json", "forests", "history"),
    }


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", np.float64(1)])
def test_what_is_no_json_is_refused_when_packed(value: Any) -> None:
    if isinstance(value, float):  # numpy's 64-bit float is one
        pack(tiny_artifact(rows=value))
        return
    with pytest.raises(TypeError):
        pack(tiny_artifact(rows=value))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_that_json_has_not_are_refused_when_packed(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack(tiny_artifact(rows=value))


def test_publishing_twice_writes_nothing(store: LocalStore) -> None:
    folder = folder_of(store)
    before = {path: path.stat().st_ino for path in folder.rglob("*.*")}
    publish(store, PREFIX, pack(tiny_artifact()))
    assert {path: path.stat().st_ino for path in folder.rglob("*.*")} == before


def test_other_content_under_the_same_name_is_refused(store: LocalStore) -> None:
    folder = folder_of(store)
    with pytest.raises(StoreError, match="a version never changes"):
        publish(store, PREFIX, pack(tiny_artifact(shift=1.0)))
    assert_same(load(folder, PACKED.manifest_sha256), tiny_artifact())


class Failing(LocalStore):
    """A store that breaks down at its nth new object."""

    def __init__(self, root: Path, fails_at: int) -> None:
        super().__init__(root)
        self.left = fails_at
        self.created: list[str] = []

    def create(self, key: str, content: bytes) -> bool:
        if self.left == 0:
            raise OSError("the disk is full")
        self.left -= 1
        self.created.append(key)
        return super().create(key, content)


@pytest.mark.parametrize("fails_at", range(len(PACKED.files) + 1))
def test_a_publication_that_breaks_off_is_never_loaded_and_can_be_completed(
    tmp_path: Path, fails_at: int
) -> None:
    with pytest.raises(OSError, match="disk is full"):
        publish(Failing(tmp_path, fails_at), PREFIX, PACKED)
    store = LocalStore(tmp_path)
    assert "no manifest" in refusal(store.folder(PREFIX), PACKED.manifest_sha256)
    assert_same(load(folder_of(store), PACKED.manifest_sha256), tiny_artifact())


def test_the_manifest_is_written_last(tmp_path: Path) -> None:
    store = Failing(tmp_path, fails_at=99)
    publish(store, PREFIX, PACKED)
    assert store.created[-1] == f"{PREFIX}/{MANIFEST}"
    assert len(store.created) == len(PACKED.files) + 1


def test_a_file_that_was_not_written_whole_leaves_no_manifest(tmp_path: Path) -> None:
    class Short(LocalStore):
        def create(self, key: str, content: bytes) -> bool:
            return super().create(key, content[:-1])

    with pytest.raises(StoreError, match="was not written whole"):
        publish(Short(tmp_path), PREFIX, PACKED)
    refusal(tmp_path / PREFIX)


@pytest.mark.parametrize("name", [*PACKED.files, MANIFEST])
def test_a_file_altered_in_any_byte_cut_or_missing_is_refused(store: LocalStore, name: str) -> None:
    path = folder_of(store) / name
    content = path.read_bytes()
    size = len(content)
    for at in {0, 1, size // 3, size // 2, 2 * size // 3, size - 2, size - 1}:
        flipped = bytearray(content)
        flipped[at] ^= 1 << at % 8
        path.write_bytes(flipped)
        refusal(store.folder(PREFIX), PACKED.manifest_sha256)
    for changed in (content[:-1], content[: size // 2], b"", content + b"\0"):
        path.write_bytes(changed)
        refusal(store.folder(PREFIX), PACKED.manifest_sha256)
    path.unlink()
    refusal(store.folder(PREFIX), PACKED.manifest_sha256)
    path.mkdir()
    refusal(store.folder(PREFIX), PACKED.manifest_sha256)
    path.rmdir()
    path.write_bytes(content)
    load(store.folder(PREFIX), PACKED.manifest_sha256)


def test_another_whole_artifact_than_the_pointer_names_is_refused(store: LocalStore) -> None:
    folder = folder_of(store, pack(tiny_artifact(shift=1.0)))
    load(folder)
    assert "not the one that the pointer names" in refusal(folder, PACKED.manifest_sha256)


@pytest.mark.parametrize("folder", ["nowhere", "models"])
def test_a_folder_without_an_artifact_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "models").mkdir()
    assert "never completed" in refusal(tmp_path / folder)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"null", b"[]", b"5", b"{}", b"[" * 100_000),
        *(b'{"format_version": 3}', b'{"format_version": 3, "files": []}'),
        b'{"format_version": 3, "files": {}}',
        b'{"format_version": 3, "files": {"../x": {}}}',
        b'{"format_version": 3, "files": {"/etc/passwd": {"sha256": ""}}}',
        b'{"format_version": 3, "files": {"model.json": {}}}',
        b'{"format_version": 3, "files": {"model.json": 5}}',
    ],
    ids=range(15),
)
def test_a_malformed_manifest_is_refused(store: LocalStore, content: bytes) -> None:
    folder = folder_of(store)
    (folder / MANIFEST).write_bytes(content)
    refusal(folder)


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 0, None, "1", [1]])
def test_another_format_is_refused(store: LocalStore, version: Any) -> None:
    folder = folder_of(store)
    assert "format" in refusal(folder, sealed(folder, format_version=version))


def history(change_of: Callable[[Any], Any]) -> Callable[[Path], None]:
    """Every array of the snapshot passed through a function."""

    def changed(folder: Path) -> None:
        for path in (folder / "history").iterdir():
            path.write_bytes(npy(change_of(np.load(path))))

    return changed


WIDE = {"regressor": {"n_inputs": 3, "n_outputs": 1}}
COLUMN = {"name": "a", "kind": "number", "imputed": None}
FOREST = "forests/regressor.forest"


def forest_part(
    name: str, at: int, value: float, field: str | None = None
) -> Callable[[Path], None]:
    """Put a value into a part of the forest, its counts left as they are."""

    def changed(folder: Path) -> None:
        forest = open_forest((folder / FOREST).read_bytes())
        parts = forest.parts()
        values = parts[name] = parts[name].copy()
        (values[field] if field else values)[at] = value
        (folder / FOREST).write_bytes(encode(forest.counts, parts))

    return changed


# Changes that keep every digest right, and what is said of them.
RESEALED: list[tuple[Callable[[Path], None], str]] = [
    (change("training.json", family_rules_version=family.RULES_VERSION + 1), "families follow"),
    (change("schema.json", features_version=FEATURES_VERSION + 1), "features are of version"),
    (change("schema.json", columns=[COLUMN]), "differ in their number of columns"),
    (change("schema.json", columns=[]), "differ in their number of columns"),
    (change("schema.json", columns=5), "malformed"),
    (change("model.json", n_features=3), "do not fit together"),
    (change("model.json", n_features=3, forests=WIDE), "columns that the model says"),
    (change("model.json", n_features="many"), "malformed"),
    (change("model.json", forests={}), "do not fit together"),
    (change("model.json", forests={"../x": {"n_inputs": 2, "n_outputs": 1}}), "does not list"),
    (change("model.json", forests={"other": {"n_inputs": 2, "n_outputs": 1}}), "does not list"),
    (change("model.json", forests={"regressor": {"n_inputs": 1, "n_outputs": 1}}), "columns that"),
    (change("model.json", steps=[]), "last step"),
    (change("model.json", steps=5), "do not fit together"),
    (change("catalogue.json", hardware_types=[]), "catalogue"),
    (change("catalogue.json", hardware_types=[{}]), "row 1 of the catalogue"),
    *((write(f"{name}.json", b"[]"), "malformed") for name in ("model", "training", "schema")),
    (write("model.json", b"{"), "malformed"),
    (write("model.json", b"[" * 100_000), "malformed"),
    (lambda folder: (folder / "schema.json").unlink(), "does not list schema.json"),
    (lambda folder: (folder / "history/std.npy").unlink(), "does not list history/std.npy"),
    (lambda folder: (folder / FOREST).unlink(), "does not list"),
    (forest_part("nodes", 0, 9, "left_leaves"), "part the leaves"),
    (forest_part("nodes", 0, 9, "question"), "ask a question"),
    (forest_part("run_column", 0, 9), "run_column must lie below 4"),
    (forest_part("leaves", 0, np.nan), "finite"),
    (write(FOREST, npy(np.ones(6))), "no forest of this format"),
    (write(FOREST, b"not a forest"), "no forest of this format"),
    (write(FOREST, b""), "no forest of this format"),
    (write("history/mean.npy", npy(np.array([{}] * 3), allow_pickle=True)), "malformed"),
    (write("history/mean.npy", npy(np.array(["x", None], object), allow_pickle=True)), "malformed"),
    (write("history/mean.npy", npy(np.ones(3))[:-9]), "malformed"),
    (write("history/mean.npy", b"not an array"), "malformed"),
    (write("history/mean.npy", b""), "malformed"),
    (write("history/mean.npy", b"PK\x03\x04 no archive"), "malformed"),
    (
        write("history/mean.npy", b"\x93NUMPY\x01\x00\x14\x00{'shape': (1, 'a\\'}   "),
        "malformed",
    ),
    (history(lambda array: array[::-1]), "must ascend"),
    (history(lambda array: array[[0, 0]]), "must ascend"),
    (write("history/mean.npy", npy(np.ones(5))), "mean has the wrong type or shape"),
    (write("history/runs.npy", npy(np.ones(2, "<i8"))), "runs has the wrong type or shape"),
    (write("history/family.npy", npy(np.ones(2))), "family has the wrong type or shape"),
    (history(lambda array: array[0]), "malformed"),
    (history(lambda array: array.reshape(-1, 1)), "wrong type or shape"),
    (change("model.json", n_features=float("inf")), "malformed"),
    (
        change("schema.json", columns=[{**COLUMN, "imputed": 10**400}, COLUMN]),
        "malformed",
    ),
    (change("training.json", hardware_rows=None), "malformed"),
]


@pytest.mark.parametrize(
    ("alter", "said"),
    RESEALED,
    ids=range(len(RESEALED)),
)
def test_content_that_does_not_fit_is_refused_though_its_digests_are_right(
    store: LocalStore, alter: Callable[[Path], None], said: str
) -> None:
    folder = folder_of(store)
    load(folder, sealed(folder))
    alter(folder)
    with pytest.raises(ArtifactError, match=said) as caught:
        load(folder, sealed(folder))
    assert "\n" not in str(caught.value)


def test_a_file_that_the_manifest_does_not_list_is_not_read(store: LocalStore) -> None:
    folder = folder_of(store)
    (folder / "more.json").write_bytes(b"{")
    load(folder, PACKED.manifest_sha256)


def test_a_forest_without_trees_and_an_empty_snapshot_can_be_published(store: LocalStore) -> None:
    whole = tiny_artifact()
    bare = Artifact(
        type(whole.model).of_one(forest(n_inputs=2, baseline=(3.0,))),
        whole.schema,
        whole.catalogue,
        Snapshot(whole.snapshot.family[:0], whole.snapshot.history.take(np.arange(0))),
        whole.training,
    )
    loaded = load(folder_of(store, pack(bare)))
    assert loaded.model.predict(np.zeros((2, 2))).tolist() == [3.0, 3.0]
    assert loaded.snapshot.lookup(whole.snapshot.family).runs.tolist() == [0.0, 0.0]
    assert loaded.model.forests["regressor"].n_outputs == 1
