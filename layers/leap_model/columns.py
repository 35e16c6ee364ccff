"""Columns: the arrays that jobs and candidates become before a feature is made of them.

Nothing here works row by row. Text is dictionary-encoded once, so that later steps do their
Python work per distinct value.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import nan
from operator import is_
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Number: TypeAlias = Floats | float
"""(n,) numbers, or one for all: what a job has on every candidate need not be an array."""
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]
Matrix: TypeAlias = NDArray[np.floating[Any]]
"""Features. Those of a schema are of 32 bits, in training as in serving: half the memory, and half
of what goes to a cluster. What is computed of them is of 64."""


class Labels(NamedTuple):
    """A text column. `codes` (n,) index `values`; −1 is missing."""

    codes: Codes
    values: tuple[str, ...]

    @classmethod
    def of(cls, texts: Iterable[str | None]) -> Self:
        """Encode texts; codes count up in order of first appearance."""
        index: dict[str, int] = {}
        codes = [-1 if text is None else index.setdefault(text, len(index)) for text in texts]
        return cls(np.array(codes, np.int32), tuple(index))

    def take(self, rows: NDArray[Any]) -> "Labels":
        """The column at some rows."""
        return Labels(self.codes[rows], self.values)

    def recode(self, table: Mapping[str, int], unknown: int) -> Codes:
        """Codes of another dictionary; `unknown` where it lacks the text, −1 where missing."""
        lookup = np.array([*(table.get(text, unknown) for text in self.values), -1], np.int32)
        return lookup[self.codes]

    def numbers(self, table: Mapping[str, float], unknown: float) -> Floats:
        """(n,) the table's number for each text, `unknown` where it lacks the text, NaN where the
        text is missing."""
        return np.array([*(table.get(text, unknown) for text in self.values), np.nan])[self.codes]

    def map(self, function: Callable[[str], str | None]) -> "Labels":
        """The column with every distinct value replaced by `function(value)`."""
        renamed = [function(text) for text in self.values]
        distinct = Labels.of(renamed)
        lookup = np.append(distinct.codes, np.int32(-1))
        return Labels(lookup[self.codes], distinct.values)


class Open(NamedTuple):
    """One name of an open object: numbers and texts apart, since a name may carry both.

    Booleans are the numbers 0 and 1. `numbers` (n,) is NaN where the value is no number.
    """

    numbers: Floats
    labels: Labels

    def present(self) -> NDArray[np.bool_]:
        """(n,) whether the row has a value."""
        return ~np.isnan(self.numbers) | (self.labels.codes >= 0)


@dataclass(frozen=True, slots=True)
class Objects:
    """A column of open objects, one `Open` a name, all of `rows` rows.

    An object that all rows share stays as it is, in `shared`, and nothing is in `by_name`: what
    comes of it is one number or text for all.
    """

    rows: int
    by_name: Mapping[str, Open]
    shared: Mapping[str, Any] | None = None

    @classmethod
    def of_rows(cls, objects: Sequence[Mapping[str, Any] | None]) -> Self:
        """As `of`, but shared where all are the same object, and not an equal one."""
        first = objects[0] if objects else None
        if first is None or not all(map(is_, objects, repeat(first))):
            return cls.of(objects)
        return cls(len(objects), {}, first)

    @classmethod
    def of(cls, objects: Sequence[Mapping[str, Any] | None]) -> Self:
        """Turn objects into columns; the one place that walks them one by one.

        An object that is there several times, as itself and not as an equal one, is walked once.
        """
        first: dict[int, int] = {}
        places = [first.setdefault(id(entries), len(first)) for entries in objects]
        if len(first) == len(objects):
            return cls._of(objects)
        distinct = dict(zip(places, objects, strict=True))
        return cls._of(list(distinct.values())).take(np.array(places, np.int64))

    @classmethod
    def _of(cls, objects: Sequence[Mapping[str, Any] | None]) -> Self:
        found: dict[str, tuple[list[int], list[float], list[int], list[str]]] = {}
        for row, entries in enumerate(objects):
            for name, value in (entries or {}).items():
                if value is None:
                    continue
                at, numbers, text_at, texts = found.setdefault(name, ([], [], [], []))
                if isinstance(value, str):
                    text_at.append(row)
                    texts.append(value)
                else:
                    at.append(row)
                    numbers.append(float(value))
        rows = len(objects)
        return cls(rows, {name: _open(rows, *lists) for name, lists in sorted(found.items())})

    def take(self, rows: NDArray[Any]) -> Self:
        """The column at some rows."""
        return type(self)(
            len(rows),
            {
                name: Open(column.numbers[rows], column.labels.take(rows))
                for name, column in self.by_name.items()
            },
            self.shared,
        )

    def columns(self) -> Iterator[tuple[str, Number | None, Labels | str | None]]:
        """Each name, its numbers and its texts; of a shared object the one that it has."""
        if self.shared is None:
            for name, column in self.by_name.items():
                yield name, column.numbers, column.labels
            return
        for name, value in self.shared.items():
            if isinstance(value, str):
                yield name, None, value
            elif value is not None:
                yield name, float(value), None

    def number(self, *names: str) -> Number:
        """(n,) the first of the names that each row has as a number, else NaN; one for all rows
        where they share an object."""
        if self.shared is not None:
            values = map(self.shared.get, names)
            known = (v for v in values if v is not None and not isinstance(v, str))
            return float(next(known, nan))
        found = [self.by_name[name].numbers for name in names if name in self.by_name]
        if not found:
            return np.full(self.rows, np.nan)
        result = found[0]
        for other in found[1:]:
            result = np.where(np.isnan(result), other, result)
        return result

    def says(self, names: Iterable[str], texts: Container[str], number: float) -> Any:
        """(n,) whether an entry of one of the names is one of some texts, whatever its case, or a
        number; one answer for all rows where they share an object."""
        if self.shared is not None:
            values = [self.shared.get(name) for name in names]
            return any(
                value.casefold() in texts if isinstance(value, str) else value == number
                for value in values
            )
        said: NDArray[np.bool_] = np.zeros(self.rows, bool)
        for name in names:
            if name in self.by_name:
                numbers, labels = self.by_name[name]
                said |= numbers == number
                among = [text.casefold() in texts for text in labels.values]
                said |= np.array([*among, False], bool)[labels.codes]
        return said


def _open(
    rows: int, at: list[int], numbers: list[float], text_at: list[int], texts: list[str]
) -> Open:
    column = np.full(rows, np.nan)
    column[at] = numbers
    encoded = Labels.of(texts)
    codes = np.full(rows, -1, np.int32)
    codes[text_at] = encoded.codes
    return Open(column, Labels(codes, encoded.values))


@dataclass(frozen=True, slots=True)
class Jobs:
    """What is known of n (job, hardware type) pairs before they run.

    `hardware_type` holds the catalogue's own names where it knows the type. `num_trainers` (n,)
    hosts, `batch_size` (n,) samples per host and step, `accelerators_per_host` (n,) NaN where
    unknown, `launched_at` (n,) int64 microseconds UTC.
    """

    model_type: Labels
    hardware_type: Labels
    family: Labels
    num_trainers: Floats
    batch_size: Floats
    accelerators_per_host: Floats
    launched_at: Ints
    config: Objects
    allocation: Objects
    architecture: Objects

    def __len__(self) -> int:
        return len(self.num_trainers)

    def take(self, rows: NDArray[Any]) -> "Jobs":
        """The jobs at some rows."""
        return Jobs(
            self.model_type.take(rows),
            self.hardware_type.take(rows),
            self.family.take(rows),
            self.num_trainers[rows],
            self.batch_size[rows],
            self.accelerators_per_host[rows],
            self.launched_at[rows],
            self.config.take(rows),
            self.allocation.take(rows),
            self.architecture.take(rows),
        )
