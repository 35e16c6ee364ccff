"""At its full size, 25,000 attempts a day over 30 days, the fleet has the published marks."""

import numpy as np
import pytest

from cli.simulation.fleet import draw_day, draw_fleet
from cli.simulation.marks import Mark, Marks

DAYS, PER_DAY = 30, 25_000
EXPLAINED = {"smallest throughput", "largest throughput"}  # one attempt each; decades say as much


@pytest.mark.parametrize("seed", [1, 2])
def test_every_mark_is_within_a_tenth_of_the_published_one(seed: int) -> None:
    fleet, marks, hits = draw_fleet(seed, DAYS, PER_DAY), Marks(), []
    for number in range(DAYS):
        day = draw_day(fleet, np.random.default_rng([seed, 1, number]), number, PER_DAY)
        measured = np.nan_to_num(day.outcomes.throughput)
        columns = (
            [fleet.model_names[at] for at in fleet.families.model[day.family].tolist()],
            [fleet.hardware.names[at] for at in day.hardware.tolist()],
            day.work.trainers.astype(int).tolist(),
            day.work.batch.astype(int).tolist(),
            measured.tolist(),
        )
        for values in zip(*columns, strict=True):
            marks.add(dict(zip(NAMES, values, strict=True)))
        expected = day.truth[np.arange(PER_DAY), day.hardware]
        ran = measured > 0
        hits.append(np.abs(expected - measured)[ran] <= 0.2 * measured[ran])
    for mark in marks.figures():
        if mark.name not in EXPLAINED:
            assert _agrees(mark), mark
    assert 0.90 < np.concatenate(hits).mean() < 0.93, "the ceiling of w20"


NAMES = ("model_type", "hardware_type", "num_trainers", "batch_size", "throughput")


def _agrees(mark: Mark) -> bool:
    """Within a tenth; a range may be narrower, and there may be more hardware types."""
    if isinstance(mark.published, tuple):
        assert isinstance(mark.fleet, tuple)
        return 0.9 * mark.published[0] < mark.fleet[0] <= mark.fleet[1] < 1.1 * mark.published[1]
    assert isinstance(mark.fleet, float)
    least = mark.name.endswith("at least")
    return mark.fleet >= 0.9 * mark.published and (least or mark.fleet <= 1.1 * mark.published)
