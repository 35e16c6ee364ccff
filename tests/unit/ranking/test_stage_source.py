"""Where a ranker gets its model: pointers, broken versions, caching, switches."""

import json
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leap_model import Ranker
from leap_model.artifact import load, pack, publish
from leap_model.pointer import Pointer, pointer_key, read_pointer
from leap_model.source import StageSource
from leap_model.store import LocalStore
from tests.support import checked, request


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def copy(trained: LocalStore, tmp_path: Path) -> LocalStore:
    """A store of one's own with the trained model, and its pointer in the stage local."""
    for part in ("models", "pointers"):
        shutil.copytree(trained.root / part, tmp_path / "copy" / part)
    return LocalStore(tmp_path / "copy")


def _pointer(store: LocalStore) -> Pointer:
    pointer, _ = read_pointer(store, "local", "throughput")
    assert pointer is not None
    return pointer


def _point(store: LocalStore, pointer: Pointer, stage: str = "local") -> None:
    # As one rename, since readers look at any moment.
    path = store.root / pointer_key(stage, "throughput")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(pointer.to_json()))
    temporary.replace(path)


def _document(**values: Any) -> bytes:
    pointer = Pointer("v", "models/x", "0", "2026-01-01", "2026-01-01T00:00:00Z")
    return json.dumps({**pointer.to_json(), **values}).encode()


def _publish(store: LocalStore, as_of: str) -> Pointer:
    """The same model again as another version; the stage does not point at it yet."""
    old = _pointer(store)
    artifact = load(store.folder(old.uri))
    packed = pack(replace(artifact, training={**artifact.training, "as_of": as_of}))
    uri = f"models/throughput/{packed.version}"
    publish(store, uri, packed)
    return Pointer(packed.version, uri, packed.manifest_sha256, as_of, "2026-02-01T00:00:00Z")


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def _version(ranker: Ranker) -> Any:
    answer = checked(ranker.rank(request()))
    assert answer["reason"] in (None, "model_unavailable")
    return answer["model_version"]


def _alter_files(name: str) -> list[Callable[[Path], None]]:
    return [lambda folder: _flip(folder / name), lambda folder: (folder / name).unlink()]


@pytest.mark.parametrize("root", ["absent", "file"])
def test_a_root_that_holds_no_store_is_model_unavailable(tmp_path: Path, root: str) -> None:
    (tmp_path / "file").write_text("x")
    answer = checked(Ranker.from_store(tmp_path / root).rank(request()))
    assert (answer["reason"], answer["model_version"]) == ("model_unavailable", None)


@pytest.mark.parametrize("stage", ["prod", "../local", "", "a b", "/"])
def test_a_stage_that_points_at_nothing_is_model_unavailable(copy: LocalStore, stage: str) -> None:
    answer = checked(Ranker.from_store(copy.root, stage).rank(request()))
    assert answer["reason"] == "model_unavailable"
    assert answer["detail"]


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\0", b"null", b"[]", b"{}", b"{", b'"x"', b"\xff", b"[" * 100_000),
        _document(uri="../../etc"),
        _document(uri="/etc"),
        _document(as_of="soon"),
        _document(version=1),
        _document(manifest_sha256=None),
    ],
)
def test_a_broken_pointer_is_model_unavailable(copy: LocalStore, content: bytes) -> None:
    (copy.root / pointer_key("local", "throughput")).write_bytes(content)
    answer = checked(Ranker.from_store(copy.root).rank(request()))
    assert answer["reason"] == "model_unavailable"


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "model.json", "schema.json", "training.json", "history/runs.npy"],
)
@pytest.mark.parametrize("way", ["flipped", "missing"])
def test_a_version_with_one_file_altered_is_model_unavailable(
    copy: LocalStore, name: str, way: str
) -> None:
    folder = copy.folder(_pointer(copy).uri)
    _alter_files(name)[way == "missing"](folder)
    answer = checked(Ranker.from_store(copy.root).rank(request()))
    assert (answer["preference"], answer["reason"]) == ([], "model_unavailable")


def test_a_pointer_with_another_manifest_is_model_unavailable(copy: LocalStore) -> None:
    _point(copy, replace(_pointer(copy), manifest_sha256="0" * 64))
    assert checked(Ranker.from_store(copy.root).rank(request()))["reason"] == "model_unavailable"


def test_a_good_model_stays_when_a_newer_one_is_broken(
    copy: LocalStore, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = _pointer(copy), _publish(copy, "2026-02-01")
    ranker = Ranker.from_store(copy.root, cache_s=0)
    assert _version(ranker) == old.version
    _flip(copy.folder(new.uri) / "schema.json")
    _point(copy, new)
    for _ in range(3):
        assert _version(ranker) == old.version
    assert len([r for r in caplog.records if "not refreshed" in r.getMessage()]) == 1


@pytest.mark.parametrize("content", [None, b"{", b"{}"])
def test_a_good_model_stays_when_the_pointer_breaks_or_goes(
    copy: LocalStore, content: bytes | None
) -> None:
    old = _pointer(copy)
    ranker = Ranker.from_store(copy.root, cache_s=0)
    assert _version(ranker) == old.version
    path = copy.root / pointer_key("local", "throughput")
    path.unlink() if content is None else path.write_bytes(content)
    assert _version(ranker) == old.version


def test_a_repaired_version_is_taken_up(copy: LocalStore) -> None:
    new = _publish(copy, "2026-02-01")
    ranker = Ranker.from_store(copy.root, cache_s=0)
    old = _version(ranker)
    broken = copy.folder(new.uri) / "schema.json"
    _flip(broken)
    _point(copy, new)
    assert _version(ranker) == old
    _flip(broken)
    assert _version(ranker) == new.version


def test_a_read_that_fails_once_is_tried_again(
    copy: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranker = Ranker.from_store(copy.root, cache_s=0)
    with monkeypatch.context() as patch:

        def fail(*args: Any, **kwargs: Any) -> Any:
            raise OSError(24, "Too many open files")

        patch.setattr("leap_model.source.load", fail)
        assert _version(ranker) is None
    assert _version(ranker) == _pointer(copy).version


def test_a_moved_pointer_is_taken_up_after_the_cache_time(copy: LocalStore) -> None:
    old, new = _pointer(copy), _publish(copy, "2026-02-01")
    clock = Clock()
    ranker = Ranker(StageSource(copy, "local", switched=False, cache_s=60, clock=clock))
    assert _version(ranker) == old.version
    _point(copy, new)
    clock.now = 59.9
    assert _version(ranker) == old.version
    clock.now = 60.0
    assert _version(ranker) == new.version
    _point(copy, old)  # a rollback is followed like any other move
    clock.now = 120.0
    assert _version(ranker) == old.version


def test_a_model_that_appears_is_taken_up_after_the_cache_time(copy: LocalStore) -> None:
    pointer = _pointer(copy)
    path = copy.root / pointer_key("local", "throughput")
    path.unlink()
    clock = Clock()
    ranker = Ranker(StageSource(copy, "local", switched=False, cache_s=60, clock=clock))
    assert _version(ranker) is None
    _point(copy, pointer)
    assert _version(ranker) is None
    clock.now = 60.0
    assert _version(ranker) == pointer.version


def _switch(store: LocalStore, stage: str, document: Any) -> None:
    content = document if isinstance(document, str) else json.dumps(document)
    (store.root / f"pointers/{stage}/switches.json").write_text(content)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (None, "switched_off"),
        ("{", "switched_off"),
        ({}, "switched_off"),
        ({"default": {"percent": 0}}, "switched_off"),
        ({"default": {"percent": 101}}, "switched_off"),
        ({"default": {"percent": "100"}}, "switched_off"),
        ({"default": {"percent": 100}}, None),
        ({"default": {"percent": 0}, "model_types": {"bert": {"percent": 100}}}, None),
        ({"default": {"percent": 100}, "model_types": {"bert": {"percent": 0}}}, "switched_off"),
    ],
)
def test_a_named_stage_ranks_whom_its_switches_let_in(
    copy: LocalStore, document: Any, reason: str | None
) -> None:
    _point(copy, _pointer(copy), "prod")
    if document is not None:
        _switch(copy, "prod", document)
    answer = checked(Ranker.from_store(copy.root, "prod").rank(request()))
    assert answer["reason"] == reason
    assert answer["model_version"] == _pointer(copy).version


@pytest.mark.parametrize("broken", ["switches", "throughput"])
def test_of_switches_and_model_one_that_cannot_be_read_does_not_hold_up_the_other(
    copy: LocalStore, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    _point(copy, _pointer(copy), "prod")
    _switch(copy, "prod", {"default": {"percent": 100}})
    ranker = Ranker.from_store(copy.root, "prod", cache_s=0)
    assert checked(ranker.rank(request()))["reason"] is None
    newer = _publish(copy, "2026-02-01")
    _point(copy, newer, "prod")
    _switch(copy, "prod", {"default": {"percent": 0}})
    read = LocalStore.read

    def failing(store: LocalStore, key: str) -> bytes | None:
        if broken in key:
            raise OSError(5, "Input/output error")
        return read(store, key)

    monkeypatch.setattr(LocalStore, "read", failing)
    answer = checked(ranker.rank(request()))
    taken_up = answer["model_version"] == newer.version, answer["reason"] == "switched_off"
    assert taken_up == ((True, False) if broken == "switches" else (False, True))


def test_the_stage_local_has_no_switches_unless_they_are_asked_for(copy: LocalStore) -> None:
    _switch(copy, "local", {"default": {"percent": 0}})
    asked = request()
    assert checked(Ranker.from_store(copy.root).rank(asked))["reason"] is None
    switched = Ranker.from_store(copy.root, switched=True).rank(asked)
    assert checked(switched)["reason"] == "switched_off"


def test_one_family_is_in_or_out_for_all_its_jobs(copy: LocalStore) -> None:
    _point(copy, _pointer(copy), "prod")
    _switch(copy, "prod", {"default": {"percent": 50}})
    ranker = Ranker.from_store(copy.root, "prod")
    seen = {}
    for family in range(40):
        asked = request()
        reasons = set()
        for run in range(3):
            asked["job"]["job_name"] = f"family-{family}x-2026010{run + 1}-101112"
            reasons.add(ranker.rank(asked)["reason"])
        assert len(reasons) == 1
        seen[family] = reasons.pop()
    assert set(seen.values()) == {None, "switched_off"}


def test_threads_that_rank_while_the_pointer_flips_always_get_a_preference(
    copy: LocalStore,
) -> None:
    old, new = _pointer(copy), _publish(copy, "2026-02-01")
    ranker = Ranker.from_store(copy.root, cache_s=0)
    answers: list[dict[str, Any]] = []
    faults: list[BaseException] = []

    def rank() -> None:
        try:
            answers.extend(ranker.rank(request()) for _ in range(12))
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=rank) for _ in range(4)]
    for thread in threads:
        thread.start()
    flips = 0
    while any(thread.is_alive() for thread in threads):
        _point(copy, (new, old)[flips % 2])
        flips += 1
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(answers) == 48
    assert {checked(answer)["reason"] for answer in answers} == {None}
    assert {answer["model_version"] for answer in answers} <= {old.version, new.version}
