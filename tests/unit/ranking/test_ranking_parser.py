"""Whatever else a launcher's threads parse, and spoil for each other, a ranking asks no parser."""

from leap_model import Ranker
from leap_model.store import LocalStore
from tests.support import preferred, request
from tests.unit.leap_model.parsing import parsed


def test_neither_a_load_nor_a_ranking_asks_pythons_parser(trained: LocalStore) -> None:
    first = preferred(Ranker.from_store(trained.root).rank(request()))  # whatever is imported is
    with parsed() as heard:
        again = preferred(Ranker.from_store(trained.root).rank(request()))
    assert first == again
    assert first
    assert heard == []
