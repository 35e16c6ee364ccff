"""Questions to AWS, each with a time budget, each with a sentence for what it fails with."""

from email.utils import parsedate_to_datetime
from typing import Any, Final

from cli.doctor.faults import LookError, code_in, is_denied, lacking
from cli.doctor.report import Problem, Problems
from cli.doctor.rules import MOST_SKEW_S
from leap_model.aws import Budget, client
from leap_model.times import now_us, parse_time

BUDGET: Final = Budget(2.0, 10.0, 2)
"""A person waits, and would rather read of one failure than wait for four tries."""
_ABSENT: Final = {
    *("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "NoSuchEntity"),
    *("ResourceNotFoundException", "ResourceNotFound", "ParameterNotFound"),
}
"""Of what is named outright and is not there."""
_ABSENT_IN: Final = {"cloudformation": "ValidationError", "ecs": "ClientException"}
"""These two have no code of its own for it."""


class Account:
    """The account and region that the caller's credentials and configuration name.

    Attributes
    ----------
    caller, number : str
        ARN of the caller and the account, once `identify` was asked.
    """

    def __init__(self) -> None:
        self.caller = ""
        self.number = ""
        self._clients: dict[str, Any] = {}
        self._skew_s: float | None = None

    def client(self, service: str) -> Any:
        """A client of a service, made once."""
        if service not in self._clients:
            self._clients[service] = client(service, BUDGET)
        return self._clients[service]

    @property
    def region(self) -> str:
        """Where everything is looked for."""
        return str(self.client("sts").meta.region_name)

    @property
    def has_time(self) -> bool:
        """Whether AWS has said what time it is there."""
        return self._skew_s is not None

    def ask(self, service: str, method: str, on: str, **arguments: Any) -> Any:
        """The answer to a call, or None where what it is about is not there.

        Parameters
        ----------
        service, method : str
            Of boto3.
        on : str
            What the call is about, for whoever reads of its failure.
        **arguments
            Of the call.

        Raises
        ------
        LookError
            The caller may not, or AWS did not say.
        """
        try:
            return getattr(self.client(service), method)(**arguments)
        except Exception as fault:
            return self._absent(service, method, on, fault)

    def pages(self, service: str, method: str, on: str, **arguments: Any) -> list[Any]:
        """All pages of a list; raises LookError as `ask` does."""
        try:
            return list(self.client(service).get_paginator(method).paginate(**arguments))
        except Exception as fault:
            self._absent(service, method, on, fault)
            return []

    def identify(self) -> None:
        """Learn who the caller is and what time AWS has.

        Raises
        ------
        LookError
            There are no usable credentials, or AWS cannot be reached: no other call will do.
        """
        try:
            answer = self.client("sts").get_caller_identity()
        except Exception as fault:
            self._compare(getattr(fault, "response", None))
            said = code_in(fault)
            raise LookError(f"who calls: {said or _words(fault)}") from None
        self._compare(answer)
        self.caller, self.number = str(answer["Arn"]), str(answer["Account"])

    def clock_problems(self) -> Problems:
        """This machine's clock against AWS's.

        Raises
        ------
        LookError
            No answer of AWS said what time it is there.
        """
        if self._skew_s is None:
            raise LookError("AWS's answer has no Date")
        if abs(self._skew_s) > MOST_SKEW_S:
            way = "ahead of" if self._skew_s > 0 else "behind"
            yield Problem(
                f"this machine's clock is {abs(self._skew_s):,.0f} s {way} AWS's",
                f"AWS takes signatures of the last {MOST_SKEW_S} s",
                "set it by NTP, for one with timedatectl set-ntp true",
            )

    def _compare(self, answer: Any) -> None:
        headers = answer.get("ResponseMetadata", {}) if isinstance(answer, dict) else {}
        said = headers.get("HTTPHeaders", {}).get("date")
        if said:
            theirs = parse_time(parsedate_to_datetime(said).isoformat())
            self._skew_s = (now_us() - theirs) / 1e6

    def _absent(self, service: str, method: str, on: str, fault: Exception) -> None:
        """Nothing, where a call failed since there is none; raises LookError for anything else."""
        code = code_in(fault)
        if code in _ABSENT or (code and code == _ABSENT_IN.get(service)):
            return
        if is_denied(fault):
            operation = self.client(service).meta.method_to_api_mapping[method]
            raise LookError(lacking(f"{service}:{operation}", on)) from None
        raise LookError(f"{on}: {code or _words(fault)}") from None


def _words(fault: BaseException) -> str:
    return f"{type(fault).__name__}: {' '.join(str(fault).split())}"
