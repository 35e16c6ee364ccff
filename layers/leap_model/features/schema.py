"""Which columns a model uses and how each becomes a number. Travels in the artifact."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self, TypeAlias

import numpy as np

from leap_model import limits
from leap_model.columns import Floats, Ints, Jobs, Labels, Matrix, Number
from leap_model.errors import ArtifactError
from leap_model.features.raw import FEATURES_VERSION, Raw

SCALES = ("ratio.log_accelerators", "ratio.log_peak", "ratio.log_rate")
"""Columns that a model may offset its prediction by: always kept where known, never missing."""
_NO_FEATURES = ("ratio.log_rate",)
"""Scales that other models do without: they have what it is made of."""

_OPEN_SOURCES = ("config", "config_text", "allocation", "allocation_text", "architecture")


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A number as it is; `imputed` stands for a missing one, None leaves it to the trees."""

    name: str
    imputed: float | None = None


@dataclass(frozen=True, slots=True)
class CategoryColumn:
    """A text as its place in `values`; the rest share one more code where training saw a rest."""

    name: str
    values: tuple[str, ...]
    other: bool
    _codes: Mapping[str, int] = field(init=False, repr=False, compare=False)

    @property
    def codes(self) -> int:
        """How many codes it has."""
        return len(self.values) + self.other

    def __post_init__(self) -> None:
        # Once a model, not once a request.
        codes = {text: code for code, text in enumerate(self.values)}
        object.__setattr__(self, "_codes", codes)

    def encode(self, values: Number | Labels | str | None) -> Number:
        """The code of each row, or one for all, NaN where missing, or unseen while training saw no
        rest."""
        rest = len(self.values) if self.other else math.nan
        if isinstance(values, str):
            return self._codes.get(values, rest)
        return values.numbers(self._codes, rest) if isinstance(values, Labels) else math.nan


_NONE: Final = np.empty(0)
Column: TypeAlias = NumberColumn | CategoryColumn


@dataclass(frozen=True, slots=True)
class Schema:
    """The features of a model, in the order of its matrix.

    `required` names the config and architecture entries that nearly every training row had.
    """

    columns: tuple[Column, ...]
    required: tuple[str, ...]
    _plan: "_Plan" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plan", _Plan.of(self.columns, self.required))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in the order of the matrix."""
        return tuple(column.name for column in self.columns)

    @property
    def required_entries(self) -> tuple[frozenset[str], frozenset[str]]:
        """The entries of config and of architecture that `required` names."""
        return self._plan.required

    def is_categorical(self) -> list[bool]:
        """Whether each column holds category codes."""
        return [isinstance(column, CategoryColumn) for column in self.columns]

    def with_numbers(self, names: Iterable[str]) -> "Schema":
        """This schema with more number columns at its end, 0 where missing."""
        more = tuple(NumberColumn(name, 0.0) for name in names)
        return Schema((*self.columns, *more), self.required)

    def encode(self, raw: Raw, rows: int) -> Matrix:
        """The feature matrix (rows, columns), column-major.

        A column that `raw` lacks is missing in every row, and so is what 32 bits do not hold.
        """
        table = np.empty((len(self.columns), rows), np.float32)
        plan = self._plan
        shared = [math.nan] * len(self.columns)
        own: dict[int, Floats] = {}
        for at, name in plan.numbers:
            values = raw.get(name)
            if isinstance(values, float):
                shared[at] = values
            elif isinstance(values, np.ndarray):
                own[at] = values
        for at, column in plan.categories:
            codes = column.encode(raw.get(column.name))
            if isinstance(codes, np.ndarray):
                own[at] = codes
            else:
                shared[at] = codes
        with np.errstate(over="ignore"):
            table[:] = np.array(shared).reshape(-1, 1)
            if rows <= limits.MOST_CANDIDATES:  # in one go: most of the time is that of a call
                table[list(own)] = np.concatenate([_NONE, *own.values()]).reshape(len(own), rows)
            else:
                for at, numbers in own.items():
                    table[at] = numbers
        np.copyto(table, np.nan, where=np.isinf(table))
        some = table[plan.gaps]
        table[plan.gaps] = np.where(np.isnan(some), plan.imputed, some)
        return table.T

    def to_json(self) -> dict[str, Any]:
        """The form that `from_json` reads back."""
        return {
            "features_version": FEATURES_VERSION,
            "columns": [
                {"name": column.name, "kind": "number", "imputed": column.imputed}
                if isinstance(column, NumberColumn)
                else {
                    "name": column.name,
                    "kind": "category",
                    "values": list(column.values),
                    "other": column.other,
                }
                for column in self.columns
            ],
            "required": list(self.required),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Schema":
        """Read a schema back.

        Raises
        ------
        ArtifactError
            It was made by other feature code, or is malformed.
        """
        version = document.get("features_version")
        if version != FEATURES_VERSION:
            raise ArtifactError(
                f"the artifact's features are of version {version}; this library makes version "
                f"{FEATURES_VERSION}"
            )
        try:
            columns = tuple(_column(entry) for entry in document["columns"])
            required = tuple(str(name) for name in document["required"])
        except (KeyError, TypeError, ValueError) as fault:
            raise ArtifactError(f"the artifact's feature schema is malformed: {fault}") from None
        if len({column.name for column in columns}) != len(columns):
            raise ArtifactError("the artifact's feature schema names a column twice")
        return cls(columns, required)


class _Plan(NamedTuple):
    """How to encode, worked out once a model and not once a request.

    `numbers` and `categories` are columns with their places. What is missing in the columns at
    `gaps` is `imputed`, (gaps, 1).
    """

    numbers: list[tuple[int, str]]
    categories: list[tuple[int, CategoryColumn]]
    gaps: Ints
    imputed: Matrix
    required: tuple[frozenset[str], frozenset[str]]

    @classmethod
    def of(cls, columns: tuple[Column, ...], required: tuple[str, ...]) -> Self:
        named = list(enumerate(columns))
        numbers = [(at, column) for at, column in named if isinstance(column, NumberColumn)]
        gaps = {at: column.imputed for at, column in numbers if column.imputed is not None}
        return cls(
            [(at, column.name) for at, column in numbers],
            [(at, column) for at, column in named if isinstance(column, CategoryColumn)],
            np.array(list(gaps), np.int64),
            np.array(list(gaps.values()), np.float32).reshape(-1, 1),
            (_entries("config.", required), _entries("architecture.", required)),
        )


def _entries(source: str, required: Iterable[str]) -> frozenset[str]:
    return frozenset(name.removeprefix(source) for name in required if name.startswith(source))


def _column(entry: Mapping[str, Any]) -> Column:
    if entry["kind"] == "category":
        return CategoryColumn(str(entry["name"]), tuple(entry["values"]), bool(entry["other"]))
    imputed = entry["imputed"]
    return NumberColumn(str(entry["name"]), None if imputed is None else float(imputed))


def fit_schema(
    raw: Raw,
    jobs: Jobs,
    most_categories: int = limits.MOST_CATEGORIES,
    least_rows: int = limits.LEAST_CATEGORY_ROWS,
    scale: str | None = None,
) -> Schema:
    """Choose the columns that tell training rows apart, for a model with a scale or with none.

    A column stays if it has two different values (missing counts as one). Of each open object the
    `limits.MOST_KEYS` commonest names stay. History that a family does not have becomes the
    median of those that have it, never zero, which would be one sample per second.
    """
    kept = _commonest(raw) - {name for name in _NO_FEATURES if name != scale}
    columns: list[Column] = []
    for name in sorted(kept):
        values = raw[name]
        if isinstance(values, Labels):
            category = _category(name, values, most_categories, least_rows)
            if category is not None:
                columns.append(category)
        elif isinstance(values, np.ndarray) and (
            _varies(values) or (name in SCALES and _present(values))
        ):
            columns.append(NumberColumn(name, _imputed(name, values)))
    return Schema(tuple(columns), tuple(_required(jobs)))


def _commonest(raw: Raw) -> set[str]:
    kept = set(raw)
    for source in _OPEN_SOURCES:
        names = [name for name in raw if name.startswith(f"{source}.")]
        by_rows = sorted(names, key=lambda name: (-_present(raw[name]), name))
        kept -= set(by_rows[limits.MOST_KEYS :])
    return kept


def _present(values: Number | Labels | str) -> int:
    if isinstance(values, Labels):
        return int(np.count_nonzero(values.codes >= 0))
    return int(np.count_nonzero(~np.isnan(values)))


def _varies(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return len(known) > 0 and (len(known) < len(values) or bool(np.any(known != known[0])))


def _imputed(name: str, values: Floats) -> float | None:
    if not name.startswith("history.") and name not in SCALES:
        return None
    return float(np.median(values[~np.isnan(values)]))


def _category(name: str, labels: Labels, most: int, least: int) -> CategoryColumn | None:
    counts = np.bincount(labels.codes + 1, minlength=len(labels.values) + 1)
    missing, by_code = int(counts[0]), counts[1:]
    common = [c for c in range(len(by_code)) if by_code[c] >= least]
    common.sort(key=lambda code: (-by_code[code], labels.values[code]))
    values = tuple(labels.values[code] for code in common[:most])
    named = sum(int(by_code[code]) for code in common[:most])
    other = named + missing < len(labels.codes)
    kinds = len(values) + other + (missing > 0)
    return CategoryColumn(name, values, other) if kinds > 1 and len(values) + other else None


def _required(jobs: Jobs) -> Iterable[str]:
    for source, objects in (("config", jobs.config), ("architecture", jobs.architecture)):
        for name, column in objects.by_name.items():
            if np.mean(column.present()) >= limits.NEARLY_ALWAYS:
                yield f"{source}.{name}"
