"""Fixtures of the tests against moto."""

from collections.abc import Iterator

import pytest

from tests.integration.ingesting import Ingest, started


@pytest.fixture
def ingest(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Ingest]:
    """The ingest function over an empty bucket."""
    with started(monkeypatch, capsys) as function:
        yield function
