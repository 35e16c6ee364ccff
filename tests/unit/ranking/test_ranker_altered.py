"""A forest altered on a disk that does not say so: found when first needed, and never used."""

import shutil
from pathlib import Path

import pytest

from leap_model import Ranker
from leap_model.sealed import SealedFolder
from leap_model.store import LocalStore
from tests.support import checked, request


def test_an_altered_forest_answers_with_a_reason_and_nothing_else(
    trained: LocalStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(trained.root, tmp_path / "store")
    before = checked(Ranker.from_store(tmp_path / "store").rank(request()))
    assert before["preference"]
    monkeypatch.setattr(SealedFolder, "was_whole", lambda self: True)
    for path in (tmp_path / "store").rglob("*.forest"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 0x40
        path.write_bytes(content)
    ranker = Ranker.from_store(tmp_path / "store")
    for _ in range(2):
        answer = checked(ranker.rank(request()))
        assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")
        assert "was altered" in answer["detail"]
