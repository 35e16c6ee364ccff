"""What CloudFormation says of a stage's stack."""

from typing import Final

from cli.doctor.account import Account
from cli.doctor.names import Names
from cli.doctor.report import Problem, Problems

_SETTLED: Final = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")
_UNDER_WAY: Final = "_IN_PROGRESS"


def stack_problems(account: Account, names: Names, outputs: dict[str, str]) -> Problems:
    """The state of the stack. Its outputs are put into `outputs`."""
    name = names.stack
    answer = account.ask("cloudformation", "describe_stacks", on=name, StackName=name)
    if not answer or not answer["Stacks"]:
        yield Problem(
            f"CloudFormation has no stack {name} in {account.region}",
            "a deployed stage is one stack",
            f"name the stage's region, or make deploy STAGE={names.stage}",
        )
        return
    (stack,) = answer["Stacks"]
    outputs.update({entry["OutputKey"]: entry["OutputValue"] for entry in stack.get("Outputs", ())})
    status = stack["StackStatus"]
    if status not in _SETTLED and not status.endswith(_UNDER_WAY):
        why = " ".join(stack.get("StackStatusReason", "see its events").split())
        yield Problem(
            f"the stack {name} is {status} ({why})",
            "its last deployment went through",
            f"mend what its events name, then make deploy STAGE={names.stage}",
        )
