"""The fleet as a whole, and the attempts of one of its days."""

from dataclasses import dataclass

import numpy as np

from cli.simulation.arrays import Floats, Ints, pick, pick_rows, rows
from cli.simulation.families import Families, count_families, draw_families, draw_workloads
from cli.simulation.hardware import Hardware, load_hardware
from cli.simulation.hidden import Hidden, draw_hidden
from cli.simulation.models import Models, count_model_types, draw_models
from cli.simulation.names import family_names, model_type_names, name_templates
from cli.simulation.outcomes import Outcomes, draw_outcomes
from cli.simulation.physics import step_time
from cli.simulation.placement import NEWCOMER, draw_preferences
from cli.simulation.settings import Settings, draw_settings
from cli.simulation.variation import vary
from cli.simulation.workload import Workload

NETWORK_CLASSES = ("standard", "rail", "shared")
_NETWORK_FACTOR = np.array([1.0, 1.2, 0.6])
ZONES = ("zone-a", "zone-b", "zone-c", "zone-d")
SUB_TYPES = ("gen1", "gen2", "gen3")  # the host's processors, which feed the readers
_READER_FACTOR = np.array([0.9, 1.0, 1.08])


@dataclass(frozen=True)
class Fleet:
    """Everything that stays the same over the window."""

    hardware: Hardware
    models: Models
    model_names: list[str]
    families: Families
    family_names: list[str]
    templates: list[str]
    states_family: np.ndarray[tuple[int], np.dtype[np.bool_]]
    work: Workload
    settings: Settings
    preferences: Floats
    hidden: Hidden
    newcomer_day: int


@dataclass(frozen=True)
class Day:
    """The attempts of one day, (rows,), ordered by completion.

    `truth` (rows, H) is the noise-free throughput in samples per second on every type, NaN
    where the job does not fit; the other fields index the fleet or this module's tables.
    """

    family: Ints
    hardware: Ints
    work: Workload
    network_class: Ints
    zone: Ints
    sub_type: Ints
    truth: Floats
    outcomes: Outcomes


def draw_fleet(seed: int, days: int, per_day: int) -> Fleet:
    """Draw the fleet that `seed` stands for."""
    rng = np.random.default_rng([seed, 0])
    hardware = load_hardware()
    models = draw_models(rng, count_model_types(per_day))
    model_names = model_type_names(models.kind)
    families = draw_families(rng, models, count_families(days, per_day, len(models.kind)), days)
    names = family_names(rng, families.model, model_names)
    settings, work = draw_settings(rng, draw_workloads(rng, models, families, hardware))
    return Fleet(
        hardware=hardware,
        models=models,
        model_names=model_names,
        families=families,
        family_names=names,
        templates=name_templates(rng, names),
        states_family=rng.random(len(names)) < 0.10,
        work=work,
        settings=settings,
        preferences=draw_preferences(rng, work, hardware),
        hidden=draw_hidden(rng, len(names), hardware, days),
        newcomer_day=days // 2,
    )


def draw_day(fleet: Fleet, rng: np.random.Generator, day: int, count: int) -> Day:
    """Draw the `count` attempts that complete on day number `day`."""
    family = _launched_families(fleet, rng, day, count)
    weights = fleet.preferences[family]
    if day < fleet.newcomer_day:
        weights[:, fleet.hardware.index(NEWCOMER)] = 0.0
    work, fits = vary(
        rng,
        rows(fleet.work, family),
        fleet.families.flexibility[family],
        fleet.families.sweep[family],
        fleet.hardware,
        weights,
    )
    network_class = pick(rng, (0.6, 0.25, 0.15), count)
    sub_type = pick(rng, (0.2, 0.5, 0.3), count)
    hardware = pick_rows(rng, weights * fits)

    time = step_time(work, fleet.hardware, _NETWORK_FACTOR[network_class])
    device = time.device / fleet.hidden.speed(family, day, fleet.hardware)
    readers = time.readers / _READER_FACTOR[sub_type][:, None]
    step = (device**5 + readers**5) ** 0.2
    truth = (work.trainers * work.batch)[:, None] / step
    truth[~fits] = np.nan

    used = np.arange(count), hardware
    outcomes = draw_outcomes(
        rng,
        expected=truth[used],
        noise=fleet.families.noise[family],
        busy=(time.compute / step)[used],
        host_cost=fleet.hardware.cost_per_hour[hardware] * work.trainers,
    )
    return Day(
        family=family,
        hardware=hardware,
        work=work,
        network_class=network_class,
        zone=rng.integers(0, len(ZONES), count),
        sub_type=sub_type,
        truth=truth,
        outcomes=outcomes,
    )


def _launched_families(fleet: Fleet, rng: np.random.Generator, day: int, count: int) -> Ints:
    """Model types by their share, families within one by popularity among those alive."""
    families = fleet.families
    alive = (families.born <= day) & (day < families.retired)
    weight = families.popularity * alive
    of_type = np.bincount(families.model, weight)[families.model]
    return pick(rng, (fleet.models.share[families.model] * weight / of_type).tolist(), count)
