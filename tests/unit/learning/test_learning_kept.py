"""Finished fits: kept under what decides them, found by the run that comes after a kill."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from functions.retrain import training as module
from functions.retrain.learning import boosting, cascade, experts, kept, network, single
from functions.retrain.learning.cascade import Cascade
from functions.retrain.learning.digests import digest_of
from functions.retrain.learning.estimator import Estimator
from functions.retrain.learning.experts import Asked
from functions.retrain.learning.kept import Keeping, Scratch, decoded, encoded
from functions.retrain.learning.network import ResidualNetwork
from functions.retrain.learning.single import Single
from functions.retrain.settings import Settings
from leap_model.errors import StoreError
from leap_model.network import Network, Shape
from leap_model.store import LocalStore
from leap_model.trees import Forest, constant_forest
from tests.support import filled, fleet
from tests.unit.retrain.nights import TINY, night

ESTIMATORS: dict[str, Estimator] = {
    "single": Single(trees=4, leaves=6, learning_rate=0.5),
    "cascade": Cascade(
        bins=3,
        rounds=1,
        expert_trees=3,
        deciding_trees=2,
        classifier_trees=2,
        least_rows_per_bin=20,
    ),
    "network": ResidualNetwork(members=3, width=8, blocks=1, vector=2, epochs=1.0, least_steps=20),
}
FITS = {"single": 1, "cascade": 3 + 3 + 1, "network": 3 + 1}


class Killed(BaseException):
    """The end of a process, as far as one that goes on can tell."""


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEWEST_ROWS", 1)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The fits that are made, by name. The one whose place is in `until` ends the process."""
    names: list[str] = []
    for place, name in (
        (single, "fit_rest"),
        (cascade, "ask_expert"),
        (cascade, "fit_expert"),
        (cascade, "fit_classifier"),
        (network, "fit_network"),
    ):
        _count(monkeypatch, place, name, names)
    return names


def _count(patch: pytest.MonkeyPatch, place: Any, name: str, names: list[str]) -> None:
    real = getattr(place, name)

    def counted(*arguments: Any) -> Any:
        if len(names) == _UNTIL[0]:
            raise Killed
        names.append(name)
        return real(*arguments)

    counted.__module__, counted.__qualname__ = real.__module__, real.__qualname__
    patch.setattr(place, name, counted)


_UNTIL = [-1]


@pytest.fixture(autouse=True)
def _unharmed() -> None:
    _UNTIL[0] = -1


def _settings(name: str) -> Settings:
    return replace(TINY, estimator=ESTIMATORS[name], processes=1)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_run_after_a_kill_makes_only_what_was_not_finished(
    store: LocalStore, tmp_path: Path, name: str, made: list[str]
) -> None:
    attempts = fleet(420)
    undisturbed = night(filled(tmp_path / "beside", attempts), settings=_settings(name))
    assert len(made) == FITS[name]
    filled(store.root, attempts)
    total = 0
    for at in range(FITS[name]):
        made.clear()
        _UNTIL[0] = 1
        try:
            metrics = night(store, settings=_settings(name))
        except Killed:
            assert len(store.keys("scratch/local/throughput")) == at + 1
            assert not store.keys("pointers")
        total += len(made)
    assert total == FITS[name]
    assert metrics["manifest_sha256"] == undisturbed["manifest_sha256"]
    assert store.keys("scratch") == []


def test_a_run_that_is_killed_at_once_leaves_what_the_next_one_needs_not(
    store: LocalStore, made: list[str]
) -> None:
    filled(store.root, fleet(420))
    _UNTIL[0] = 0
    with pytest.raises(Killed):
        night(store, settings=_settings("network"))
    assert store.keys("scratch") == []


def test_with_few_rows_nothing_is_kept(
    store: LocalStore, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEWEST_ROWS", 10_000)
    filled(store.root, fleet(420))
    _UNTIL[0] = 2
    with pytest.raises(Killed):
        night(store, settings=_settings("network"))
    assert store.keys("scratch") == []


def test_what_cannot_be_kept_costs_a_run_nothing(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    expected = night(filled(store.root, fleet(420)), settings=_settings("single"))
    create = LocalStore.create

    def full(self: LocalStore, key: str, content: bytes) -> bool:
        if key.startswith("scratch/"):
            raise StoreError("it is full")
        return create(self, key, content)

    monkeypatch.setattr(LocalStore, "create", full)
    assert night(store, settings=_settings("single"))["version"] == expected["version"]
    assert "1 finished fits are not kept: it is full" in caplog.text


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 and nothing more", b"\x80\x04}."])
def test_what_is_damaged_is_made_again(store: LocalStore, made: list[str], damage: bytes) -> None:
    filled(store.root, fleet(420))
    _UNTIL[0] = 2
    with pytest.raises(Killed):
        night(store, settings=_settings("network"))
    for key in store.keys("scratch"):
        (store.root / key).write_bytes(damage)
    _UNTIL[0] = -1
    made.clear()
    night(store, settings=_settings("network"))
    assert len(made) == FITS["network"]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        pairs = zip(one, other, strict=True)
        return isinstance(other, tuple) and all(_same(*pair) for pair in pairs)
    if isinstance(one, Forest):
        return isinstance(other, Forest) and one.to_bytes() == other.to_bytes()
    if isinstance(one, Network):
        own, its = (of.to_array().tobytes() for of in (one, other))
        return bool(one.shape == other.shape and own == its)
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and one.tobytes() == other.tobytes())
    return bool(one == other)


def _network() -> Network:
    shape = Shape((0, 1), (1,), ((2, 3),), 4, 1, 2)
    sizes = sum(int(np.prod(size)) for size in shape.layout().values())
    return Network.of_array(shape, np.linspace(0.5, 1.5, sizes, dtype=np.float32))


@pytest.mark.parametrize(
    "result",
    [
        (constant_forest(3, 0.5), 1.25),
        Asked(np.array([0.1, np.inf, np.nan]), 0.5, float("inf")),
        (_network(), 0.125),
        (np.zeros((0, 3), np.float32), (1.0, (2.0,))),
    ],
    ids=["forest", "asked", "network", "nested"],
)
def test_a_result_comes_back_as_it_was(result: Any) -> None:
    assert _same(tuple(result), decoded(encoded(result)))


def test_what_has_no_form_of_its_own_is_refused_and_not_pickled() -> None:
    with pytest.raises(TypeError, match="object cannot be kept"):
        encoded((1.0, object()))
    with pytest.raises(TypeError, match="object has no digest"):
        digest_of({"a": object()})


MATRIX = np.arange(12.0).reshape(4, 3)
CHANGED: dict[str, Callable[[], Any]] = {
    "a bit": lambda: np.nextafter(MATRIX, np.where(MATRIX == 5.0, 9.0, MATRIX)),
    "the shape": lambda: MATRIX.reshape(3, 4),
    "the type": lambda: MATRIX.astype(np.float32),
    "the order of memory": lambda: np.asfortranarray(MATRIX),
    "a slice": lambda: MATRIX[:, :2],
}


@pytest.mark.parametrize("change", CHANGED)
def test_arrays_that_differ_have_other_digests(change: str) -> None:
    assert digest_of(CHANGED[change]()) != digest_of(MATRIX)
    assert digest_of(CHANGED[change]()) == digest_of(CHANGED[change]().copy(order="K"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (True, 1),
        ("1", 1),
        (("a", "b"), ("ab",)),
        ((("a",), "b"), ("a", ("b",))),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        (None, "None"),
        (frozenset("ab"), ("a", "b")),
        (Single(trees=4), Single(trees=5)),
        (boosting.Boosting(1, 2, 0.1, 3), (1, 2, 0.1, 3)),
    ],
)
def test_values_that_differ_have_other_digests(one: Any, other: Any) -> None:
    assert digest_of(one) != digest_of(other)


def test_a_key_names_the_function_and_does_not_depend_on_the_process() -> None:
    keeping = Keeping("/nowhere", "scratch/local/throughput", "d" * 64)
    call = (experts.fit_expert, MATRIX, frozenset(("b", "a")), {"y": 1, "x": (2.5, None)})
    key = keeping.key(call)
    assert key != keeping.key((experts.ask_expert, *call[1:]))
    assert key != replace(keeping, data="e" * 64).key(call)
    script = (
        "import numpy as np\n"
        "from functions.retrain.learning import experts\n"
        "from functions.retrain.learning.kept import Keeping\n"
        "keeping = Keeping('/nowhere', 'scratch/local/throughput', 'd' * 64)\n"
        "matrix = np.arange(12.0).reshape(4, 3)\n"
        "named = {'x': (2.5, None), 'y': 1}\n"
        "print(keeping.key((experts.fit_expert, matrix, frozenset(('a', 'b')), named)))"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        said = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        assert said.strip() == key


def test_threads_decide_nothing_and_the_data_all(store: LocalStore) -> None:
    scratch = Scratch.of(store, "local", "throughput")
    assert scratch == Scratch(str(store.root), "scratch/local/throughput")
    trained = module.training_set(*_parts(filled(store.root, fleet(420))))
    keeping = scratch.keeping(trained)
    assert scratch.keeping(trained) == keeping
    for other in (
        replace(trained, values=trained.values + 1),
        replace(trained, scale=None),
        replace(trained, source=None),
    ):
        assert scratch.keeping(other).data != keeping.data
    one, two = (experts.Fitting(trained, 0, threads) for threads in (1, 2))
    assert keeping.key((experts.fit_expert, one)) == keeping.key((experts.fit_expert, two))
    three = experts.Fitting(trained, 1, 1)
    assert keeping.key((experts.fit_expert, one)) != keeping.key((experts.fit_expert, three))


def _parts(store: LocalStore) -> tuple[Any, ...]:
    from datetime import date

    from leap_model.stored_catalogue import stored_catalogue
    from tests.unit.retrain.nights import AS_OF, outcomes, rows_between

    attempts = rows_between(store, date(2026, 1, 1), AS_OF).usable()
    return attempts, outcomes(store, AS_OF), stored_catalogue(store), TINY.target


def test_code_that_changes_makes_other_fits(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = Scratch.of(store, "local", "throughput")
    before = scratch.keeping(MATRIX)
    monkeypatch.setattr(kept, "made_by", lambda: "other code")
    assert scratch.keeping(MATRIX).data != before.data
