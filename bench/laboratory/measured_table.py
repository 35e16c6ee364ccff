"""Results of methods on measured throughput: what is missing is made, the rest is read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.laboratory.cross_hardware import PARTS, shapes_of, sit_withheld, withheld_types, withhold
from bench.laboratory.measured_data import read_measured
from bench.laboratory.measured_splits import by_configuration, by_time, marks, sit_by_time
from bench.laboratory.methods import Method
from bench.laboratory.results import Results
from functions.retrain.settings import Settings

MEASURES = 1
"""Goes up when a result of the same split and method would hold something else."""
CROSS = (
    *("w20", "log_error", "coverage"),
    *("pairs_by_throughput", "pairs_by_dollar", "regret"),
)

Watch = Callable[[str], None]
Sit = Callable[[Method], dict[str, Any]]


class Filling:
    """One filling of a table: methods, where their results are kept, and how each is made."""

    def __init__(
        self, methods: Sequence[Method], results: Results, settings: Settings, watch: Watch
    ) -> None:
        self.methods, self.results, self.settings, self.watch = methods, results, settings, watch

    def of(self, part: str, sitting: Callable[[], Sit]) -> dict[str, dict[str, Any]]:
        """Every method's result of a part; `sitting` is called once, and only if one is missing."""
        sit: Sit | None = None
        told = {}
        for method in self.methods:
            key = settings_of(method, self.settings)
            known = self.results.read(part, method.name, key)
            if known is None:
                self.watch(f"{part} {method.name}")
                sit = sit or sitting()
                known = self.results.write(part, method.name, key, {"result": sit(method)})
            told[method.name] = known["result"]
        return told


def settings_of(method: Method, settings: Settings) -> dict[str, Any]:
    """What a result depends on besides the data and the part of it."""
    return {
        "constants": dict(method.constants),
        "target": settings.target.name,
        "seed": settings.seed,
        "measures": MEASURES,
    }


def mlperf(folder: Path, filling: Filling) -> dict[str, Any]:
    """By method: `before` and `online`, each of `all`, `first` and `repeats`."""

    def sitting() -> Sit:
        night, jobs = by_time(folder, filling.settings)
        return lambda method: sit_by_time(night, jobs, method)

    # Online history used to end at the day of a launch; what was kept of that is of another part.
    return filling.of("mlperf-to-launch", sitting)


def inference(folder: Path, filling: Filling, seeds: int) -> dict[str, Any]:
    """By method: the figures of each seed, and the `median`, least and most w20."""
    data = None
    by_seed = []
    for seed in range(seeds):

        def sitting(seed: int = seed) -> Sit:
            nonlocal data
            data = data or read_measured(folder, "inference", filling.settings)
            night, measured = by_configuration(data, seed)
            return lambda method: marks(measured, method.predict(night))

        by_seed.append(filling.of(f"inference-{seed}", sitting))
    return {
        method.name: _over_seeds([told[method.name] for told in by_seed])
        for method in filling.methods
    }


def cross_hardware(folder: Path, filling: Filling) -> dict[str, Any]:
    """By method: for `mlperf` and `all`, the `types` and the `mean` over those with a figure."""
    data = read_measured(folder, "training", filling.settings)
    shapes = shapes_of(data)
    names = withheld_types(data)
    by_type = {}
    for name in names:

        def sitting(name: str = name) -> Sit:
            exam = withhold(data, shapes, name)
            return lambda method: sit_withheld(data, shapes, exam, method)

        by_type[name] = filling.of(f"cross-{name}", sitting)
    return {
        method.name: {
            part: _over_types({name: by_type[name][method.name][part] for name in names})
            for part in PARTS
        }
        for method in filling.methods
    }


def _over_seeds(told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    w20 = [entry["w20"] for entry in told if entry["w20"] is not None]
    named = ("w20", "w10", "mdape", "coverage")
    return {
        "seeds": list(told),
        "median": {name: _middle(np.median, [entry[name] for entry in told]) for name in named},
        "least": min(w20, default=None),
        "most": max(w20, default=None),
    }


def _over_types(told: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    mean = {name: _middle(np.mean, [entry[name] for entry in told.values()]) for name in CROSS}
    return {"types": dict(told), "mean": mean}


def _middle(of: Callable[[Any], Any], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(of(known)) if known else None
