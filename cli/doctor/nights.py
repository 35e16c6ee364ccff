"""Whether the last night's model is pointed at, and if not, what its report says."""

import json
from typing import Final

from cli.doctor.place import Place
from cli.doctor.report import Problem, Problems
from leap_model.pointer import Pointer

TEST_RUN: Final = "a test run never points"
"""The reason of runs that were never to be pointed at (functions/retrain/pointing.py)."""


def night_problems(place: Place, target: str, pointer: Pointer | None) -> Problems:
    """The newest night that left a report, where it is later than what is served.

    A night that was rolled back from says of itself that it was pointed at, and is no problem.

    Parameters
    ----------
    place, target : Place, str
        Whose.
    pointer : Pointer, optional
        What is served.
    """
    keys = place.store.keys(f"reports/{target}")
    versions = {parts[2] for key in keys if len(parts := key.split("/")) == 4}
    served = "" if pointer is None else pointer.as_of
    later = sorted((version for version in versions if version[:10] > served), reverse=True)
    for version in later:
        # Of the newest night that counts: one may have run more than once, with other data.
        if version[:10] != later[0][:10]:
            return
        pointed, reason = _outcome(place, f"reports/{target}/{version}/metrics.json")
        if pointed:
            return
        if reason != TEST_RUN:
            yield Problem(
                f"the night of {version[:10]} published {version} and did not point at it: "
                f"{reason}",
                "each night's model takes over",
                f"see reports/{target}/{version}/report.html, and once that is settled "
                f"leap retrain {place.options} --target {target}",
            )
            return


def _outcome(place: Place, key: str) -> tuple[bool, str]:
    """Whether a report says that its version was pointed at, and why not."""
    try:
        metrics = json.loads(place.store.read(key) or b"")
        return bool(metrics["pointed"]), str(metrics["reason"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False, f"{key} cannot be read"
