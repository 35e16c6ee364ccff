"""A folder once found whole: what is large is not digested first, and no altered byte is used."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leap_model import stored_forest
from leap_model.artifact import Artifact, load, pack, publish
from leap_model.errors import ArtifactError
from leap_model.model import Model
from leap_model.sealed import MANIFEST, NOTE, SealedFolder
from leap_model.store import LocalStore
from leap_model.trees import open_forest
from tests.unit.leap_model.builders import Split, forest, tiny_artifact

ROWS = np.array([[1.0, 0.0], [3.0, 1.0]])
EXPERTS = {
    f"expert-{at}": forest(Split(1, 0.5, 10.0 * at, 10.0 * at + 1), n_inputs=2) for at in range(3)
}
PICKER = forest(
    *[Split(0, at + 1.5, 0.0, 1.0) for at in range(3)],
    n_inputs=2,
    outputs=[0, 1, 2],
    baseline=(0.0, 0.0, 0.0),
)
FOREST = "forests/expert-0.forest"


def cascade() -> Artifact:
    whole = tiny_artifact()
    model = Model.of_cascade(PICKER, EXPERTS)
    return Artifact(model, whole.schema, whole.catalogue, whole.snapshot, whole.training)


PACKED = pack(cascade())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = LocalStore(tmp_path)
    publish(store, "models/v", PACKED)
    return store.folder("models/v")


@pytest.fixture
def opened_files(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Forests whose bytes were asked for, since the test began."""
    opened: list[Any] = []

    def counting(content: Any) -> Any:
        opened.append(content)
        return open_forest(content)

    monkeypatch.setattr(stored_forest, "open_forest", counting)
    return opened


def load_again(folder: Path) -> Artifact:
    return load(folder, PACKED.manifest_sha256)


def test_the_first_load_opens_every_forest_and_the_next_none(
    folder: Path, opened_files: list[Any]
) -> None:
    first = load_again(folder)
    assert len(opened_files) == 4
    second = load_again(folder)
    assert len(opened_files) == 4
    wanted = first.model.predict(ROWS).tolist()
    assert second.model.predict(ROWS).tolist() == wanted == [0.0, 1.0]
    # The classifier, and of the experts the one that was chosen.
    assert len(opened_files) == 6
    second.model.predict(ROWS)
    assert len(opened_files) == 6


def flipped(path: Path) -> None:
    """Flip a bit in a leaf; size and modification time stay."""
    times = path.stat()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def rewritten(path: Path) -> None:
    path.write_bytes(path.read_bytes())


@pytest.mark.parametrize("name", [*PACKED.files, MANIFEST])
def test_a_flipped_byte_is_refused_at_the_next_load(folder: Path, name: str) -> None:
    load_again(folder)
    flipped(folder / name)
    with pytest.raises(ArtifactError):
        load_again(folder)


def late_part(artifact: Artifact, name: str) -> Callable[[], object]:
    """A question that only a file's own content answers."""
    if name.startswith("history/"):
        return lambda: artifact.snapshot.lookup(np.zeros(1, np.uint64))
    forest_of_it = artifact.model.forests[Path(name).stem]
    return lambda: forest_of_it.score(ROWS)


@pytest.mark.parametrize(
    "name", [name for name in PACKED.files if name.startswith(("forests/", "history/"))]
)
def test_a_flip_that_changes_no_time_is_found_before_what_it_is_in_serves(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_again(folder)
    flipped(folder / name)
    monkeypatch.setattr(SealedFolder, "was_whole", lambda self: True)  # as a failing disk has it
    artifact = load_again(folder)
    asked = late_part(artifact, name)
    for _ in range(2):  # and is found again, however often it is asked
        with pytest.raises(ArtifactError, match="was altered"):
            asked()
    assert not (folder / NOTE).exists()
    monkeypatch.undo()
    with pytest.raises(ArtifactError, match="was altered"):
        load_again(folder)


@pytest.mark.parametrize("change", [rewritten, flipped, Path.unlink])
def test_a_folder_with_any_change_is_digested_anew(
    folder: Path, change: Callable[[Path], None]
) -> None:
    load_again(folder)
    assert SealedFolder(folder).was_whole()
    change(folder / FOREST)
    assert not SealedFolder(folder).was_whole()


@pytest.mark.parametrize(
    "note",
    [b"", b"{", b"null", b"[]", b"5", b"{}", b"[" * 100_000, b"\xff", b'{"manifest": null}'],
    ids=range(9),
)
def test_a_broken_note_says_nothing(folder: Path, note: bytes, opened_files: list[Any]) -> None:
    (folder / NOTE).write_bytes(note)
    load_again(folder)
    assert len(opened_files) == 4
    assert json.loads((folder / NOTE).read_bytes())["files"].keys() == PACKED.files.keys()


def test_a_note_of_another_manifest_says_nothing(folder: Path) -> None:
    load_again(folder)
    note = json.loads((folder / NOTE).read_bytes())
    (folder / NOTE).write_text(json.dumps({**note, "manifest": "0" * 64}))
    assert not SealedFolder(folder).was_whole()


@pytest.mark.parametrize("name", ["forests/expert-0.forest", "history/family.npy"])
def test_a_manifest_that_lacks_a_part_is_refused_when_it_is_opened(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = json.loads((folder / MANIFEST).read_bytes())
    del manifest["files"][name]
    (folder / MANIFEST).write_text(json.dumps(manifest))
    monkeypatch.setattr(SealedFolder, "was_whole", lambda self: True)
    with pytest.raises(ArtifactError, match=f"does not list {name}"):
        load(folder)


def test_the_past_is_digested_once_and_not_before_it_is_asked_about(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_again(folder)
    digested, mapped = list[str](), SealedFolder.mapped

    def counted(self: SealedFolder, name: str) -> Any:
        digested.append(name)
        return mapped(self, name)

    monkeypatch.setattr(SealedFolder, "mapped", counted)
    artifact = load_again(folder)
    assert digested == []
    for _ in range(2):
        assert artifact.snapshot.lookup(np.zeros(1, np.uint64)).runs.tolist() == [0.0]
    assert sorted(digested) == sorted(name for name in PACKED.files if name.startswith("history/"))


def test_a_broken_artifact_is_not_noted(folder: Path) -> None:
    flipped(folder / FOREST)
    with pytest.raises(ArtifactError):
        load_again(folder)
    assert not (folder / NOTE).exists()


def test_a_folder_that_cannot_be_written_is_loaded_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> Any:
        raise PermissionError("a read-only disk")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    load_again(folder)
    assert not (folder / NOTE).exists()
    load_again(folder)


def test_a_note_leaves_nothing_else_and_is_no_object_of_the_store(folder: Path) -> None:
    store = LocalStore(folder.parents[1])
    before = store.keys("models")
    load_again(folder)
    assert store.keys("models") == before
    assert {path.name for path in folder.glob(".*")} == {NOTE}


def test_a_model_that_says_its_forest_is_wider_than_it_is_serves_nothing() -> None:
    lying = stored_forest.StoredForest(2, 3, EXPERTS["expert-1"].to_bytes)
    with pytest.raises(ArtifactError, match="columns that the model says"):
        lying.score(ROWS)
