"""What moves throughput in the fleet and shows in no feature."""

from dataclasses import dataclass

import numpy as np

from cli.simulation.arrays import Floats, Ints
from cli.simulation.hardware import Hardware

_FAMILY = 0.16
_FAMILY_BY_VENDOR = 0.10
_FAMILY_BY_TYPE = 0.05
_TYPE = 0.06
_FAMILY_DRIFT = 0.0015  # a day
_VENDOR_DRIFT = 0.0012  # a day
# A family's code changes: this share of families gains or loses speed on one day.
_CHANGED, _CHANGE = 0.3, 0.2


@dataclass(frozen=True)
class Hidden:
    """Logarithms of speed: a family (F,), a family and vendor (F, V), a family and type (F, H),
    a type (H,), the slopes a day of families (F,) and vendors (V,), and what changes for a family
    from one day on (F,)."""

    family: Floats
    by_vendor: Floats
    by_type: Floats
    hardware: Floats
    family_slope: Floats
    vendor_slope: Floats
    change: Floats
    change_day: Floats

    def speed(self, family: Ints, day: float, hardware: Hardware) -> Floats:
        """Factor on the device speed of rows of `family` on every type, shape (rows, H)."""
        drift = self.family_slope[family, None] + self.vendor_slope[hardware.vendor]
        changed = np.where(day >= self.change_day, self.change, 0.0)
        steady = (
            (self.family + changed)[family, None]
            + self.by_vendor[family][:, hardware.vendor]
            + self.by_type[family]
            + self.hardware
        )
        return np.asarray(np.exp(steady + drift * day))


def draw_hidden(rng: np.random.Generator, families: int, hardware: Hardware, days: int) -> Hidden:
    """Draw the hidden factors of `families` families over a window of `days` days."""
    types, vendors = len(hardware), len(hardware.vendor_names)
    return Hidden(
        family=rng.normal(0, _FAMILY, families),
        by_vendor=rng.normal(0, _FAMILY_BY_VENDOR, (families, vendors)),
        by_type=rng.normal(0, _FAMILY_BY_TYPE, (families, types)),
        hardware=rng.normal(0, _TYPE, types),
        family_slope=rng.normal(0, _FAMILY_DRIFT, families),
        vendor_slope=np.abs(rng.normal(0, _VENDOR_DRIFT, vendors)),
        change=np.where(rng.random(families) < _CHANGED, rng.normal(0, _CHANGE, families), 0.0),
        change_day=rng.uniform(0, days, families),
    )
