"""The hardware types of the second fleet: a few real ones among plausible inventions."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cli.simulation.arrays import Floats, Ints

# fmt: off
_COLUMNS = (
    "hardware_type", "vendor", "peak_fp16_tflops", "memory_gb", "memory_bandwidth_gb_s",
    "scale_up_gb_s", "network_gb_s", "accelerators_per_host", "release_year", "cost_per_hour",
    "premium",
)
_TYPES: tuple[tuple[str | float | bool | None, ...], ...] = (
    ("p4d.24xlarge", "nvidia", 312, 40, 1555, 600, 50, 8, 2020, 21.9, False),
    ("p5.48xlarge", "nvidia", 989, 80, 3350, 900, 400, 8, 2022, 55.0, False),
    ("g5.12xlarge", "nvidia", 70, 24, 600, None, 5, 4, 2021, 5.7, False),
    ("trn1.32xlarge", "aws", 190, 32, 820, 384, 100, 16, 2022, 21.5, False),
    ("gaudi2-x8", "intel", 432, 96, 2450, 300, 75, 8, 2022, 19.6, False),
    ("harrier-h1", "halcyon", 140, 24, 700, 200, 12, 8, 2018, 9.8, False),
    ("harrier-h2", "halcyon", 260, 48, 1300, 300, 25, 8, 2020, 17.5, False),
    ("harrier-h2-lite", "halcyon", 180, 32, 900, None, 12, 4, 2021, 6.4, False),
    ("harrier-h3", "halcyon", 620, 96, 2800, 600, 100, 8, 2023, 37.0, False),
    ("harrier-h4", "halcyon", 1400, 160, 5200, 900, 200, 8, 2025, 79.0, True),
    ("tess-20-pod4", "tessera", 160, 32, 1000, 250, 20, 4, 2019, 7.9, False),
    ("tess-30-pod4", "tessera", 300, 32, 1400, 400, 40, 4, 2021, 13.6, False),
    ("tess-30-pod16", "tessera", 300, 32, 1400, 400, 160, 16, 2021, 52.0, False),
    ("tess-40-pod8", "tessera", 700, 64, 2400, 700, 100, 8, 2024, 36.0, False),
    ("ostrava-m1", "ostrava", 90, 64, 480, None, 10, 8, 2019, 6.9, False),
    ("ostrava-m2", "ostrava", 210, 128, 1100, 150, 25, 8, 2021, 13.2, False),
    ("ostrava-m3", "ostrava", 520, 192, 2600, 300, 50, 8, 2023, 28.5, False),
    ("ostrava-m3-duo", "ostrava", 520, 192, 2600, 300, 25, 2, 2023, 7.4, False),
    ("kite-k5", "nvidia", 125, 16, 900, 300, 3, 8, 2017, 18.4, False),
    ("kite-k6-pcie", "nvidia", 240, 48, 860, None, 12, 8, 2023, 16.7, False),
    ("kite-k7", "nvidia", 1250, 144, 4800, 900, 400, 8, 2024, 66.0, False),
    ("kite-k8", "nvidia", 2300, 190, 7800, 1800, 400, 8, 2025, 118.0, True),
    ("slate-s1", "slate", 330, 80, 1900, 450, 50, 4, 2022, 11.8, False),
    ("slate-s2", "slate", 820, 120, 3900, 800, 100, 4, 2024, 25.9, False),
)
# fmt: on
NEWCOMER = "slate-s2"
_SCALE_UP_WHERE_NONE = 24.0


@dataclass(frozen=True)
class Types:
    """The types as arrays of shape (H,), in the units of the catalogue."""

    names: tuple[str, ...]
    vendor: Ints
    peak: Floats
    memory_gb: Floats
    bandwidth: Floats
    scale_up: Floats
    network: Floats
    accelerators: Floats
    year: Floats
    cost_per_hour: Floats

    def __len__(self) -> int:
        return len(self.names)


def load_types() -> Types:
    """The catalogue as arrays."""
    entries = _entries()
    vendors = sorted({str(entry["vendor"]) for entry in entries})

    def column(name: str) -> Floats:
        return np.array(
            [entry[name] or _SCALE_UP_WHERE_NONE for entry in entries], dtype=np.float64
        )

    return Types(
        names=tuple(str(entry["hardware_type"]) for entry in entries),
        vendor=np.array([vendors.index(str(entry["vendor"])) for entry in entries]),
        peak=column("peak_fp16_tflops"),
        memory_gb=column("memory_gb"),
        bandwidth=column("memory_bandwidth_gb_s"),
        scale_up=column("scale_up_gb_s"),
        network=column("network_gb_s"),
        accelerators=column("accelerators_per_host"),
        year=column("release_year"),
        cost_per_hour=column("cost_per_hour"),
    )


def write_catalogue(path: Path) -> None:
    """Write the catalogue as the product reads it."""
    path.write_text(json.dumps({"hardware_types": _entries()}, indent=1), encoding="utf-8")


def _entries() -> list[dict[str, str | float | bool | None]]:
    return [dict(zip(_COLUMNS, row, strict=True)) for row in _TYPES]
