"""Switching a stage off while a newer model is on its way to its rankers."""

import time

import pytest

from leap_model.source import StageSource
from leap_model.store import LocalStore
from leap_model.switches import NOBODY, write_switches
from tests.unit.ranking.test_stage_source_stalls import Stalling

STAGE = "s"
PATIENCE_S = 20.0


def test_switching_off_takes_effect_while_a_newer_version_is_on_its_way(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stalling = Stalling()
    stalling.arrived.set()
    monkeypatch.setattr("leap_model.source.load", stalling.load)
    monkeypatch.setattr("leap_model.limits.REFRESH_WAIT_S", 0.05)
    write_switches(store, STAGE, 100.0, {}, ())
    source = StageSource(store, STAGE, switched=True, cache_s=0, pointer_of=stalling.pointer)
    assert source.current().throughput.version == "v1"
    stalling.arrived.clear()
    stalling.version = "v2"
    source.current()
    try:
        write_switches(store, STAGE, 0.0, {}, ())
        ends = time.monotonic() + PATIENCE_S
        while source.current().switches != NOBODY and time.monotonic() < ends:
            time.sleep(0.01)
        assert source.current().switches == NOBODY
    finally:
        stalling.arrived.set()
