"""A stage in the middle of its history, for every test of moves."""

import pytest

from leap_model.moves import roll_back
from leap_model.store import LocalStore
from tests.unit.leap_model.moving import STAGE, served


@pytest.fixture
def rolled(store: LocalStore) -> list[tuple[str, str]]:
    """A stage that served three nights and was rolled back to the second: its record."""
    a, b, c = served(store, 11, 12, 13)
    roll_back(store, *STAGE)
    return [("publish", a), ("publish", b), ("publish", c), ("rollback", b)]
