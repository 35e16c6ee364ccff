"""Keeps a person's catalogue file in the store, in the store's one form."""

import json
from pathlib import Path

from leap_model.catalogue import CATALOGUE_KEY, read_catalogue
from leap_model.store import LocalStore, overwrite


def keep_catalogue(store: LocalStore, file: Path) -> int:
    """Check a catalogue and keep it; how many types it has.

    Raises
    ------
    CatalogueError
        The file breaks a rule; the store keeps what it had.
    """
    catalogue = read_catalogue(file.read_bytes(), file.name)
    content = (json.dumps(catalogue.to_json(), indent=1) + "\n").encode()
    overwrite(store, CATALOGUE_KEY, content)
    return len(catalogue)
