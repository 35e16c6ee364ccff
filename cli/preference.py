"""An answer as a person reads it."""

from collections.abc import Mapping
from typing import Any

from cli.console import out, percent, print_table, printable, significant

_WHY = {
    "unknown_hardware": "the catalogue does not know it",
    "untrained_hardware": "too few training attempts ran on it",
    "no_cost": "no valid cost is known for it",
    "invalid_candidate": "the candidate breaks a rule",
    "duplicate": "the same id was given before",
}


def print_answer(answer: Mapping[str, Any]) -> None:
    """The preference as a table, best first, and why the others are not in it."""
    if answer["preference"]:
        has_utilization = any("utilization" in entry for entry in answer["preference"])
        rows = [
            (
                entry["id"],
                significant(entry["throughput"]),
                f"{entry['cost_per_hour']:,.2f}",
                entry["num_trainers"],
                significant(entry["samples_per_dollar"]),
                *([percent(entry.get("utilization"))] if has_utilization else []),
                "extrapolated" if entry.get("extrapolated") else "",
            )
            for entry in answer["preference"]
        ]
        used = ("utilization",) if has_utilization else ()
        columns = ("candidate", "samples/s", "$/host/h", "hosts", "samples/$", *used, "")
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
    for target, version in answer["models"].items():
        out.print(f"{target} model {version}")
    if answer["models"]:
        out.print(f"ranking {answer['ranking_id']}")
