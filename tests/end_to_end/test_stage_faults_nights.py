"""Nightly runs that are killed, that meet, and of which the older one ends last."""

import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from leap_model.pointer import Pointer
from tests.end_to_end.conftest import Stage
from tests.end_to_end.faults import LONGEST_S, Gate
from tests.end_to_end.stopped_nights import (
    OBJECT,
    PARAMETER,
    SIGNALS,
    STEPS,
    Nights,
    Watch,
    begun,
    pointed,
    said,
)


@pytest.fixture(scope="module")
def nights(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """A stage beside the deployed one, after its first night."""
    with begun(stage, "faults", tmp_path_factory.mktemp("nights")) as nights:
        yield nights


@pytest.fixture(autouse=True)
def _let_through(nights: Nights) -> Iterator[None]:
    yield
    nights.proxy.rule = None


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("step", STEPS)
def test_a_run_that_is_ended_leaves_a_complete_pointer_and_a_second_run_mends_it(
    step: str, number: signal.Signals, nights: Nights
) -> None:
    night, before = nights.next(), nights.object()
    assert before is not None
    reader = nights.reader()
    assert reader.version() == before.version
    nights.end_at(step, night, number)
    now, seen = nights.object(), nights.parameter()
    assert now is not None
    assert nights.is_complete(now)
    follows = step == "between the object and the reports" and number == signal.SIGTERM
    if step == "after the parameter" or follows:
        assert (now.as_of, seen) == (night, now)
    elif step.startswith("between the object"):
        assert (now.as_of, seen) == (night, before)
    else:
        assert (now, seen) == (before, before)
    assert reader.version() == nights.reader().version() == now.version
    nights.run(night)
    after = nights.object()
    assert after is not None
    assert after.as_of == night
    assert nights.parameter() == after
    assert nights.is_complete(after)


def test_of_two_runs_of_a_night_at_once_one_points(nights: Nights) -> None:
    night = nights.next()
    held = [nights.hold(OBJECT, night) for _ in range(2)]
    with Watch(nights) as watch:
        for run in held:
            run.go_on()
        pointings = [pointed(said(run.process)) for run in held]
    assert sorted(pointings) == [0.0, 1.0]
    assert nights.parameter() == nights.object()
    assert watch.seen[-1] == night
    assert watch.seen == sorted(watch.seen)
    assert watch.served == sorted(set(watch.served))
    assert watch.served[-1] == watch.seen[-1]


def test_an_older_run_that_ends_last_moves_nothing_back(nights: Nights) -> None:
    older, newer = nights.next(), nights.next()
    late = nights.hold(OBJECT, older)
    with Watch(nights) as watch:
        assert pointed(nights.run(newer)) == 1.0
        late.go_on()
        assert pointed(said(late.process)) == 0.0
    assert nights.parameter() == nights.object()
    assert watch.seen[-1] == newer
    assert watch.seen == sorted(watch.seen)
    assert watch.served == sorted(set(watch.served))
    assert watch.served[-1] == watch.seen[-1]


@dataclass(frozen=True)
class Overtaken:
    """What the parameter named around a run that a newer one overtook between its two writes.

    `served` is what readers answered by while it was set back: one that had served what was there
    before, one that had served the newer, and a new one.
    """

    newer: str
    before: Pointer | None
    written: Pointer | None
    served: list[str]
    mended: Pointer | None


@pytest.fixture(scope="module")
def overtaken(nights: Nights) -> Overtaken:
    """An older run stops before it writes the parameter; a newer one runs; the older one goes on.

    It is killed right after it wrote, before it looks again. The newer night is then run again.
    """
    readers = [nights.reader()]
    readers[0].version()
    late, newer = nights.hold(PARAMETER.__eq__, nights.next()), nights.next()
    nights.run(newer)
    before = nights.parameter()
    readers += [nights.reader()]
    readers[1].version()
    gate = nights.proxy.rule = Gate(lambda call: True)
    late.go_on()
    assert gate.reached.wait(LONGEST_S)
    written = nights.parameter()
    served = [reader.version() for reader in (*readers, nights.reader())]
    late.process.kill()
    gate.drop()
    nights.proxy.rule = None
    nights.run(newer)
    return Overtaken(newer, before, written, served, nights.parameter())


def test_an_overtaken_run_sets_no_reader_back(overtaken: Overtaken) -> None:
    assert overtaken.before is not None
    assert overtaken.written is not None
    # SSM has no conditional write: the parameter itself was set back.
    assert overtaken.written.as_of < overtaken.before.as_of == overtaken.newer
    assert overtaken.served == [overtaken.before.version] * 3


def test_a_parameter_that_an_overtaken_run_set_back_is_mended_by_the_next_run(
    overtaken: Overtaken, nights: Nights
) -> None:
    assert overtaken.before is not None
    assert overtaken.before.as_of == overtaken.newer
    assert overtaken.written is not None
    assert nights.is_complete(overtaken.written)
    assert overtaken.mended == overtaken.before == nights.object()
