"""An answer as a person reads it."""

from collections.abc import Mapping
from typing import Any

from cli.console import out, print_table, printable, significant

_WHY = {
    "unknown_hardware": "the catalogue does not know it",
    "untrained_hardware": "too few training attempts ran on it",
    "no_cost": "no valid cost is known for it",
    "invalid_candidate": "the candidate breaks a rule",
    "premium_underused": "the job would not use a premium type well enough",
    "duplicate": "the same id was given before",
}


def print_answer(answer: Mapping[str, Any]) -> None:
    """The preference as a table, best first, and why the others are not in it."""
    if answer["preference"]:
        rows = [
            (
                entry["id"],
                significant(entry["throughput"]),
                f"{entry['cost_per_hour']:,.2f}",
                entry["num_trainers"],
                significant(entry["samples_per_dollar"]),
                "extrapolated" if entry.get("extrapolated") else "",
            )
            for entry in answer["preference"]
        ]
        columns = ("candidate", "samples/s", "$/host/h", "hosts", "samples/$", "")
        print_table("Preference, best first", columns, rows)
    else:
        detail = f": {answer['detail']}" if answer.get("detail") else ""
        out.print(f"no preference ({answer['reason']}){detail}")
    for entry in answer["excluded"]:
        why = entry.get("detail") or _WHY.get(entry["reason"], "")
        shown = entry["id"] or entry["hardware_type"] or "a candidate"
        out.print(printable(f"excluded {shown}: {entry['reason']} ({why})"))
    if answer.get("cold_start"):
        out.print("cold start: the job family has no earlier attempts")
    if answer["model_version"]:
        out.print(f"model {answer['model_version']}, ranking {answer['ranking_id']}")
