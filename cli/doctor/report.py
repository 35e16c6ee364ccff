"""What was looked at, what is wrong with it, and what could not be looked at."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cli.doctor.faults import reason_of

SOUND, WRONG, UNSEEN = 0, 1, 2
"""Exit codes: nothing is wrong, something is, or nothing was found but not all could be seen."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, with its figure; the rule that it breaks; and what to do."""

    wrong: str
    rule: str
    do: str

    def __str__(self) -> str:
        return f"{self.wrong}; {self.rule}: {self.do}"


Problems: TypeAlias = Iterator[Problem]


@dataclass(slots=True)
class Report:
    """Collects what checks find.

    Attributes
    ----------
    checked : list of str
        Names of the checks that were made to their end, in their order.
    problems, unseen : list of (str, Problem) and of (str, str)
        Each with the name of its check; why it could not be made.
    """

    checked: list[str] = field(default_factory=list)
    problems: list[tuple[str, Problem]] = field(default_factory=list)
    unseen: list[tuple[str, str]] = field(default_factory=list)

    def look(self, check: str, found: Iterable[Problem]) -> bool:
        """Make one check; whether it was made and found nothing.

        What it found before something failed counts, and the other checks go on.
        """
        before = len(self.problems)
        try:
            for problem in found:
                self.problems.append((check, problem))
        except Exception as fault:  # whatever it is, it is one line and ends this check alone
            self.unseen.append((check, reason_of(fault)))
            return False
        self.checked.append(check)
        return len(self.problems) == before

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        if self.problems:
            return WRONG
        return UNSEEN if self.unseen else SOUND

    def lines(self) -> list[str]:
        """One line a problem and one a check that could not be made."""
        return [
            *(f"{check}: {problem}" for check, problem in self.problems),
            *(f"cannot look at {check}: {why}" for check, why in self.unseen),
        ]

    def to_json(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "checked": list(self.checked),
            "problems": [
                {"check": check, "wrong": found.wrong, "rule": found.rule, "do": found.do}
                for check, found in self.problems
            ],
            "unseen": [{"check": check, "why": why} for check, why in self.unseen],
        }
