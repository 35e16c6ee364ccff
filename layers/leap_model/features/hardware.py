"""The catalogue's columns at each row's hardware type."""

import numpy as np

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Jobs, Labels


class Hardware:
    """Specifications of the hardware type of each of n rows; unknown types have none."""

    def __init__(self, jobs: Jobs, catalogue: Catalogue) -> None:
        # One more, of rows without a type, whose code is −1.
        places = np.append(catalogue.places(jobs.hardware_type.values), -1)
        self._places = places[jobs.hardware_type.codes]
        self._vendors = catalogue.vendors
        self._values = catalogue.values(self._places)
        self._unknown = np.full(len(self._places), np.nan)
        self.names = catalogue.specifications

    def specification(self, name: str) -> Floats:
        """(n,) one specification, NaN where unknown."""
        return self._values.get(name, self._unknown)

    def vendor(self) -> Labels:
        """(n,) the vendor of each row's type."""
        return self._vendors.take(self._places)
