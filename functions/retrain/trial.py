"""Champion and challengers on recent days that none of them was fitted on."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from functions.retrain.contenders import LEAST_DAYS, Choice, Incumbent, Tried, chosen_of
from functions.retrain.dataset import Attempts
from functions.retrain.learning.estimator import Estimator
from functions.retrain.settings import Settings
from functions.retrain.training import Trained, history_at_launch, train, visible_before
from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Ints
from leap_model.errors import LeapError
from leap_model.history import Outcomes
from leap_model.limits import DAY_US
from leap_model.times import day_of

_WHOLE = 2.0
"""How much longer than in a trial a fit of the whole window takes, at most."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Trial:
    """How the estimators of a night did, on which days, and which of them is published."""

    days: tuple[str, ...]
    tried: tuple[Tried, ...]
    choice: Choice

    def to_json(self) -> dict[str, Any]:
        """As the metrics have it."""
        return {
            "days": list(self.days),
            "champion": self.choice.champion,
            "chosen": self.choice.chosen,
            "why": self.choice.why,
            "contenders": [
                {
                    "name": one.name,
                    "w20": None if one.w20 is None else float(np.mean(one.w20)),
                    "by_day": None if one.w20 is None else list(one.w20),
                    "difference": self.choice.differences.get(one.name),
                    "seconds": round(one.seconds, 3),
                    "reason": one.reason,
                }
                for one in self.tried
            ],
        }


def trial_of(
    usable: Attempts,
    outcomes: Outcomes,
    catalogue: Catalogue,
    settings: Settings,
    incumbent: Incumbent,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Settings, Trial | None]:
    """The settings with the estimator that a night publishes, and the trial that chose it.

    The window's last days are held out, at most `settings.trial_days`. What stands for a contender
    (`Estimator.tried`) is fitted once on the days before, and asked of each attempt what the
    version of its launch's night would have said of it, with the history and references of that
    moment: all of them are up to so many days old.

    The champion is tried first. A challenger is tried while time for it, by what it took last time,
    and for a whole fit of the slowest of those tried is left of `settings.budget_s`. One that fails
    is left out, and logged.

    Parameters
    ----------
    usable : Attempts
        The window's attempts, each with a usable measurement.
    outcomes : Outcomes
        What histories are made of.
    catalogue, settings : Catalogue, Settings
    incumbent : Incumbent
        What serves now. Its estimator is the champion where it is one of the contenders; else
        `settings.estimator` is.
    clock : callable
        Seconds.

    Returns
    -------
    Settings, Trial or None
        None where there are too few days to tell.
    """
    held = _held_out(usable, settings)
    if held is None:
        return settings, None
    contenders = _in_order(settings, incumbent.estimator)
    started, tried = clock(), list[Tried]()
    for estimator in contenders:
        began = clock()
        slowest = max((one.seconds for one in tried), default=0.0)
        left = settings.budget_s - (began - started) - _WHOLE * slowest
        needed = incumbent.seconds.get(estimator.name, 0.0)
        if tried and left <= needed:
            took = f"it took {needed:,.0f} s last time, and {max(left, 0):,.0f} s were left"
            reason = took if needed else "no time was left for it"
            tried.append(Tried(estimator.name, None, reason=reason))
            continue
        try:
            shares = _shares(usable, held, outcomes, catalogue, settings, estimator)
        except Exception as fault:
            # A challenger must not cost the night; a champion that fails here may give way.
            reason = str(fault) if isinstance(fault, LeapError) else type(fault).__name__
            _log.warning("%s could not be tried: %s", estimator.name, reason)
            tried.append(Tried(estimator.name, None, clock() - began, reason))
        else:
            tried.append(Tried(estimator.name, shares, clock() - began))
    choice = chosen_of(contenders[0].name, tried)
    chosen = next(one for one in contenders if one.name == choice.chosen)
    days = tuple(day_of(int(day) * DAY_US).isoformat() for day in np.unique(_days(usable)[held]))
    return replace(settings, estimator=chosen), Trial(days, tuple(tried), choice)


def _in_order(settings: Settings, champion: str | None) -> Sequence[Estimator]:
    """The contenders, the champion first."""
    every = (settings.estimator, *settings.challengers)
    return sorted(every, key=lambda one: one.name != champion)


def _held_out(usable: Attempts, settings: Settings) -> NDArray[np.bool_] | None:
    """(n,) whether an attempt is of the days held out; None where too few days are left."""
    days = _days(usable)
    present = np.unique(days)
    count = min(settings.trial_days, len(present) - settings.min_days)
    if count < LEAST_DAYS:
        return None
    held = np.asarray(days >= present[-count], np.bool_)
    return held if (~held).sum() >= settings.min_rows else None


def _shares(
    usable: Attempts,
    held: NDArray[np.bool_],
    outcomes: Outcomes,
    catalogue: Catalogue,
    settings: Settings,
    estimator: Estimator,
) -> tuple[float, ...]:
    """w20 of each day held out, of an estimator fitted on the others."""
    before, after = (usable.take(np.flatnonzero(rows)) for rows in (~held, held))
    trained = train(before, outcomes, catalogue, replace(settings, estimator=estimator.tried))
    relative = np.abs(_predicted(trained, after, outcomes, catalogue) / after.measured - 1)
    days = _days(after)
    return tuple(float(np.mean(relative[days == day] <= 0.20)) for day in np.unique(days))


def _predicted(
    trained: Trained, after: Attempts, outcomes: Outcomes, catalogue: Catalogue
) -> Floats:
    """(n,) what the model says of attempts, each with what was known before the day it began."""
    history = history_at_launch(after.jobs, outcomes)
    known = trained.remembering(after, catalogue)
    return known.predict(after.jobs, history, catalogue, visible_before(after.jobs))


def _days(attempts: Attempts) -> Ints:
    """(n,) days since 1970 on which attempts completed."""
    return attempts.completed_at // DAY_US
