"""The model that a stage serves, scored on the day that judges the new one."""

from dataclasses import dataclass
from datetime import date
from typing import Any

from functions.retrain.ceiling import Noise
from functions.retrain.dataset import Attempts
from functions.retrain.evaluation import evaluate
from functions.retrain.training import history_at_launch
from leap_model.artifact import Artifact, load
from leap_model.catalogue import Catalogue
from leap_model.errors import LeapError
from leap_model.history import Outcomes, family_hashes
from leap_model.pointer import Pointer
from leap_model.prediction import predict
from leap_model.store import Store
from leap_model.targets import Target
from leap_model.times import start_of


@dataclass(frozen=True, slots=True)
class Live:
    """The pointed version, and its figures or why there are none."""

    version: str
    as_of: str
    evaluation: dict[str, Any] | None
    reason: str | None

    def to_json(self) -> dict[str, Any]:
        """As the metrics have it."""
        return {
            "version": self.version,
            "as_of": self.as_of,
            "evaluation": self.evaluation,
            "reason": self.reason,
        }


def score_live(
    store: Store,
    pointer: Pointer | None,
    target: Target,
    day: date,
    held_out: Attempts,
    outcomes: Outcomes,
    noise: Noise | None = None,
) -> Live | None:
    """The live model's figures on a day's attempts; None where nothing is pointed at.

    Parameters
    ----------
    store, pointer, target : Store, Pointer, Target
        Where the model lies, and what it is to predict.
    day : date
        The evaluation day.
    held_out : Attempts
        Its attempts with a usable measurement.
    outcomes : Outcomes
        What history is made of; the model is shown no more of it than the snapshot it serves
        with, and nothing from the evaluation day on.
    noise : Noise, optional
        What repeats say of the best w20 there can be.
    """
    if pointer is None:
        return None
    evaluation, reason = None, None
    try:
        artifact = load(store.folder(pointer.uri), pointer.manifest_sha256)
        reason = _unfit(artifact, target, day)
        if reason is None:
            latest = start_of(min(day, date.fromisoformat(pointer.as_of)))
            shown = {"from": day.isoformat(), "to": day.isoformat()}
            evaluation = shown | _score(artifact, held_out, outcomes, latest, noise)
    except LeapError as fault:  # of a part that is opened late, too
        reason = f"it does not load: {fault}"
    return Live(pointer.version, pointer.as_of, evaluation, reason)


def _unfit(artifact: Artifact, target: Target, day: date) -> str | None:
    """Why a model's figures of a day would say nothing."""
    if artifact.target != target:
        return f"it predicts {artifact.target.name}"
    try:
        trained_to = date.fromisoformat(artifact.training["window"]["to"])
    except (KeyError, TypeError, ValueError):
        return "it does not say which days it was trained on"
    if trained_to >= day:
        return f"it was trained on days up to {trained_to}, the evaluation day among them"
    if artifact.references is not None and artifact.references.latest() >= start_of(day):
        return "it recalls attempts of the evaluation day"
    return None


def _score(
    artifact: Artifact,
    held_out: Attempts,
    outcomes: Outcomes,
    latest: int,
    noise: Noise | None,
) -> dict[str, Any]:
    history = history_at_launch(held_out.jobs, outcomes, latest)
    catalogue: Catalogue = artifact.catalogue
    parts = (artifact.target, artifact.model, artifact.schema)
    known = artifact.known(held_out.jobs, family_hashes(held_out.jobs.family))
    predicted = predict(*parts, held_out.jobs, history, catalogue, known=known)
    return evaluate(held_out, predicted, history.runs == 0, noise)
