"""What a run tells beyond its accuracy never costs the run, whose pointer has moved by then."""

from datetime import date
from typing import Any

import pytest

from functions.retrain.nightly import retrain
from leap_model.store import LocalStore
from tests.support import QUICK, filled, fleet


@pytest.mark.parametrize(
    ("part", "key"),
    [
        ("density", "predicted_against_measured"),
        ("calibration", "calibration"),
        ("by_label", "measured_by_hardware"),
        ("importance", "importance"),
        ("first_choices", "first_choices"),
    ],
)
def test_a_part_that_cannot_be_told_is_left_out(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, part: str, key: str
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(f"functions.retrain.description.{part}", fail)
    filled(store.root, fleet(300, days=8))
    metrics = retrain(store, "local", date(2026, 1, 9), QUICK)
    assert (metrics["pointed"], metrics[key]) == (True, None)
    assert store.size(f"reports/throughput/{metrics['version']}/report.html")
