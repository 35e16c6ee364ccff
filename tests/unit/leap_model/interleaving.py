"""Writers of a stage's pointer, one call to S3 or SSM at a time, in every order that there is.

A writer is real code that is run again from its beginning for each of its calls: those that were
answered before are answered the same, and the first new one ends it. What all of them see is a
value, so that two orders that lead to the same are followed once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from leap_model.errors import ConflictError
from leap_model.parameters import pointer_parameter
from leap_model.pointer import Pointer, parse_pointer, pointer_key

STAGE = ("prod", "throughput")
OBJECT, PARAMETER = pointer_key(*STAGE), pointer_parameter(*STAGE)

Call: TypeAlias = tuple[Any, ...]
Outcome: TypeAlias = tuple[Any, bool]
"""What a call gave, and whether it lost a race instead."""
Act: TypeAlias = Callable[["Replay"], None]


class NotAnswered(BaseException):
    """Ends a writer at its first call that has no answer yet; no `except Exception` takes it."""

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.call = call


@dataclass(frozen=True)
class World:
    """S3's objects by key, SSM's parameters by name, and what they were before.

    Attributes
    ----------
    objects : tuple of Pointer
        What the pointer's object has said, oldest first.
    told : tuple of Pointer
        The same of the parameter.
    """

    contents: tuple[tuple[str, bytes], ...] = ()
    objects: tuple[Pointer, ...] = ()
    told: tuple[Pointer, ...] = ()

    def after(self, call: Call) -> tuple["World", Outcome]:
        """What is there after a call, and its outcome."""
        verb, name, *values = call
        held = dict(self.contents)
        if verb == "read":
            return self, (held.get(name), False)
        if verb == "keys":
            return self, (tuple(sorted(key for key in held if key.startswith(f"{name}/"))), False)
        if verb == "create":
            return (self, (None, True)) if name in held else (self._with(name, *values), (1, False))
        content, over = values
        if verb == "replace" and held.get(name) != over:
            return self, (None, True)
        return self._with(name, content), (None, False)

    def _with(self, name: str, content: bytes) -> "World":
        held = tuple(sorted({**dict(self.contents), name: content}.items()))
        now = replace(self, contents=held)
        if name == OBJECT:
            return replace(now, objects=(*self.objects, parse_pointer(content)))
        if name == PARAMETER:
            return replace(now, told=(*self.told, parse_pointer(content)))
        return now


@dataclass
class Replay:
    """A store and the parameters, as one writer sees them. An object's tag is its content."""

    answered: tuple[Outcome, ...]
    at: int = field(default=0)

    def _ask(self, *call: Any) -> Any:
        if self.at == len(self.answered):
            raise NotAnswered(call)
        value, lost = self.answered[self.at]
        self.at += 1
        if lost:
            raise ConflictError(f"{call[1]} was changed by another writer")
        return value

    # A store, of which the moves of a pointer need no more than this.
    def fetch(self, key: str) -> tuple[Any, Any]:
        content = self._ask("read", key)
        return content, content

    def keys(self, prefix: str) -> list[str]:
        return list(self._ask("keys", prefix))

    def create(self, key: str, content: bytes) -> bool:
        try:
            return bool(self._ask("create", key, content))
        except ConflictError:
            return False

    def replace(self, key: str, content: bytes, etag: Any) -> str:
        self._ask("replace", key, content, etag)
        return "its tag"

    def folder(self, prefix: str) -> Path:
        return Path(prefix)

    def retain(self, prefix: str) -> None:
        """Nothing expires here."""

    # Of the store an object's content, of the parameters a text.
    def read(self, name: str) -> Any:
        content = self._ask("read", name)
        return content.decode() if content is not None and name == PARAMETER else content

    def write(self, name: str, text: str) -> None:
        self._ask("write", name, text.encode(), None)


def next_call(act: Act, answered: tuple[Outcome, ...]) -> Call | None:
    """The call that a writer makes after those that were answered; None where it has ended."""
    try:
        act(Replay(answered))
    except NotAnswered as stopped:
        return stopped.call
    return None


def alone(world: World, act: Act) -> World:
    """What is there after a writer that nobody disturbed."""
    *_, (last, _) = every_moment(world, [act])
    return last


def every_moment(world: World, acts: list[Act]) -> Iterator[tuple[World, bool]]:
    """Every state that any order of the writers' calls leads to, and whether all have ended.

    Since a writer may be the last to make each of its calls, a writer that is killed after any of
    them leaves nothing that is not among these.
    """

    @cache
    def called(at: int, answered: tuple[Outcome, ...]) -> Call | None:
        return next_call(acts[at], answered)

    begun: tuple[tuple[Outcome, ...], ...] = ((),) * len(acts)
    left, known = [(world, begun)], {(world, begun)}
    while left:
        now, logs = left.pop()
        calls = [called(at, log) for at, log in enumerate(logs)]
        yield now, not any(calls)
        for at, call in enumerate(calls):
            if call is None:
                continue
            then, outcome = now.after(call)
            state = (then, (*logs[:at], (*logs[at], outcome), *logs[at + 1 :]))
            if state not in known:
                known.add(state)
                left.append(state)
