"""The functions and the nightly task: whether they are there, run, and are told the truth."""

from collections.abc import Mapping
from typing import Any

from cli.doctor.account import Account
from cli.doctor.names import Names
from cli.doctor.report import Problem, Problems


def function_problems(account: Account, name: str, stage: str, root: str | None) -> Problems:
    """One function's state and what its environment says.

    Parameters
    ----------
    account, name : Account, str
        Where, and what it is called.
    stage, root : str
        What it is to be told: its stage, and the root of the stage's store (None: not known).
    """
    found = account.ask("lambda", "get_function_configuration", on=name, FunctionName=name)
    if found is None:
        yield Problem(f"{name} is not there", "a stage has it", f"make deploy STAGE={stage}")
        return
    for state, why in (("State", "StateReason"), ("LastUpdateStatus", "LastUpdateStatusReason")):
        if found.get(state) == "Failed":
            reason = found.get(why, "no reason is given")
            yield Problem(
                f"the {state} of {name} is Failed: {reason}",
                "a function can be called",
                f"make deploy STAGE={stage}",
            )
    variables = found.get("Environment", {}).get("Variables", {})
    yield from told_problems(name, variables, stage, root)


def told_problems(name: str, told: Mapping[str, str], stage: str, root: str | None) -> Problems:
    """What something that runs is told of its store and stage, against what is so."""
    for variable, right in (("LEAP_STORE", root), ("LEAP_STAGE", stage)):
        said = told.get(variable, "")
        if right is not None and said.strip().rstrip("/") != right.rstrip("/"):
            yield Problem(
                f"{variable} of {name} is {said or 'missing'}",
                f"the stage's is {right}",
                f"make deploy STAGE={stage}",
            )


def mapping_problems(account: Account, names: Names) -> Problems:
    """Whether the ingest function is given what waits in the queue."""
    pages = account.pages(
        "lambda", "list_event_source_mappings", on=names.ingest, FunctionName=names.ingest
    )
    mappings: list[dict[str, Any]] = [m for page in pages for m in page["EventSourceMappings"]]
    own = [m for m in mappings if m.get("EventSourceArn", "").endswith(f":{names.queue}")]
    rule = f"{names.ingest} is given what waits in {names.queue}"
    if not own:
        do = f"make deploy STAGE={names.stage}"
        yield Problem("there is no event source mapping", rule, do)
    for mapping in own:
        if mapping["State"] in ("Disabled", "Disabling"):
            yield Problem(
                f"the event source mapping {mapping['UUID']} is {mapping['State']}",
                rule,
                f"aws lambda update-event-source-mapping --uuid {mapping['UUID']} --enabled",
            )
