"""Which checks are made of a stage, in which order."""

from datetime import date
from typing import Final

from cli.doctor.arrivals import attempt_problems, newest_day, rejected_problems
from cli.doctor.faults import code_in
from cli.doctor.hardware import catalogue_problems
from cli.doctor.models import Parameter, age_problems, artifact_problems, pointer_problems
from cli.doctor.nights import night_problems
from cli.doctor.place import Place
from cli.doctor.report import Problem, Problems, Report
from cli.doctor.switched import switch_problems
from leap_model.errors import StoreError
from leap_model.pointer import Pointer
from leap_model.store import LocalStore
from leap_model.targets import TARGETS

_OWN: Final = "local"
"""A person's own folder: it has no switches unless they are asked for."""


def examine_store(report: Report, place: Place, parameter: Parameter | None = None) -> None:
    """All that a store can tell of a stage.

    Parameters
    ----------
    report : Report
        Is told what is found.
    place : Place
        The stage, and its store.
    parameter : callable, optional
        The pointer that a deployed stage's readers go by, of a target.
    """
    if not report.look("store", _store_problems(place)):
        return
    served: dict[str, Pointer] = {}
    for target in TARGETS:
        report.look(f"pointer of {target}", pointer_problems(place, target, parameter, served))
    for target, pointer in served.items():
        report.look(f"age of the {target} model", age_problems(place, pointer))
        report.look(f"{target} model", artifact_problems(place, target, pointer))
        _examine_tags(report, place, target, pointer)
    for target in TARGETS:
        night = night_problems(place, target, served.get(target))
        report.look(f"last night of {target}", night)
    _examine_records(report, place)
    if place.stage != _OWN:
        report.look("switches", switch_problems(place))


def _store_problems(place: Place) -> Problems:
    """A bucket that does not exist is one problem, and not one of everything in it."""
    try:
        place.store.size(f"pointers/{place.stage}/switches.json")
        place.store.keys(f"pointers/{place.stage}")
    except StoreError as fault:
        code = code_in(fault)
        if not code:
            raise  # S3 never answered, and will not answer the other checks either
        if code != "NoSuchBucket":
            return  # it is said where it matters
        yield Problem(
            f"the bucket of {place.store} does not exist",
            "a stage has its store",
            "name the right store, or deploy the stage",
        )


def _examine_tags(report: Report, place: Place, target: str, pointer: Pointer) -> None:
    if isinstance(place.store, LocalStore):
        return  # nothing expires in a folder
    from cli.doctor.account import BUDGET
    from cli.doctor.expiry import expiry_problems
    from leap_model.aws import client
    from leap_model.s3 import S3Store

    assert isinstance(place.store, S3Store)
    tags = expiry_problems(place.store, client("s3", BUDGET), pointer)
    report.look(f"expiry of the {target} model", tags)


def _examine_records(report: Report, place: Place) -> None:
    newest: list[date | None] = []

    def attempts() -> Problems:
        newest.append(newest_day(place))
        yield from attempt_problems(place, newest[0])

    report.look("attempts", attempts())
    day = newest[0] if newest else None
    report.look("rejected records", rejected_problems(place, day))
    report.look("catalogue", catalogue_problems(place, day))
