"""The catalogue's columns at each row's hardware type."""

from collections.abc import Callable

import numpy as np

from leap_model.catalogue import Catalogue, HardwareType
from leap_model.columns import Floats, Jobs, Labels


class Hardware:
    """Specifications of the hardware type of each of n rows; unknown types have none."""

    def __init__(self, jobs: Jobs, catalogue: Catalogue) -> None:
        self._labels = jobs.hardware_type
        self._types = [catalogue.find(name) for name in self._labels.values]
        self.names = catalogue.specifications

    def specification(self, name: str) -> Floats:
        """(n,) one specification, NaN where unknown."""
        return self._gather(lambda entry: entry.specifications.get(name, np.nan))

    def vendor(self) -> Labels:
        """(n,) the vendor of each row's type."""
        vendors = Labels.of(entry.vendor if entry else None for entry in self._types)
        return Labels(np.append(vendors.codes, np.int32(-1))[self._labels.codes], vendors.values)

    def _gather(self, value: Callable[[HardwareType], float]) -> Floats:
        by_type = [value(entry) if entry else np.nan for entry in self._types]
        return np.array([*by_type, np.nan])[self._labels.codes]
