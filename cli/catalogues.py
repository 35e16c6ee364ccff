"""Keeps a person's catalogue file in the store, in the store's one form."""

import json
from pathlib import Path

from leap_model.catalogue import read_catalogue
from leap_model.store import LocalStore, etag_of

KEY = "catalogue/hardware.json"


def keep_catalogue(store: LocalStore, file: Path) -> int:
    """Check a catalogue and keep it; how many types it has.

    Raises
    ------
    CatalogueError
        The file breaks a rule; the store keeps what it had.
    """
    catalogue = read_catalogue(file.read_bytes(), file.name)
    content = (json.dumps(catalogue.to_json(), indent=1) + "\n").encode()
    current = store.read(KEY)
    store.replace(KEY, content, etag_of(current) if current is not None else None)
    return len(catalogue)
