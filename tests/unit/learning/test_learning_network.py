"""The network as an estimator: what it learns from, what it keeps, and that it is reproducible."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from bench.clusters import cluster
from functions.retrain.learning import network as module
from functions.retrain.learning import recalling
from functions.retrain.learning.cluster import Cluster
from functions.retrain.learning.estimator import Fitted, TrainingSet
from functions.retrain.learning.network import fit_network, rows_of, without_category
from functions.retrain.training import memory_with
from leap_model.columns import Floats, Labels
from leap_model.features.schema import NumberColumn, Schema
from leap_model.limits import DAY_US
from leap_model.network import Network, Parameters, Shape
from leap_model.references import COLUMNS, Recall
from leap_model.store import LocalStore
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import start_of
from tests.support import filled, fleet
from tests.unit.leap_model.residual import network_of
from tests.unit.leap_model.residual import rows_of as some_rows
from tests.unit.learning.nets import NET, taken, training_of, with_families
from tests.unit.retrain.nights import AS_OF, add

COUNT = 420


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> LocalStore:
    """A fleet of ten days. Read it only."""
    return filled(tmp_path_factory.mktemp("fleet"), fleet(COUNT))


@pytest.fixture(scope="module")
def training(store: LocalStore) -> TrainingSet:
    return training_of(store)


@pytest.fixture(scope="module")
def fitted(training: TrainingSet) -> Fitted:
    return NET.fit(training, seed=0, processes=1)


@pytest.fixture
def believing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are enough to measure how much of the past to believe."""
    monkeypatch.setattr(recalling, "FEWEST", 20)


def network_in(fitted: Fitted) -> Network:
    return fitted.model.networks["network-0"]


def bits(fitted: Fitted) -> tuple[bytes, ...]:
    """Everything of a fit that reaches the artifact."""
    assert fitted.memory is not None
    references = fitted.memory.as_of(start_of(AS_OF))
    cells = (references.families, references.model_types)
    arrays = [getattr(of, name) for of in cells for name in ("key", "rest", "level", "votes")]
    told = repr((references.hardware, references.recall, fitted.schema, fitted.model.steps))
    return (
        network_in(fitted).to_array().tobytes(),
        *(array.tobytes() for array in arrays),
        told.encode(),
    )


def predicted(fitted: Fitted, training: TrainingSet) -> Floats:
    """(n,) what the networks say of attempts without what resembles them."""
    rows = rows_of(training, NET.scale)
    said = [network.score(rows.matrix)[:, 0] for network in fitted.model.networks.values()]
    mean: Floats = np.mean(said, axis=0)
    return mean + rows.scale


# What it learns from.


def test_members_differ_and_their_mean_answers(fitted: Fitted, training: TrainingSet) -> None:
    first, second = fitted.model.networks.values()
    matrix = rows_of(training, NET.scale).matrix
    assert np.abs(first.score(matrix) - second.score(matrix)).max() > 0.01
    assert fitted.schema is not None
    whole = np.column_stack([matrix, np.zeros((len(matrix), len(COLUMNS)))])
    assert np.allclose(fitted.model.predict(whole), predicted(fitted, training), atol=1e-6)


def test_history_is_no_column_and_what_resembles_a_job_comes_last(fitted: Fitted) -> None:
    assert fitted.schema is not None
    assert fitted.schema.names[-3:] == COLUMNS
    assert not any(name.startswith("history.") for name in fitted.schema.names)
    shape = network_in(fitted).shape
    read = (*shape.numbers, *(column for column, _ in shape.categories))
    assert max(read) < len(fitted.schema.names) - 3
    fitted.model.checked()
    assert fitted.model.n_features == len(fitted.schema.columns)


def test_it_learns_what_the_fleet_does(training: TrainingSet) -> None:
    longer = replace(NET, width=24, least_steps=400, most_steps=400)
    fitted = longer.fit(training, seed=0, processes=1)
    errors = np.abs(predicted(fitted, training) - training.values)
    assert np.median(errors) < 0.1
    assert fitted.notes["loss"] < 0.2


def test_a_matrix_alone_is_refused(training: TrainingSet) -> None:
    with pytest.raises(ValueError, match="from attempts"):
        NET.fit(replace(training, source=None), seed=0, processes=1)


def test_without_history_nothing_is_recalled(store: LocalStore) -> None:
    fitted = NET.fit(training_of(store, ["history"]), seed=0, processes=1)
    assert fitted.memory is None
    assert "recalled" not in fitted.notes
    assert fitted.schema is not None
    assert not any(name.startswith(("known.", "history.")) for name in fitted.schema.names)
    assert [step["op"] for step in fitted.model.steps] == [
        *["network"] * 2,
        *("mean", "feature", "add"),
    ]
    fitted.model.checked()


@pytest.mark.parametrize("source", ["architecture", "ratio", "config"])
def test_sources_that_are_left_out_are_no_columns(store: LocalStore, source: str) -> None:
    fitted = NET.fit(training_of(store, [source]), seed=0, processes=1)
    assert fitted.schema is not None
    assert not any(name.startswith(f"{source}.") for name in fitted.schema.names)
    assert fitted.memory is not None
    assert fitted.memory.scale == (None if source == "ratio" else "ratio.log_rate")


# Families.


def test_families_leave_no_trace_in_the_network(fitted: Fitted, training: TrainingSet) -> None:
    assert fitted.schema is not None
    shape = network_in(fitted).shape
    categories = sum(fitted.schema.is_categorical())
    assert len(shape.categories) == categories
    strangers = with_families(training, [f"new {at}" for at in range(len(training))])
    assert predicted(fitted, strangers).tobytes() == predicted(fitted, training).tobytes()


def test_names_of_families_do_not_matter_while_it_learns(training: TrainingSet) -> None:
    assert training.source is not None
    family = training.source.attempts.jobs.family
    named = with_families(training, [f"{family.values[code]}" for code in family.codes])
    reversed_codes = family._replace(
        codes=(len(family.values) - 1 - family.codes).astype(np.int32),
        values=family.values[::-1],
    )
    jobs = replace(training.source.attempts.jobs, family=reversed_codes)
    attempts = replace(training.source.attempts, jobs=jobs)
    other = replace(training, source=replace(training.source, attempts=attempts))
    assert bits(NET.fit(other, 0, 1)) == bits(NET.fit(named, 0, 1))


@pytest.mark.parametrize("at", [0, 1])
def test_the_network_without_a_category_is_the_one_that_hides_it(at: int) -> None:
    shape = Shape((0, 2), (0,), ((1, 3), (4, 2)), width=6, blocks=2, vector=3)
    network, matrix = network_of(shape), some_rows(50)
    column, _ = shape.categories[at]
    matrix[:, column] = np.nan
    smaller = without_category(network, at)
    assert smaller.shape.categories == (shape.categories[1 - at],)
    np.testing.assert_allclose(smaller.score(matrix), network.score(matrix), atol=1e-5)


# Model types that training did not name.


def test_a_network_that_knows_no_model_types_answers_for_those_without_a_name(
    fitted: Fitted, training: TrainingSet
) -> None:
    met = replace(NET, strangers=2).fit(training, seed=0, processes=1)
    assert met.schema is not None
    at = met.schema.names.index("job.model_type")
    strangers = [met.model.networks[f"stranger-{number}"] for number in range(2)]
    assert all(at not in dict(one.shape.categories) for one in strangers)
    matrix = rows_of(training, NET.scale).matrix[:40]
    matrix = np.column_stack([matrix, np.zeros((40, len(COLUMNS)))])
    named = fitted.model.predict(matrix)
    assert met.model.predict(matrix).tobytes() == named.tobytes()
    codes = len(met.schema.columns[at].values)  # type: ignore[union-attr]
    matrix[:20, at], matrix[20:30, at] = np.nan, codes
    scale = matrix[:, met.schema.names.index(NET.scale)]
    expected = np.mean([one.score(matrix)[:, 0] for one in strangers], axis=0) + scale
    np.testing.assert_allclose(met.model.predict(matrix)[:30], expected[:30], rtol=1e-12)
    assert met.model.predict(matrix)[30:].tobytes() == named[30:].tobytes()
    alone = [met.model.predict(matrix[[row]])[0] for row in range(40)]
    np.testing.assert_allclose(alone, met.model.predict(matrix), rtol=1e-6)


def test_attempts_of_one_model_type_have_no_strangers(training: TrainingSet) -> None:
    assert training.source is not None
    jobs = training.source.attempts.jobs
    one = replace(jobs, model_type=Labels(np.zeros(len(jobs), np.int32), ("all-alike",)))
    attempts = replace(training.source.attempts, jobs=one)
    alike = replace(training, source=replace(training.source, attempts=attempts))
    model = replace(NET, strangers=1).fit(alike, seed=0, processes=1).model
    assert list(model.networks) == ["network-0", "network-1"]


@pytest.mark.parametrize("codes", [1, 4])
def test_the_network_without_families_is_the_one_that_hides_them(codes: int) -> None:
    shape = Shape((0, 2), (0,), ((1, 3), (4, codes)), width=6, blocks=2, vector=3)
    network = network_of(shape)
    matrix = some_rows(50)
    matrix[:, 4] = np.nan
    smaller = without_category(network, len(network.shape.categories) - 1)
    assert smaller.shape == replace(shape, categories=((1, 3),))
    np.testing.assert_allclose(smaller.score(matrix), network.score(matrix), atol=1e-5)
    matrix[:, 4] = 0
    assert np.abs(smaller.score(matrix) - network.score(matrix)).max() > 0.01
    again = Network.of_array(smaller.shape, smaller.to_array())
    assert again.to_array().tobytes() == smaller.to_array().tobytes()


# What is recalled.


def test_a_few_rows_are_recalled_with_the_constants_as_they_are(fitted: Fitted) -> None:
    assert fitted.notes["recalled"] == Recall().to_json()
    assert "held_back" not in fitted.notes


@pytest.mark.usefixtures("believing")
def test_how_much_to_believe_is_measured_on_the_last_days(training: TrainingSet) -> None:
    notes = NET.fit(training, seed=0, processes=1).notes
    assert notes["held_back"] == 83  # two of ten days: the last has 41 of 420
    assert notes["error_with_recall"] < notes["error_alone"]
    assert notes["recalled"] != Recall().to_json()


@pytest.mark.usefixtures("believing")
def test_what_is_measured_on_was_not_learned_from(
    monkeypatch: pytest.MonkeyPatch, training: TrainingSet
) -> None:
    kept = []

    def watched(estimator: Any, rows: Any, of: Any, *seeds: int) -> Any:
        kept.append(of)
        return fit_network(estimator, rows, of, *seeds)

    monkeypatch.setattr(module, "fit_network", watched)
    NET.fit(training, seed=0, processes=1)
    *whole, earlier = kept
    assert training.source is not None
    days = training.source.attempts.completed_at // DAY_US
    assert [rows.all() for rows in whole] == [True, True]
    assert earlier.tolist() == (days < days.max() - 1).tolist()


def test_the_memory_is_what_the_network_left(fitted: Fitted, training: TrainingSet) -> None:
    assert fitted.memory is not None
    assert training.source is not None
    rest = training.values - predicted(fitted, training)
    np.testing.assert_allclose(fitted.memory.rest, rest, atol=1e-6)
    level = training.values - rows_of(training, NET.scale).scale
    np.testing.assert_allclose(fitted.memory.level, level)
    completed_at = training.source.attempts.completed_at
    assert fitted.memory.completed_at.tolist() == completed_at.tolist()


def test_attempts_after_the_training_are_remembered_as_those_of_it(
    store: LocalStore, fitted: Fitted, training: TrainingSet
) -> None:
    assert fitted.memory is not None
    assert fitted.schema is not None
    assert training.source is not None
    parts = (fitted.memory, fitted.model, fitted.schema)
    later = training.source.attempts.take(np.arange(50))
    both = memory_with(*parts, later, stored_catalogue(store))
    for name in ("family", "model_type", "hardware_at", "completed_at"):
        array = getattr(both, name)
        assert array[-50:].tolist() == array[:50].tolist()
    for name in ("rest", "level", "size"):
        array = getattr(both, name)
        np.testing.assert_allclose(array[-50:], array[:50], atol=1e-5)
    nothing = memory_with(*parts, later.take(np.arange(0)), stored_catalogue(store))
    assert nothing.rest.tobytes() == fitted.memory.rest.tobytes()


# The same whatever the machine does.


@pytest.mark.parametrize("most", [1, 7, 400])
def test_reading_rows_a_part_at_a_time_does_not_matter(
    training: TrainingSet, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = rows_of(training, NET.scale)
    kept = np.arange(len(training)) % 3 > 0
    whole, loss = fit_network(NET, rows, kept, 0)
    monkeypatch.setattr(module, "MOST_ROWS", most)
    parts, same = fit_network(NET, rows, kept, 0)
    assert parts.to_array().tobytes() == whole.to_array().tobytes()
    assert same == loss


@pytest.mark.usefixtures("believing")
def test_processes_and_threads_do_not_matter(training: TrainingSet) -> None:
    expected = bits(NET.fit(training, seed=0, processes=1))
    assert bits(NET.fit(training, seed=0, processes=2)) == expected
    with cluster(1) as address:
        assert bits(NET.fit(training, seed=0, processes=Cluster(address))) == expected
    with threadpool_limits(1):
        assert bits(NET.fit(training, seed=0, processes=1)) == expected
    assert bits(NET.fit(training, seed=1, processes=1)) != expected


@pytest.mark.usefixtures("believing")
def test_whatever_reaches_the_artifact_is_calculated_by_one_thread(
    monkeypatch: pytest.MonkeyPatch, store: LocalStore, training: TrainingSet
) -> None:
    honest, threads = Network.score, []

    def watched(own: Network, matrix: Floats) -> Floats:
        threads.append(max(pool["num_threads"] for pool in threadpool_info()))
        return honest(own, matrix)

    monkeypatch.setattr(Network, "score", watched)
    with threadpool_limits(2):
        fitted = NET.fit(training, seed=0, processes=1)
        assert fitted.memory is not None
        assert fitted.schema is not None
        assert training.source is not None
        parts = (fitted.memory, fitted.model, fitted.schema, training.source.attempts)
        memory_with(*parts, stored_catalogue(store))
    assert len(threads) >= 3
    assert set(threads) == {1}


def test_files_and_their_order_do_not_matter(
    tmp_path: Path, fitted: Fitted, training: TrainingSet
) -> None:
    attempts = fleet(COUNT)
    other = filled(tmp_path, attempts[200:][::-1])
    for start in range(3):
        add(other, attempts[:200][start::3])
    again = training_of(other)
    assert again.matrix.tobytes() == training.matrix.tobytes()
    assert bits(NET.fit(again, seed=0, processes=1)) == bits(fitted)


# Odd attempts.


@pytest.mark.parametrize("rows", [1, 2, 5, 40])
def test_few_rows_make_a_network_all_the_same(training: TrainingSet, rows: int) -> None:
    fitted = NET.fit(taken(training, np.arange(rows)), seed=0, processes=1)
    assert np.all(np.isfinite(predicted(fitted, training)))


def scales_of(columns: Floats) -> Parameters:
    """Those of one number."""
    schema = Schema((NumberColumn("config.x"),), ())
    return module._scales(columns, (0,), np.arange(len(columns)), schema)


ABSURD = (1e300, -1e300, 1e-300, 1e39, 1e-50, 0.0)


@pytest.mark.parametrize("first", ABSURD)
@pytest.mark.parametrize("second", ABSURD)
def test_absurd_numbers_make_a_network_that_loads(first: float, second: float) -> None:
    columns = np.array([[first], [second], [1.0], [np.nan]] * 3)
    shape = Shape((0,), (0,), (), width=3, blocks=1, vector=2)
    known = dict(network_of(shape).parameters) | dict(scales_of(columns))
    network = Network.of_array(shape, Network(shape, known).to_array())
    assert np.all(np.isfinite(network.score(columns)))


def test_one_absurd_number_leaves_the_others_apart() -> None:
    columns = np.append(np.geomspace(1, 1e4, 999), 1e300).reshape(-1, 1)
    scales = scales_of(columns)
    shape = Shape((0,), (), (), width=3, blocks=1, vector=2)
    known = dict(network_of(shape).parameters) | dict(scales)
    numbers, _ = Network(shape, known).numbers(columns)
    assert np.ptp(numbers[:999]) > 0.3


def test_no_number_that_is_asked_of_overflows() -> None:
    scales = scales_of(np.zeros((5, 1)))
    shape = Shape((0,), (), (), width=3, blocks=1, vector=2)
    network = Network(shape, dict(network_of(shape).parameters) | dict(scales))
    asked = np.array([[1.7e308], [-1.7e308]])
    assert np.all(np.isfinite(network.score(asked)))
