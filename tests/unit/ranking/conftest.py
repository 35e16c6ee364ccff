"""One ranker over the small fleet, for every test of the folder."""

import pytest

from leap_model import Ranker
from leap_model.store import LocalStore


@pytest.fixture(scope="session")
def ranker(trained: LocalStore) -> Ranker:
    return Ranker.from_store(trained.root)
