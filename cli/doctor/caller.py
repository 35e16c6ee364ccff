"""Whether the caller may ask the rank function over its URL."""

import json
from typing import Any, Final

from cli.doctor.account import Account
from cli.doctor.faults import LookError
from cli.doctor.names import Names
from cli.doctor.report import Problem, Problems
from leap_model.errors import SigningError

_ACTIONS: Final = {
    "lambda:InvokeFunctionUrl": ("lambda:FunctionUrlAuthType", "string", "AWS_IAM"),
    "lambda:InvokeFunction": ("lambda:InvokedViaFunctionUrl", "boolean", "true"),
}
"""What a function URL asks of its caller, each with what a policy's condition sees then."""
_NOWHERE: Final = "doctor"
"""A path that the function answers with 404: who is let in is known, and nothing is ranked."""
_TIMEOUT_S: Final = 20.0
"""A function that has to start takes seconds."""


def url_problems(account: Account, names: Names, output: str | None) -> Problems:
    """Whether the caller may invoke the function URL, by IAM's own word or else by a call.

    Parameters
    ----------
    account, names : Account, Names
        Whose, and of which stage.
    output : str, optional
        The URL, as the stack states it.

    Raises
    ------
    LookError
        Neither IAM nor the function could be asked.
    """
    try:
        refused = _refused(account, names)
    except LookError:
        yield from _called(account, names, output or _url(account, names))
        return
    for action in refused:
        yield _may_not(account.caller, action, names)


def _refused(account: Account, names: Names) -> list[str]:
    """The actions that IAM says the caller may not do."""
    source = _identity(account)
    if source is None:
        return []
    function = f"arn:{account.client('lambda').meta.partition}:lambda:{account.region}"
    context = [
        {"ContextKeyName": key, "ContextKeyType": kind, "ContextKeyValues": [value]}
        for key, kind, value in _ACTIONS.values()
    ]
    answer = account.ask(
        "iam",
        "simulate_principal_policy",
        on=source,
        PolicySourceArn=source,
        ActionNames=list(_ACTIONS),
        ResourceArns=[f"{function}:{account.number}:function:{names.rank}"],
        ContextEntries=context,
    )
    if answer is None:
        raise LookError(f"IAM knows no {source}")
    results = answer["EvaluationResults"]
    return [entry["EvalActionName"] for entry in results if entry["EvalDecision"] != "allowed"]


def _identity(account: Account) -> str | None:
    """The user or role whose policies count; None for the account's owner, who may do anything."""
    kind, _, name = account.caller.rpartition(":")[2].partition("/")
    if kind == "root":
        return None
    if kind == "user":
        return account.caller
    if kind != "assumed-role":
        raise LookError(f"{account.caller} is no user or role")
    # Its path is not in the caller's ARN.
    role = name.partition("/")[0]
    found = account.ask("iam", "get_role", on=role, RoleName=role)
    if found is None:
        raise LookError(f"IAM knows no role {role}")
    return str(found["Role"]["Arn"])


def _url(account: Account, names: Names) -> str:
    found: Any = account.ask(
        "lambda", "get_function_url_config", on=names.rank, FunctionName=names.rank
    )
    if found is None:
        raise LookError(f"{names.rank} has no URL")
    return str(found["FunctionUrl"])


def _called(account: Account, names: Names, url: str) -> Problems:
    # Here: they cost an import of what only this looks at.
    from leap_model.posting import post
    from leap_model.signing import Signer

    place = f"{url.rstrip('/')}/{_NOWHERE}"
    body = json.dumps({}).encode()
    try:
        headers = Signer(place).headers(body, _TIMEOUT_S)
        status, _ = post(place, body, _TIMEOUT_S, headers)
    except SigningError:
        raise
    except Exception as fault:
        why = " ".join(str(fault).split())
        raise LookError(f"{url} did not answer: {type(fault).__name__}: {why}") from None
    if status == 403:
        yield _may_not(account.caller, " and ".join(_ACTIONS), names)
    elif status >= 500:
        yield Problem(
            f"{url} answers {status}",
            "the rank function answers whatever it is asked",
            f"see the log of {names.rank}",
        )


def _may_not(caller: str, action: str, names: Names) -> Problem:
    return Problem(
        f"{caller} may not {action} on {names.rank}",
        "who asks for rankings over HTTP may do both",
        f"attach the policy {names.of('launcher')} to the role that asks",
    )
