"""One nightly run: window → train → evaluate → publish → point."""

from collections.abc import Callable
from datetime import date, timedelta
from importlib.metadata import version as installed
from typing import Any

import numpy as np

from functions.retrain.dataset import Attempts, Raw, attempts_between, outcomes_before, read_raw
from functions.retrain.evaluation import evaluate
from functions.retrain.reports import write_reports
from functions.retrain.settings import Settings
from functions.retrain.stages import Stages, peak_memory_mb
from functions.retrain.training import Trained, enough, history_at_launch, train
from functions.retrain.window import Window, evaluation_day
from leap_model.artifact import Artifact, Packed, pack, publish
from leap_model.catalogue import Catalogue
from leap_model.errors import ConflictError
from leap_model.history import Outcomes, snapshot_as_of
from leap_model.pointer import Pointer, read_pointer, write_pointer
from leap_model.reading import partition_days
from leap_model.store import Store
from leap_model.stored_catalogue import stored_catalogue
from leap_model.times import format_time, now_us, start_of


def retrain(
    store: Store,
    stage: str,
    as_of: date,
    settings: Settings,
    *,
    test_run: bool = False,
    force: bool = False,
    watch: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Train on what completed before `as_of` 00:00 UTC, publish a version, and point at it.

    Parameters
    ----------
    store, stage : Store, str
        Where attempts lie, and whose pointer moves.
    as_of : date
        The run's date.
    settings : Settings
        Window, estimator and minimum of data.
    test_run : bool
        Publish, but never point.
    force : bool
        Point even without an evaluation.
    watch : callable, optional
        Told the name of each stage as it begins.

    Returns
    -------
    dict
        The metrics of contract section 6.

    Raises
    ------
    TrainingError, StoreError, CatalogueError
        Nothing was published; the pointer is where it was.
    """
    stages = Stages(watch)
    with stages("read"):
        catalogue = stored_catalogue(store)
        raw, window, day = _read(store, as_of, settings)
        attempts = attempts_between(raw, window.start, window.end, catalogue, known_before=as_of)
        outcomes = outcomes_before(raw, start_of(as_of))
    usable = enough(attempts.usable(), window, settings)
    with stages("train"):
        trained = train(usable, outcomes, catalogue, settings.estimator, settings.seed)
    with stages("evaluate"):
        held_out = attempts_between(raw, day, day + timedelta(days=1), catalogue).usable()
        evaluation = {
            "from": day.isoformat(),
            "to": day.isoformat(),
            **score(trained, held_out, outcomes, catalogue, latest=start_of(day)),
        }
    with stages("publish"):
        packed = pack(_artifact(trained, outcomes, catalogue, as_of, window, settings))
        uri = f"models/{settings.target}/{packed.version}"
        publish(store, uri, packed)
    reason = _why_not(evaluation, test_run, force)
    if reason is None:
        with stages("point"):
            reason = _point(store, stage, settings.target, packed, uri, as_of)
    metrics = {
        "version": packed.version,
        "target": settings.target,
        "estimator": settings.estimator.name,
        "as_of": as_of.isoformat(),
        "window": window.to_json(),
        "rows": trained.rows,
        "evaluation": evaluation,
        "published": True,
        "pointed": reason is None,
        "reason": reason,
        "seconds": stages.seconds,
        "peak_memory_mb": peak_memory_mb(),
        "manifest_sha256": packed.manifest_sha256,
        "attempts": {"read": len(attempts), "unusable_throughput": len(attempts) - len(usable)},
        "unknown_hardware": _unknown(attempts, catalogue),
        "skipped_objects": list(raw.skipped),
    }
    write_reports(store, settings.target, packed.version, metrics)
    return metrics


def score(
    trained: Trained, attempts: Attempts, outcomes: Outcomes, catalogue: Catalogue, latest: int
) -> dict[str, Any]:
    """The model's figures on attempts with usable throughputs, with history up to `latest`."""
    history = history_at_launch(attempts.jobs, outcomes, latest)
    predicted = trained.predict(attempts.jobs, history, catalogue)
    return evaluate(attempts, predicted, cold=history.runs == 0)


def _read(store: Store, as_of: date, settings: Settings) -> tuple[Raw, Window, date]:
    days = partition_days(store)
    day = evaluation_day(as_of, days)
    window = Window.before(day, settings.window_days, days)
    return read_raw(store, days, window.start, as_of), window, day


def _artifact(
    trained: Trained,
    outcomes: Outcomes,
    catalogue: Catalogue,
    as_of: date,
    window: Window,
    settings: Settings,
) -> Artifact:
    training = {
        "target": settings.target,
        "as_of": as_of.isoformat(),
        "window": window.to_json(),
        "estimator": dict(settings.estimator.settings()),
        "seed": settings.seed,
        "rows": trained.rows,
        "hardware_rows": dict(trained.hardware_rows),
        "min_hardware_rows": settings.min_hardware_rows,
        "versions": {name: installed(name) for name in ("leap", "numpy", "scikit-learn")},
    }
    snapshot = snapshot_as_of(outcomes, start_of(as_of))
    return Artifact(trained.model, trained.schema, catalogue, snapshot, training)


def _why_not(evaluation: dict[str, Any], test_run: bool, force: bool) -> str | None:
    if test_run:
        return "a test run never points"
    if not evaluation["attempts"] and not force:
        return f"{evaluation['from']} has no usable attempt to evaluate on; --force points anyway"
    return None


def _point(
    store: Store, stage: str, target: str, packed: Packed, uri: str, as_of: date
) -> str | None:
    """Move the pointer forward; None, or why it stays."""
    current, etag = read_pointer(store, stage, target)
    if current is not None and current.as_of > as_of.isoformat():
        return f"the stage points at a newer model, of {current.as_of}"
    if current is not None and current.manifest_sha256 == packed.manifest_sha256:
        return None
    pointer = Pointer(
        packed.version, uri, packed.manifest_sha256, as_of.isoformat(), format_time(now_us())
    )
    try:
        write_pointer(store, stage, target, pointer, etag)
    except ConflictError:
        return "another run moved the pointer at the same time"
    return None


def _unknown(attempts: Attempts, catalogue: Catalogue) -> dict[str, int]:
    """Attempts on types that the catalogue does not know."""
    hardware = attempts.jobs.hardware_type
    counts = np.bincount(hardware.codes, minlength=len(hardware.values))
    return {
        name: int(count)
        for name, count in sorted(zip(hardware.values, counts, strict=True))
        if count and catalogue.find(name) is None
    }
