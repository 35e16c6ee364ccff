"""Names of model types, job families and runs."""

import datetime as dt
import json
from collections import Counter
from importlib.resources import files

import numpy as np

from cli.simulation.arrays import Ints
from cli.simulation.classes import CLASSES

_WORDS: dict[str, list[str]] = json.loads(
    files("cli.simulation").joinpath("words.json").read_text(encoding="utf-8")
)
_SURFACES, _GOALS, _VARIANTS = _WORDS["surfaces"], _WORDS["goals"], _WORDS["variants"]
_STRIDE = 37  # so that model types do not all begin with the same words
_PEOPLE = _WORDS["teams"] + _WORDS["users"]

# Run-specific parts as launchers add them; {name} and {who} stay the same for a family.
_STYLES = (
    "{who}/{name}-{date}-{time}-r{run}",
    "{who}/{name}-{date}-{time}-r{run}",
    "{who}_{name}_{uuid}",
    "{name}.run{run}.{hash}",
    "{who}-{name}-{epoch}",
    "{who}/{name}/attempt_{run}/{uuid}",
    "{who}.{name}@{iso}",
    "{name}-{hash}",
)


def model_type_names(kind: Ints) -> list[str]:
    """A distinct name for each model type, in the words of its class `kind` (M,)."""
    seen: Counter[int] = Counter()
    names = []
    for klass in kind.tolist():
        prefixes, nth = CLASSES[klass].names, seen[klass]
        seen[klass] += 1
        round_, surface = divmod(nth // len(prefixes), len(_SURFACES))
        suffix = f"_{_VARIANTS[round_]}" if round_ else ""
        names.append(f"{prefixes[nth % len(prefixes)]}_{_SURFACES[surface]}{suffix}")
    return names


def family_names(rng: np.random.Generator, model: Ints, model_names: list[str]) -> list[str]:
    """A distinct name for each family (F,), built on its model type's."""
    pairs = len(_GOALS) * len(_VARIANTS)
    order = rng.permutation(pairs)
    version = rng.integers(1, 5, len(model))
    seen: Counter[int] = Counter()
    names = []
    for row, of in enumerate(model.tolist()):
        again, nth = divmod(seen[of], pairs)
        seen[of] += 1
        goal, variant = divmod(int(order[(nth + _STRIDE * of) % pairs]), len(_VARIANTS))
        extra = f"-{_GOALS[again % len(_GOALS)]}" * bool(again)
        words = f"{_GOALS[goal]}-{_VARIANTS[variant]}{extra}"
        names.append(f"{model_names[of].replace('_', '-')}-v{version[row]}-{words}")
    return names


def name_templates(rng: np.random.Generator, families: list[str]) -> list[str]:
    """How each family writes its job names, for `job_name`."""
    style = rng.integers(0, len(_STYLES), len(families))
    who = rng.integers(0, len(_PEOPLE), len(families))
    return [
        _STYLES[style[row]].replace("{name}", name).replace("{who}", _PEOPLE[who[row]])
        for row, name in enumerate(families)
    ]


def job_name(template: str, launched: dt.datetime, run: int, digest: str) -> str:
    """The name of one run: `digest` is 32 hexadecimal digits of its own."""
    return template.format(
        date=f"{launched:%Y%m%d}",
        time=f"{launched:%H%M%S}",
        iso=f"{launched:%Y-%m-%dT%H:%M:%S}",
        epoch=int(launched.timestamp()),
        run=run,
        hash=digest[:10],
        uuid="-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:])),
    )
