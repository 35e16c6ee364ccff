"""The local store: keys stay inside, writes are whole and exclusive, replacing is conditional."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leap_model.errors import ConflictError, StoreError
from leap_model.store import LocalStore, checked_key

BAD_KEYS = [
    *("", "/", "/etc/passwd", "../x", "a/../x", "a/..", "..", ".", "./a", "a/.", "a/./b"),
    *("a//b", "a/", "a\\b", "a b", "a\nb", "a\0b", "é", "a/b\n", "~", "a*", "a?b", "a:b", "\ud800"),
]


@pytest.mark.parametrize("key", BAD_KEYS, ids=ascii)
def test_keys_that_climb_out_or_have_odd_characters_are_refused(
    store: LocalStore, key: str
) -> None:
    uses: list[Callable[[], object]] = [
        lambda: checked_key(key),
        lambda: store.keys(key),
        lambda: store.size(key),
        lambda: store.read(key),
        lambda: store.create(key, b""),
        lambda: store.replace(key, b"", None),
        lambda: store.folder(key),
    ]
    for use in uses:
        with pytest.raises(StoreError, match="is no key of a store"):
            use()
    assert not store.root.exists()


@pytest.mark.parametrize(
    "key", ["a", "a/b/c.json", "attempts/dt=2026-01-02/0f.parquet", "a..b/c", "A-_.=+@9"]
)
def test_keys_of_a_store_are_taken(store: LocalStore, key: str) -> None:
    assert checked_key(key) == key
    assert store.create(key, b"x")
    assert (store.read(key), store.size(key)) == (b"x", 1)
    assert (store.root / key).read_bytes() == b"x"


@given(st.text(st.sampled_from("a./\\ =\n"), max_size=12))
def test_a_key_never_leaves_the_root(key: str) -> None:
    root = Path("/srv/store")
    try:
        path = LocalStore(root).folder(key)
    except StoreError as fault:
        assert "\n" not in str(fault).replace(key, "")  # noqa: PT017
        return
    assert root in path.parents
    assert ".." not in path.parts


def test_what_is_not_there_is_none(store: LocalStore) -> None:
    store.create("a/b", b"x")
    for key in ("nowhere", "a", "a/c", "a/b/c", "nowhere/b"):
        assert store.read(key) is None
        assert store.size(key) is None
    assert store.keys("nowhere") == []
    assert store.keys("a/b") == []


def test_keys_are_listed_sorted_and_below_their_folder_only(store: LocalStore) -> None:
    for key in ("a/c", "a/b/z", "a/B", "ab/x", "b"):
        store.create(key, b"")
    assert store.keys("a") == ["a/B", "a/b/z", "a/c"]
    assert store.keys("a/b") == ["a/b/z"]


def test_more_keys_than_one_listing_of_a_bucket_holds(store: LocalStore) -> None:
    folder = store.folder("attempts/dt=2026-01-02")
    folder.mkdir(parents=True)
    for at in range(1001):
        (folder / f"{at:05}.parquet").touch()
    keys = store.keys("attempts")
    assert len(keys) == 1001
    assert keys[-1] == "attempts/dt=2026-01-02/01000.parquet"


def test_create_never_overwrites(store: LocalStore) -> None:
    assert store.create("a/b", b"first")
    assert not store.create("a/b", b"second")
    assert not store.create("a/b", b"first")
    assert store.read("a/b") == b"first"


@pytest.mark.parametrize("content", [b"", b"\0" * 1000, bytes(range(256)) * 4096])
def test_content_comes_back_as_it_was(store: LocalStore, content: bytes) -> None:
    store.create("a", content)
    assert store.read("a") == content
    assert store.size("a") == len(content)


def test_of_many_threads_one_creates(store: LocalStore) -> None:
    barrier = threading.Barrier(12)

    def write(at: int) -> bool:
        barrier.wait()
        return store.create("a/b", f"writer {at}".encode())

    with ThreadPoolExecutor(12) as pool:
        won = list(pool.map(write, range(12)))
    assert sum(won) == 1
    assert store.read("a/b") == f"writer {won.index(True)}".encode()


CREATE = """
import json, sys
from leap_model.store import LocalStore
store = LocalStore(sys.argv[1])
won = [at for at in range(40) if store.create(f"a/{at}", sys.argv[2].encode())]
print(json.dumps(won))
"""
COUNT = """
import sys
from leap_model.errors import ConflictError
from leap_model.store import LocalStore
store = LocalStore(sys.argv[1])
for _ in range(10):
    while True:
        content, tag = store.fetch("counter")
        try:
            store.replace("counter", str(int(content or 0) + 1).encode(), tag)
            break
        except ConflictError:
            pass
"""


def in_processes(script: str, store: LocalStore, count: int) -> list[str]:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(store.root), str(at)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for at in range(count)
    ]
    outputs = [process.communicate(timeout=60)[0] for process in started]
    assert [process.returncode for process in started] == [0] * count
    return outputs


def test_of_several_processes_one_creates_each_object(store: LocalStore) -> None:
    won = [json.loads(output) for output in in_processes(CREATE, store, 3)]
    assert sorted(at for each in won for at in each) == list(range(40))
    for writer, each in enumerate(won):
        assert all(store.read(f"a/{at}") == str(writer).encode() for at in each)


def test_replace_writes_only_over_what_the_writer_saw(store: LocalStore) -> None:
    first = store.replace("a/b", b"1", None)
    assert store.fetch("a/b") == (b"1", first)
    second = store.replace("a/b", b"2", first)
    for stale in (None, first, "", "other"):
        with pytest.raises(ConflictError, match="a/b was changed by another writer"):
            store.replace("a/b", b"3", stale)
    assert store.read("a/b") == b"2"
    assert store.replace("a/b", b"2", second) == second
    with pytest.raises(ConflictError):
        store.replace("a/new", b"1", first)
    assert store.read("a/new") is None


def test_counting_from_many_threads_loses_nothing(store: LocalStore) -> None:
    def count(_: int) -> None:
        done = 0
        while done < 5:
            content, tag = store.fetch("counter")
            with suppress(ConflictError):
                store.replace("counter", str(int(content or 0) + 1).encode(), tag)
                done += 1

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(count, range(20)))
    assert store.read("counter") == b"100"


def test_counting_from_several_processes_loses_nothing(store: LocalStore) -> None:
    in_processes(COUNT, store, 3)
    assert store.read("counter") == b"30"


def test_a_reader_sees_whole_objects_only(store: LocalStore) -> None:
    contents = {letter * 200_000 for letter in (b"a", b"b")}
    tag = store.replace("x", b"a" * 200_000, None)
    stop = threading.Event()
    seen: set[bytes | None] = set()

    def read() -> None:
        while not stop.is_set():
            seen.add(store.read("x"))

    reader = threading.Thread(target=read)
    reader.start()
    for at in range(40):
        tag = store.replace("x", (b"b", b"a")[at % 2] * 200_000, tag)
    stop.set()
    reader.join()
    assert seen <= contents


def test_temporary_and_lock_files_are_never_listed(store: LocalStore) -> None:
    store.create("a/b", b"1")
    store.replace("a/c", b"1", None)
    with pytest.raises(ConflictError):
        store.replace("a/c", b"2", None)
    store.create("a/b", b"2")
    (store.root / "a" / ".left-behind.tmp").write_bytes(b"half")
    assert store.keys("a") == ["a/b", "a/c"]
    hidden = [path.name for path in (store.root / "a").iterdir() if path.name.startswith(".")]
    assert [name for name in hidden if name.endswith(".tmp")] == [".left-behind.tmp"]


def test_a_failed_write_leaves_nothing(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("leap_model.store.os.fsync", full)
    with pytest.raises((OSError, StoreError)):
        store.create("a/b", b"x")
    with pytest.raises((OSError, StoreError)):
        store.replace("a/b", b"x", None)
    monkeypatch.undo()
    assert store.keys("a") == []
    assert not [path for path in (store.root / "a").iterdir() if path.name.endswith(".tmp")]
    assert store.create("a/b", b"x")


def test_whatever_can_be_created_is_listed(store: LocalStore) -> None:
    try:
        store.create("a/.hidden", b"x")
    except StoreError:
        return
    assert store.keys("a") == ["a/.hidden"]


@pytest.mark.parametrize("key", ["a/b/c", "a" * 300, "x/" + "a" * 300])
def test_a_key_that_cannot_be_written_gives_a_store_error(store: LocalStore, key: str) -> None:
    store.create("a/b", b"an object where a folder would have to be")
    with pytest.raises(StoreError):
        store.create(key, b"x")
