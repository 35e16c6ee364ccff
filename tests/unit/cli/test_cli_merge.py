"""leap merge, as a person runs it."""

from pathlib import Path

import pytest

from leap_model.store import LocalStore
from leap_model.table import is_merged
from tests.support import append_each, fleet
from tests.unit.cli.commands import document, refused, succeeded


@pytest.fixture
def small(store: LocalStore) -> LocalStore:
    """Ten days of four attempts, a file each."""
    append_each(store, *fleet(40))
    return store


def test_small_files_become_one_a_day(small: LocalStore) -> None:
    said = succeeded("merge", "--store", small.root, "--least", 2)
    assert said == "merged 40 files of 10 days into 10\n"
    assert all(map(is_merged, small.keys("attempts")))


def test_a_date_and_a_least_number_leave_days_alone(small: LocalStore) -> None:
    command = ("merge", "--store", small.root)
    assert succeeded(*command) == "nothing to merge: no day has 16 files that are not merged\n"
    done = document(*command, "--least", 2, "--before", "2026-01-03", "--json")
    assert done["days"] == 2
    assert done["into"] == 2


def test_a_store_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refused("merge", "--store", tmp_path / "nowhere")
