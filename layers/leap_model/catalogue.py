"""The hardware catalogue: what each accelerator type is and costs (contract section 2)."""

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leap_model import fields, limits
from leap_model.cells import value_of_cell
from leap_model.columns import Labels
from leap_model.errors import CatalogueError, FieldError

SPECIFICATIONS = (
    "peak_fp16_tflops",
    "peak_fp32_tflops",
    "memory_gb",
    "memory_bandwidth_gb_s",
    "scale_up_gb_s",
    "network_gb_s",
    "accelerators_per_host",
    "process_node_nm",
    "l1_cache_kb",
    "l2_cache_mb",
    "tdp_w",
    "release_year",
)
"""The twelve that the paper names. Other numeric columns of a catalogue are features as well."""

_NOT_SPECIFICATIONS = {
    "cost_per_hour",
    "cost_per_accelerator_hour",
    "premium",
    "premium_min_efficiency",
}
_ALIAS_SEPARATORS = str.maketrans({";": "\n", "|": "\n"})


@dataclass(frozen=True, slots=True)
class HardwareType:
    """One accelerator type. Costs are US dollars an hour; unknown values are absent or None."""

    hardware_type: str
    vendor: str | None = None
    specifications: Mapping[str, float] = field(default_factory=dict)
    cost_per_hour: float | None = None
    cost_per_accelerator_hour: float | None = None
    premium: bool = False
    premium_min_efficiency: float = limits.PREMIUM_MIN_EFFICIENCY
    aliases: tuple[str, ...] = ()

    def host_cost(self, accelerators_per_host: float | None) -> float | None:
        """Dollars an hour of one host, or None where the catalogue does not say."""
        if self.cost_per_hour is not None:
            return self.cost_per_hour
        if self.cost_per_accelerator_hour is None or accelerators_per_host is None:
            return None
        return self.cost_per_accelerator_hour * accelerators_per_host


def fold(name: str) -> str:
    """The form under which names are compared: trimmed, case folded, nothing else."""
    return name.strip().casefold()


class Catalogue:
    """Hardware types by name and alias.

    Attributes
    ----------
    types : tuple of HardwareType
    specifications : tuple of str
        The names of all specifications, sorted.
    values : (specifications, types + 1)
        Each specification of each type, NaN where unknown; the last column is of no type.
    vendors : Labels
        (types + 1,) the vendor of each type, the last of none.

    Raises
    ------
    CatalogueError
        Two types claim one name, or there are more than `limits.MOST_HARDWARE_TYPES`.
    """

    def __init__(self, types: Iterable[HardwareType]) -> None:
        self.types = tuple(types)
        if len(self.types) > limits.MOST_HARDWARE_TYPES:
            raise CatalogueError(f"the catalogue has more than {limits.MOST_HARDWARE_TYPES} types")
        self._by_name: dict[str, HardwareType] = {}
        for entry in self.types:
            for name in dict.fromkeys(map(fold, (entry.hardware_type, *entry.aliases))):
                if name in self._by_name:
                    other = self._by_name[name].hardware_type
                    raise CatalogueError(
                        f'"{name}" names both {other} and {entry.hardware_type}; '
                        "a name or alias belongs to one type"
                    )
                self._by_name[name] = entry
        named = {name for entry in self.types for name in entry.specifications}
        self.specifications = tuple(sorted(named))
        self._places = {entry.hardware_type: at for at, entry in enumerate(self.types)}
        # Once a catalogue, not once a request; the last place is of no type.
        self.vendors = Labels.of([*(entry.vendor for entry in self.types), None])
        self.values = np.full((len(self.specifications), len(self.types) + 1), np.nan)
        for row, name in zip(self.values, self.specifications, strict=True):
            row[:-1] = [entry.specifications.get(name, np.nan) for entry in self.types]

    def __len__(self) -> int:
        return len(self.types)

    def find(self, name: str) -> HardwareType | None:
        """The type of that name or alias: exact after trimming and case folding."""
        place = self._places.get(name)  # most are spelled as the catalogue spells them
        return self._by_name.get(fold(name)) if place is None else self.types[place]

    def places(self, names: Iterable[str]) -> list[int]:
        """Where the type of each name or alias is among the types; −1 where none is."""
        return [self._place(name) for name in names]

    def _place(self, name: str) -> int:
        place = self._places.get(name)
        if place is None:
            entry = self.find(name)
            return -1 if entry is None else self._places[entry.hardware_type]
        return place

    def to_json(self) -> dict[str, Any]:
        """The form that `parse_catalogue` reads back."""
        return {"hardware_types": [_to_json(entry) for entry in self.types]}


def read_catalogue(content: bytes, name: str) -> Catalogue:
    """A catalogue from the bytes of a JSON or CSV file; `name` decides which, by its ending.

    Raises
    ------
    CatalogueError
        With the row and the rule that it breaks.
    """
    try:
        text = content.decode("utf-8-sig")
        if name.lower().endswith(".csv"):
            return parse_catalogue(list(_csv_rows(text)))
        return parse_catalogue(json.loads(text))
    except (UnicodeDecodeError, ValueError, RecursionError, csv.Error) as fault:
        raise CatalogueError(
            f"the catalogue is not readable as text of its kind: {fault}"
        ) from None


def parse_catalogue(document: Any) -> Catalogue:
    """A catalogue from parsed JSON: a list of types, or an object with them in `hardware_types`."""
    rows = document.get("hardware_types") if isinstance(document, Mapping) else document
    if not isinstance(rows, list) or not rows:
        raise CatalogueError("the catalogue must hold a list of at least one hardware type")
    return Catalogue(_parse_row(row, at) for at, row in enumerate(rows, 1))


def _parse_row(row: Any, at: int) -> HardwareType:
    if not isinstance(row, Mapping):
        raise CatalogueError(f"row {at} of the catalogue must be an object")
    row = {name: value for name, value in row.items() if value is not None}
    try:
        vendor = row.get("vendor")
        return HardwareType(
            hardware_type=fields.text(row.get("hardware_type"), "hardware_type"),
            vendor=None if vendor is None else fields.text(vendor, "vendor"),
            specifications={
                name: fields.number(value, name, least=0 if name in SPECIFICATIONS else None)
                for name, value in row.items()
                if name in SPECIFICATIONS or (name not in _NOT_SPECIFICATIONS and _is_number(value))
            },
            cost_per_hour=_cost(row, "cost_per_hour"),
            cost_per_accelerator_hour=_cost(row, "cost_per_accelerator_hour"),
            premium=fields.boolean(row.get("premium", False), "premium"),
            premium_min_efficiency=fields.number(
                row.get("premium_min_efficiency", limits.PREMIUM_MIN_EFFICIENCY),
                "premium_min_efficiency",
                least=0,
            ),
            aliases=_aliases(row.get("aliases", [])),
        )
    except FieldError as fault:
        raise CatalogueError(f"row {at} of the catalogue: {fault}") from None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cost(row: Mapping[str, Any], name: str) -> float | None:
    return fields.number(row[name], name, least=limits.LEAST_COST_PER_HOUR) if name in row else None


def _aliases(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part for part in value.translate(_ALIAS_SEPARATORS).split("\n") if part.strip()]
    if not isinstance(value, list):
        raise FieldError("aliases", value, "a list of names")
    return tuple(fields.text(alias, "aliases") for alias in value)


def _csv_rows(text: str) -> Iterable[dict[str, Any]]:
    """CSV cells are text and are parsed; an empty cell is unknown."""
    textual = {"hardware_type", "vendor", "aliases"}
    for row in csv.DictReader(io.StringIO(text)):
        cells = {name.strip(): cell for name, cell in row.items() if name and cell}
        yield {
            name: cell if name in textual else value_of_cell(cell)
            for name, cell in cells.items()
            if cell.strip()
        }


def _to_json(entry: HardwareType) -> dict[str, Any]:
    row: dict[str, Any] = {"hardware_type": entry.hardware_type}
    if entry.vendor is not None:
        row["vendor"] = entry.vendor
    row.update(entry.specifications)
    if entry.cost_per_hour is not None:
        row["cost_per_hour"] = entry.cost_per_hour
    if entry.cost_per_accelerator_hour is not None:
        row["cost_per_accelerator_hour"] = entry.cost_per_accelerator_hour
    if entry.premium:
        row["premium"] = True
        row["premium_min_efficiency"] = entry.premium_min_efficiency
    if entry.aliases:
        row["aliases"] = list(entry.aliases)
    return row
