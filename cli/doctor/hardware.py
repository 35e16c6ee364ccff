"""Whether the catalogue knows, and has prices of, what jobs run on."""

from collections import Counter
from datetime import date, timedelta
from typing import Final

from cli.doctor.place import Place
from cli.doctor.report import Problem, Problems
from leap_model.catalogue import Catalogue, read_catalogue
from leap_model.errors import CatalogueError
from leap_model.reading import day_keys, read_days
from leap_model.stored_catalogue import KEY

_DAYS: Final = 2
"""Newest days of attempts whose types are looked up: a day that has just begun has few."""
_SHOWN: Final = 5


def catalogue_problems(place: Place, newest: date | None) -> Problems:
    """The store's catalogue, and the types of its newest attempts, of which `newest` is the day."""
    do = f"leap import FILES {place.of_store} --catalogue FILE"
    content = place.store.read(KEY)
    if content is None:
        yield Problem(f"{KEY} is not there", "without it no night trains", do)
        return
    try:
        catalogue = read_catalogue(content, KEY)
    except CatalogueError as fault:
        yield Problem(f"{KEY} is broken: {fault}", "without it no night trains", do)
        return
    unknown, unpriced = _gaps(catalogue, _types(place, newest))
    if unknown:
        yield Problem(
            f"{_named(unknown)} of the newest attempts are not in {KEY}",
            "a type that it does not know is never ranked",
            f"add them, or make them aliases: {do}",
        )
    if unpriced:
        yield Problem(
            f"{_named(unpriced)} of the newest attempts have no price in {KEY}",
            "a type without one is ranked only where the request states it",
            f"give cost_per_hour or cost_per_accelerator_hour: {do}",
        )


def _types(place: Place, newest: date | None) -> Counter[tuple[str, float | None]]:
    """How many of the newest attempts ran on each type with so many accelerators a host."""
    if newest is None:
        return Counter()
    days = [newest - timedelta(days=back) for back in range(_DAYS)]
    found = [(day, keys) for day in days if (keys := day_keys(place.store, day))]
    names = ("hardware_type", "accelerators_per_host")
    table = read_days(place.store, found, names).table
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


def _gaps(
    catalogue: Catalogue, types: Counter[tuple[str, float | None]]
) -> tuple[Counter[str], Counter[str]]:
    """Attempts by type of those that the catalogue does not know, and of those without a price."""
    unknown: Counter[str] = Counter()
    unpriced: Counter[str] = Counter()
    for (name, per_host), count in types.items():
        entry = catalogue.find(name)
        if entry is None:
            unknown[name] += count
        elif entry.host_cost(per_host or entry.specifications.get("accelerators_per_host")) is None:
            unpriced[name] += count
    return unknown, unpriced


def _named(types: Counter[str]) -> str:
    """The commonest types, each with its attempts."""
    shown = [f"{name} ({count:,})" for name, count in types.most_common(_SHOWN)]
    more = [f"{len(types) - _SHOWN:,} types more"] if len(types) > _SHOWN else []
    return ", ".join([*shown, *more])
