"""The catalogue's columns at each row's hardware type, and the rates that ratios are made of."""

from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Jobs, Labels

RATES: Final = (
    *("half", "half mean", "single", "single mean", "memory", "bandwidth", "within", "across"),
)
"""Of one accelerator, all in a second. `half` and `single`: operations in 16 and in 32 bits, the
other where one is unknown; `mean`: its geometric mean with those that memory feeds, itself where
that is unknown. `memory`: bytes, `bandwidth`: bytes; `within` and `across`: bytes to others of its
host and of other hosts, the former where the latter are unknown, NaN where there are none."""

_OPERATIONS_PER_BYTE: Final = 150
"""About what accelerators have of both: it only sets types of unknown bandwidth beside others."""


class Hardware:
    """Specifications and rates of the hardware type of each of n rows; unknown types have none."""

    def __init__(self, jobs: Jobs, catalogue: Catalogue) -> None:
        types = _types(catalogue)
        # One more, of rows without a type, whose code is −1 as is the place of none.
        places = np.array([*catalogue.places(jobs.hardware_type.values), -1])
        self._places = places[jobs.hardware_type.codes]
        self._vendors = catalogue.vendors
        self._known = types.known[:, self._places]
        self._rows = types.rows

    def specifications(self) -> dict[str, Floats]:
        """(n,) every specification, by its name as a feature."""
        return dict(zip(self._rows, self._known, strict=False))  # behind them are rates

    def specification(self, name: str) -> Floats:
        """(n,) one specification, NaN where unknown."""
        row = self._rows.get(f"hardware.{name}")
        return np.full(len(self._places), np.nan) if row is None else self._known[row]

    def rates(self, first: str, count: int) -> Floats:
        """(count, n) so many of `RATES`, from one on, NaN where unknown."""
        start = len(self._rows) + RATES.index(first)
        return self._known[start : start + count]

    def vendor(self) -> Labels:
        """(n,) the vendor of each row's type."""
        return self._vendors.take(self._places)


class _Types(NamedTuple):
    """`known` is (specifications and then rates, types + 1); `rows` has the former's places."""

    rows: dict[str, int]
    known: Floats


@lru_cache(maxsize=16)
def _types(catalogue: Catalogue) -> _Types:
    """Once a catalogue, not once a request."""
    rows = {f"hardware.{name}": at for at, name in enumerate(catalogue.specifications)}
    with np.errstate(over="ignore"):  # what becomes infinite makes no ratio
        return _Types(rows, np.vstack([catalogue.values, _rates(catalogue)]))


def _rates(catalogue: Catalogue) -> Floats:
    """(RATES, types + 1)"""
    unknown = np.full(catalogue.values.shape[1], np.nan)
    values = dict(zip(catalogue.specifications, catalogue.values, strict=True))

    def known(name: str, unit: float) -> Floats:
        return values.get(name, unknown) * unit

    half, single = known("peak_fp16_tflops", 1e12), known("peak_fp32_tflops", 1e12)
    half, single = _else(half, single), _else(single, half)
    bandwidth = known("memory_bandwidth_gb_s", 1e9)
    fed = np.where(bandwidth > 0, bandwidth * _OPERATIONS_PER_BYTE, np.nan)
    means = [np.sqrt(peak * _else(fed, peak)) for peak in (half, single)]
    within = known("scale_up_gb_s", 1e9)
    across = _else(known("network_gb_s", 1e9), within)
    links = [np.where(link > 0, link, np.nan) for link in (within, across)]
    memory = known("memory_gb", 1e9)
    return np.stack([half, means[0], single, means[1], memory, bandwidth, *links])


def _else(values: Floats, others: Floats) -> Floats:
    return np.where(np.isnan(values), others, values)
