"""All that is looked at of a deployed stage."""

from cli.doctor.account import Account
from cli.doctor.alarms import alarm_problems
from cli.doctor.caller import url_problems
from cli.doctor.examination import examine_store
from cli.doctor.functions import function_problems, mapping_problems
from cli.doctor.names import Names
from cli.doctor.place import Place, afresh
from cli.doctor.queues import dead_letter_problems, nightly_letter_problems, queue_problems
from cli.doctor.report import Problem, Problems, Report
from cli.doctor.schedule import schedule_problems
from cli.doctor.stack import stack_problems
from leap_model.environment import store_uri
from leap_model.errors import FieldError
from leap_model.parameters import Parameters, deployed_pointer, store_parameter
from leap_model.pointer import Pointer


def examine_stage(report: Report, stage: str, now: int) -> str | None:
    """Look at a stage in the account and region of the caller; the root of its store, if known.

    Parameters
    ----------
    report : Report
        Is told what is found.
    stage : str
        Its name.
    now : int
        Microseconds.
    """
    account, names = Account(), Names(stage)
    if not _identified(report, account):
        return None
    outputs: dict[str, str] = {}
    roots: list[str] = []
    report.look("stack", stack_problems(account, names, outputs))
    report.look("parameters", _root_problems(account, names, roots))
    if not roots and "BucketName" in outputs:
        roots.append(f"s3://{outputs['BucketName']}")
    root = roots[0] if roots else None
    if root is None and not outputs and report.problems:
        return None  # the stage is not here: a line for each of its parts would say no more
    if root is not None:
        _examine_store(report, account, root, stage, now)
    _examine_services(report, account, names, root, outputs.get("RankUrl"), now)
    return root


def _identified(report: Report, account: Account) -> bool:
    """Whether AWS knows the caller; if not, every other call would fail for the same reason."""
    known: list[bool] = []

    def identify() -> Problems:
        account.identify()
        known.append(True)
        yield from ()

    report.look("AWS", identify())
    if known or account.has_time:
        report.look("clock", account.clock_problems())
    return bool(known)


def _root_problems(account: Account, names: Names, roots: list[str]) -> Problems:
    """The parameter that says where the store is; what it says is put into `roots`."""
    name = store_parameter(names.stage)
    answer = account.ask("ssm", "get_parameter", on=name, Name=name)
    if answer is None:
        yield Problem(
            f"{name} is not there, in {account.region} of account {account.number}",
            "a deployed stage says where its store is",
            f"name the stage's region, or make deploy STAGE={names.stage}",
        )
        return
    said = str(answer["Parameter"]["Value"])
    try:
        roots.append(store_uri({"LEAP_STORE": said}))
    except FieldError as fault:
        yield Problem(
            f"{name} is {said}", f"it is {fault.rule}", f"make deploy STAGE={names.stage}"
        )


def _examine_store(report: Report, account: Account, root: str, stage: str, now: int) -> None:
    parameters = Parameters(account.client("ssm"))

    def pointer(target: str) -> Pointer | None:
        return deployed_pointer(parameters, stage, target)

    with afresh(root) as store:
        examine_store(report, Place(store, stage, now), pointer)


def _examine_services(
    report: Report,
    account: Account,
    names: Names,
    root: str | None,
    url: str | None,
    now: int,
) -> None:
    attempt = "an event that could not be delivered or filed"
    night = f"leap retrain --stage {names.stage}" + (f" --store {root}" if root else "")
    letters, nights = names.dead_letters, names.nightly_dead_letters
    report.look("dead letters", dead_letter_problems(account, letters, attempt))
    report.look("queue", queue_problems(account, names.queue, names.ingest, now))
    for function in (names.ingest, names.rank):
        found = function_problems(account, function, names.stage, root)
        report.look(f"function {function}", found)
    report.look("event source mapping", mapping_problems(account, names))
    report.look("schedule", schedule_problems(account, names, root))
    report.look("nightly dead letters", nightly_letter_problems(account, nights, night))
    report.look("alarms", alarm_problems(account, names))
    report.look("function URL", url_problems(account, names, url))
