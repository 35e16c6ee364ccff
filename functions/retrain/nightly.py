"""One nightly run: window → train → evaluate → publish → point."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from importlib.metadata import version as installed
from typing import Any

from functions.retrain.ceiling import noise_of
from functions.retrain.contenders import Incumbent
from functions.retrain.dataset import Attempts
from functions.retrain.description import describe
from functions.retrain.earlier import earlier_nights, report_of, this_night
from functions.retrain.evaluation import evaluate
from functions.retrain.judged import Judged
from functions.retrain.learning.kept import Scratch
from functions.retrain.live import score_live
from functions.retrain.material import material_of
from functions.retrain.pointing import point, why_not
from functions.retrain.reports import write_reports
from functions.retrain.settings import Settings
from functions.retrain.stages import Stages, peak_memory_mb
from functions.retrain.training import (
    Trained,
    enough,
    history_at_launch,
    ranked_types,
    train,
    visible_before,
)
from functions.retrain.trial import trial_of
from functions.retrain.window import Window, complete
from leap_model.artifact import Artifact, pack, publish
from leap_model.catalogue import Catalogue
from leap_model.history import Outcomes, snapshot_as_of
from leap_model.pointer import read_pointer
from leap_model.store import Store
from leap_model.stored_catalogue import stored_catalogue
from leap_model.targets import Target
from leap_model.times import start_of


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
        Point even without an evaluation, against the gate, or at a version rolled back from.
    watch : callable, optional
        Told the name of each stage as it begins.

    Returns
    -------
    dict
        The metrics of contract section 6.

    Raises
    ------
    TrainingError, StoreError, CatalogueError, ModelUnavailableError
        The pointer is where it was; the last where it is there and cannot be read.
    """
    stages = Stages(watch)
    target = settings.target
    scratch = Scratch.of(store, stage, target.name)
    settings = replace(settings, scratch=scratch)
    with stages("read"):
        catalogue = stored_catalogue(store)
        read = material_of(store, as_of, catalogue, settings)
    window, day, held_out, outcomes = read.window, read.day, read.held_out, read.outcomes
    complete(read.per_day, day, settings.least_complete)
    usable = enough(read.usable, window, settings)
    trial = None
    if settings.challengers:
        with stages("try"):
            incumbent = _incumbent(store, stage, target)
            settings, trial = trial_of(usable, outcomes, catalogue, settings, incumbent)
    with stages("train"):
        trained = train(usable, outcomes, catalogue, settings)
    with stages("evaluate"):
        shown = {"from": day.isoformat(), "to": day.isoformat()}
        noise = noise_of(usable)
        judged = judge(trained, held_out, outcomes, catalogue, settings, latest=start_of(day))
        evaluation = shown | evaluate(held_out, judged.predicted, judged.cold, noise)
    with stages("score live"):
        current, _ = read_pointer(store, stage, target.name)
        live = score_live(store, current, target, day, held_out, outcomes, noise)
    with stages("publish"):
        packed = pack(_artifact(trained, held_out, outcomes, catalogue, as_of, window, settings))
        uri = f"models/{target.name}/{packed.version}"
        publish(store, uri, packed)
    reason = why_not(evaluation, live, settings.gate_margin, test_run, force)
    if reason is None:
        with stages("point"):
            reason = point(store, stage, target.name, packed, uri, as_of, force=force)
    with stages("describe"):
        described = describe(trained, usable, judged, catalogue, settings)
        earlier = earlier_nights(report_of(store, target.name, current), as_of.isoformat())
    metrics = {
        "version": packed.version,
        "target": target.name,
        "estimator": settings.estimator.name,
        "as_of": as_of.isoformat(),
        "window": window.to_json(),
        "rows": trained.rows,
        "evaluation": evaluation,
        "intervals": judged.coverage(held_out.measured),
        "published": True,
        "pointed": reason is None,
        "reason": reason,
        "seconds": stages.seconds,
        "memory_mb": stages.memory_mb,
        "peak_memory_mb": round(peak_memory_mb() + trained.fitted.workers_mb, 1),
        "manifest_sha256": packed.manifest_sha256,
        "live": None if live is None else live.to_json(),
        "learning": dict(trained.fitted.notes),
        "attempts": {"read": read.read, "unusable": read.read - len(usable)},
        "unknown_hardware": dict(read.unknown_hardware),
        "skipped_objects": list(read.skipped),
        "trial": None if trial is None else trial.to_json(),
        "nights": [*earlier, this_night(as_of.isoformat(), packed.version, evaluation)],
        **described,
    }
    write_reports(store, target.name, packed.version, metrics)
    scratch.clear(store)
    return metrics


def judge(
    trained: Trained,
    attempts: Attempts,
    outcomes: Outcomes,
    catalogue: Catalogue,
    settings: Settings,
    latest: int,
) -> Judged:
    """The model's predictions of attempts with usable measurements, with history up to `latest`."""
    history = history_at_launch(attempts.jobs, outcomes, latest)
    before = visible_before(attempts.jobs, latest)
    known = trained.known(attempts.jobs, catalogue, before)
    predicted = trained.predict_known(attempts.jobs, history, catalogue, known)
    ranked = ranked_types(trained.hardware_rows, settings)
    return Judged(attempts, history, predicted, before, ranked, known, trained.fitted.intervals)


def _incumbent(store: Store, stage: str, target: Target) -> Incumbent:
    """What the version in service tells of itself."""
    current, _ = read_pointer(store, stage, target.name)
    return Incumbent.of(report_of(store, target.name, current))


def _artifact(
    trained: Trained,
    held_out: Attempts,
    outcomes: Outcomes,
    catalogue: Catalogue,
    as_of: date,
    window: Window,
    settings: Settings,
) -> Artifact:
    training = {
        "target": settings.target.name,
        "as_of": as_of.isoformat(),
        "window": window.to_json(),
        "history_days": settings.history_days,
        "estimator": dict(settings.estimator.settings()),
        "seed": settings.seed,
        "rows": trained.rows,
        "hardware_rows": dict(trained.hardware_rows),
        "min_hardware_rows": settings.min_hardware_rows,
        "versions": {name: installed(name) for name in ("leap", "numpy", "scikit-learn")},
    }
    snapshot = snapshot_as_of(outcomes, start_of(as_of))
    references = trained.references(held_out, catalogue, start_of(as_of))
    parts = (trained.fitted.model, trained.schema, catalogue, snapshot, training)
    return Artifact(*parts, references, trained.fitted.intervals)
