"""The catalogue that a store keeps, in the store's one form."""

import json

from leap_model.catalogue import Catalogue, read_catalogue
from leap_model.errors import CatalogueError
from leap_model.store import Store, overwrite

KEY = "catalogue/hardware.json"


def stored_catalogue(store: Store) -> Catalogue:
    """The store's hardware catalogue.

    Raises
    ------
    CatalogueError
        There is none, or it breaks a rule.
    """
    content = store.read(KEY)
    if content is None:
        raise CatalogueError(f"the store has no {KEY}: give one with leap import --catalogue FILE")
    return read_catalogue(content, KEY)


def keep_catalogue(store: Store, content: bytes, name: str) -> int:
    """Check the content of a file of that name and keep it; how many types it has.

    Raises
    ------
    CatalogueError
        The file breaks a rule; the store keeps what it had.
    """
    catalogue = read_catalogue(content, name)
    overwrite(store, KEY, (json.dumps(catalogue.to_json(), indent=1) + "\n").encode())
    return len(catalogue)
