"""What a stage serves: its pointer, and the version that this names."""

from collections.abc import Callable
from datetime import date
from typing import TypeAlias

from cli.doctor.place import Place
from cli.doctor.report import Problem, Problems
from cli.doctor.rules import MOST_MODEL_AGE_H
from leap_model.artifact import load
from leap_model.errors import ArtifactError, ModelUnavailableError, StoreError
from leap_model.pointer import Pointer, newest, pointer_key, read_pointer
from leap_model.times import start_of

Parameter: TypeAlias = Callable[[str], Pointer | None]
"""The pointer that a deployed stage's readers go by, of a target."""
_HOUR_US = 3_600 * 1_000_000


def pointer_problems(
    place: Place, target: str, parameter: Parameter | None, served: dict[str, Pointer]
) -> Problems:
    """The pointer of a target, in the store and, where there is one, as readers see it.

    Parameters
    ----------
    place, target : Place, str
        Whose.
    parameter : callable, optional
        The deployed pointer of a target; None where the store's own is what readers go by.
    served : dict
        Is given the pointer that readers go by, under the target.
    """
    key = pointer_key(place.stage, target)
    again = f"leap retrain {place.options} --target {target}"
    name = f"/leap/{place.stage}/{target}/pointer"
    seen = None
    try:
        if parameter is not None and (seen := parameter(target)) is not None:
            served[target] = seen  # first: whoever may not read the object may read this
    except ModelUnavailableError as fault:
        yield Problem(f"{name} is broken: {fault}", "it says what the object says", again)
        return
    try:
        stored, _ = read_pointer(place.store, place.stage, target)
    except ModelUnavailableError as fault:
        do = f"bring back what it was, or delete it and {again}"
        yield Problem(f"{key} is broken: {fault}", "it names one version", do)
        return
    pointer = newest(stored, seen)
    if pointer is not None and (parameter is None or seen is not None):
        served[target] = pointer
    if stored is None and seen is None and target == "throughput":
        yield Problem(f"{key} is not there", "a stage that ranks points at a model", again)
    if parameter is not None and seen != stored:
        do = f"the next night sets it, or {again}"
        yield Problem(_difference(name, seen, key, stored), "the parameter follows the object", do)


def _difference(name: str, seen: Pointer | None, key: str, stored: Pointer | None) -> str:
    """What a parameter and an object that differ say."""
    if seen is None or stored is None:
        missing, there, pointer = (name, key, stored) if seen is None else (key, name, seen)
        return f"{missing} is missing, and {there} names {pointer.version if pointer else ''}"
    if stored.version == seen.version:
        return f"{name} and {key} tell {seen.version} differently"
    return f"{name} names {seen.version}, {key} {stored.version}"


def age_problems(place: Place, pointer: Pointer) -> Problems:
    """How old what is served is."""
    hours = (place.now - start_of(date.fromisoformat(pointer.as_of))) / _HOUR_US
    if hours > MOST_MODEL_AGE_H:
        yield Problem(
            f"{pointer.version}, of {pointer.as_of}, is {hours:,.0f} h old",
            f"a model serves for at most {MOST_MODEL_AGE_H} h",
            f"see why no night took over: leap pointer history {place.options}, "
            f"then leap retrain {place.options}",
        )


def artifact_problems(place: Place, target: str, pointer: Pointer) -> Problems:
    """Whether the version that is pointed at is there, whole, unaltered and of the target."""
    rule = "what is pointed at is complete and unaltered"
    back = f"leap pointer rollback {place.options} --target {target}"
    try:
        artifact = load(place.store.folder(pointer.uri), pointer.manifest_sha256, remember=False)
    except ArtifactError as fault:
        yield Problem(f"{pointer.version} cannot serve: {fault}", rule, back)
        return
    except StoreError as fault:
        if fault.__cause__ or fault.__context__:
            raise  # the store did not say; a file that is not there is a sentence by itself
        yield Problem(f"{pointer.version} cannot serve: {fault}", rule, back)
        return
    if artifact.target.name != target:
        yield Problem(f"{pointer.version} predicts {artifact.target.name}", rule, back)
