"""A file altered on a disk that does not say so: found when first needed, and never used."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from leap_model import Ranker, limits
from leap_model.errors import ArtifactError
from leap_model.sealed import SealedFolder
from leap_model.store import LocalStore
from leap_model.stored_forest import StoredForest
from leap_model.trees import constant_forest
from tests.support import checked, request


@pytest.mark.parametrize("part", ["*.forest", "last.npy", "mean.npy"])
def test_an_altered_file_answers_with_a_reason_and_nothing_else(
    trained: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    shutil.copytree(trained.root, tmp_path / "store")
    before = checked(Ranker.from_store(tmp_path / "store").rank(request()))
    assert before["preference"]
    monkeypatch.setattr(SealedFolder, "was_whole", lambda self: True)
    for path in (tmp_path / "store").rglob(part):
        content = bytearray(path.read_bytes())
        content[-1] ^= 0x40
        path.write_bytes(content)
    ranker = Ranker.from_store(tmp_path / "store")
    digested: list[str] = []
    mapped = SealedFolder.mapped

    def counted(self: SealedFolder, name: str) -> Any:
        digested.append(name)
        return mapped(self, name)

    monkeypatch.setattr(SealedFolder, "mapped", counted)
    for _ in range(5):
        answer = checked(ranker.rank(request()))
        assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
        assert "was altered" in answer["detail"]
    altered = [name for name in digested if Path(name).match(part)]
    assert len(altered) == 1  # and is not digested anew for every launch


def test_a_forest_that_failed_is_tried_again_after_the_pointer_s_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = constant_forest(2, 1.0).to_bytes()
    given = [b"altered", b"altered", sound]
    now = [100.0]
    monkeypatch.setattr("leap_model.late.time.monotonic", lambda: now[0])
    forest = StoredForest(2, 1, lambda: given.pop(0))
    for _ in range(3):
        with pytest.raises(ArtifactError):
            forest.opened()
    assert len(given) == 2
    now[0] += limits.POINTER_CACHE_S
    with pytest.raises(ArtifactError):
        forest.opened()
    assert len(given) == 1
    now[0] += limits.POINTER_CACHE_S
    assert forest.opened().to_bytes() == sound
