"""Where fits are made: one process, two, a Dask cluster of one and of two; and twice the rows."""

import time
from datetime import timedelta

import numpy as np

from bench.clusters import cluster
from bench.fleets import START, simulated
from functions.retrain.dataset import Attempts, read_records
from functions.retrain.learning.cluster import Cluster
from functions.retrain.learning.digests import digest_of
from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.presets import DEFAULT, ESTIMATORS
from functions.retrain.learning.workers import Processes
from functions.retrain.training import training_set
from leap_model.catalogue import Catalogue
from leap_model.history import Outcomes
from leap_model.reading import partition_days
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import TARGETS
from leap_model.times import start_of

COLUMNS = ("rows", "where", "seconds", "over one process", "over one worker", "digest")
DAYS, PER_DAY = 20, 3_000


def run() -> list[tuple[object, ...]]:
    """The default estimator, no challenger; raises unless all of the same rows learn the same."""
    target = TARGETS["throughput"]
    with simulated(DAYS, PER_DAY) as (_, store):
        end = START + timedelta(days=DAYS)
        catalogue = stored_catalogue(store)
        records = read_records(store, partition_days(store), START, end, catalogue, target)
        attempts = records.attempts_between(START, end).usable()
        outcomes = records.outcomes_before(start_of(end))
    whole, half = (_rows(attempts, share, outcomes, catalogue) for share in (1.0, 0.5))
    seconds, digests = dict[str, float](), dict[str, str]()
    for name, where in (("one process", 1), ("two processes", 2)):
        seconds[name], digests[name] = _fitted(half, where)
    for name, count in (("a Dask worker", 1), ("two Dask workers", 2)):
        with cluster(count) as address:
            seconds[name], digests[name] = _fitted(half, Cluster(address))
    if len(set(digests.values())) > 1:
        raise AssertionError(f"not the same models: {digests}")
    twice, other = _fitted(whole, 2)
    one, worker = seconds["one process"], seconds["a Dask worker"]
    return [
        *(
            (
                *(f"{len(half):,}", name, f"{spent:.0f}", f"{one / spent:.2f}×"),
                f"{worker / spent:.2f}×" if "Dask" in name else "–",
                digests[name][:8],
            )
            for name, spent in seconds.items()
        ),
        (f"{len(whole):,}", "two processes", f"{twice:.0f}", "–", "–", other[:8]),
        ("twice", "two processes", f"{twice / seconds['two processes']:.2f}× the time", *"–––"),
    ]


def _rows(
    attempts: Attempts, share: float, outcomes: Outcomes, catalogue: Catalogue
) -> TrainingSet:
    """The latest share of the attempts."""
    order = np.argsort(attempts.completed_at, kind="stable")
    latest = np.sort(order[len(order) - round(share * len(order)) :])
    return training_set(attempts.take(latest), outcomes, catalogue, TARGETS["throughput"])


def _fitted(rows: TrainingSet, where: Processes) -> tuple[float, str]:
    started = time.perf_counter()
    fitted = ESTIMATORS[DEFAULT[0]].fit(rows, 0, where)
    return time.perf_counter() - started, digest_of(
        [network.to_array() for network in fitted.model.networks.values()]
    )
