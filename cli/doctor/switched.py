"""Whether a stage's switches say whom it ranks."""

from cli.doctor.place import Place
from cli.doctor.report import Problem, Problems
from leap_model.errors import StoreError
from leap_model.switches import read_switches, switches_key


def switch_problems(place: Place) -> Problems:
    """The stage's switches. A share of 0 is somebody's decision, and no problem."""
    key = switches_key(place.stage)
    rule = "a stage ranks whom its switches name"
    if place.store.read(key) is None:  # apart, since a store that does not answer is no document
        yield Problem(
            f"{key} is not there: nobody is ranked",
            rule,
            f"leap switches set {place.options} --default PERCENT",
        )
        return
    try:
        read_switches(place.store, place.stage)
    except StoreError as fault:
        yield Problem(
            str(fault), rule, f"leap switches set {place.options} --replace --default PERCENT"
        )
