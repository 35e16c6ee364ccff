"""A nightly run of a deployed stage: the store is in S3, and a parameter follows the pointer."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from functions.retrain.environment import Environment
from functions.retrain.nightly import retrain
from functions.retrain.reports import are_written
from functions.retrain.settings import Settings
from leap_model.moves import read_moves
from leap_model.parameters import Parameters, follow_pointer
from leap_model.store import Store

Watch = Callable[[str], None]


def run(
    environment: Environment, store: Store, parameters: Parameters, watch: Watch | None = None
) -> list[dict[str, Any]]:
    """The metrics of each target that was trained.

    A night that its stage points at already, and has reported, is not run again: schedulers deliver
    more than once.

    Raises
    ------
    LeapError
        A target could not be trained; those before it stand.
    """
    every = []
    for target in environment.targets:
        # First, since a run that ended between object and parameter left this to the next.
        pointer = follow_pointer(parameters, store, environment.stage, target.name)
        pointed = pointer is not None and pointer.as_of == environment.as_of.isoformat()
        if pointer is not None and pointed and are_written(store, target.name, pointer.version):
            continue
        settings = Settings(
            target=target,
            estimator=environment.estimators[0],
            challengers=environment.estimators[1:],
            window_days=environment.window_days,
            history_days=environment.history_days,
            budget_s=environment.budget_s,
            least_complete=environment.least_complete,
            processes=environment.cluster,
        )
        try:
            metrics = retrain(
                store,
                environment.stage,
                environment.as_of,
                settings,
                test_run=environment.test_run,
                watch=watch,
            )
        except BaseException:
            # What failed after the pointer moved, such as the report, must not keep readers back.
            with suppress(Exception):
                follow_pointer(parameters, store, environment.stage, target.name)
            raise
        follow_pointer(parameters, store, environment.stage, target.name)
        release_superseded(store, environment.stage, target.name)
        every.append(metrics)
    return every


def release_superseded(store: Store, stage: str, target: str) -> None:
    """Let every version expire but those that serve or served last, and those newer than them.

    Raises
    ------
    StoreError
        The store did not take it; the next night tries again.
    """
    moves = read_moves(store, stage, target)
    served = list(dict.fromkeys(move.pointer.version for move in reversed(moves)))
    if len(served) < 2:
        return
    kept = set(served[:2])
    prefix = f"models/{target}"
    versions = {key.split("/")[2] for key in store.keys(prefix)}
    for version in sorted(versions - kept):
        if version < min(kept):
            store.release(f"{prefix}/{version}")
