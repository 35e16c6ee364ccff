"""The catalogue's columns at each row's hardware type."""

import numpy as np

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Jobs, Labels


class Hardware:
    """Specifications of the hardware type of each of n rows; unknown types have none."""

    def __init__(self, jobs: Jobs, catalogue: Catalogue) -> None:
        self._catalogue, self._codes = catalogue, jobs.hardware_type.codes
        # One more, of rows without a type, whose code is −1.
        self._places = np.append(catalogue.places(jobs.hardware_type.values), -1)
        self._values = catalogue.values(self._places[self._codes])
        self._unknown = np.full(len(self._codes), np.nan)
        self.names = catalogue.specifications

    def specification(self, name: str) -> Floats:
        """(n,) one specification, NaN where unknown."""
        return self._values.get(name, self._unknown)

    def vendor(self) -> Labels:
        """(n,) the vendor of each row's type."""
        types = self._catalogue.types
        vendors = Labels.of(types[at].vendor if at >= 0 else None for at in self._places)
        return Labels(vendors.codes[self._codes], vendors.values)
