"""The truth in the order of ids, and what is missing said in one line."""

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench.laboratory.truth import TruthError, read_truth
from leap_model.catalogue import Catalogue, HardwareType

FIRST, SECOND = date(2026, 1, 1), date(2026, 1, 2)
CATALOGUE = Catalogue([HardwareType("fast", aliases=("FST",)), HardwareType("slow")])


def _write(folder: Path, day: date, ids: list[str], **columns: list[float | None]) -> None:
    used = pa.array(["fast"] * len(ids))
    values = {name: pa.array(numbers, pa.float64()) for name, numbers in columns.items()}
    table = pa.table({"attempt_id": pa.array(ids), "hardware_type": used, **values})
    pq.write_table(table, folder / f"{day}.parquet")


def test_rows_come_in_the_order_of_the_ids_whatever_their_day(tmp_path: Path) -> None:
    _write(tmp_path, FIRST, ["a", "b"], fst=[1.0, 2.0], slow=[None, 20.0], gone=[5.0, 5.0])
    _write(tmp_path, SECOND, ["d", "c"], fst=[4.0, 3.0], slow=[40.0, None], gone=[5.0, 5.0])
    truth = read_truth(tmp_path, [FIRST, SECOND], ["c", "b", "a"], CATALOGUE)
    assert truth.types == ("fast", "slow")
    expected = [[3.0, np.nan], [2.0, 20.0], [1.0, np.nan]]
    np.testing.assert_array_equal(truth.throughput, expected)
    np.testing.assert_array_equal(truth.on(["fast", "slow", "other"]), [3.0, 20.0, np.nan])


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    _write(tmp_path, FIRST, ["a"], fast=[1.0], slow=[2.0])
    with pytest.raises(TruthError, match="lacks attempt b"):
        read_truth(tmp_path, [FIRST], ["a", "b"], CATALOGUE)
    with pytest.raises(TruthError, match="no truth of 2026-01-02"):
        read_truth(tmp_path, [FIRST, SECOND], ["a"], CATALOGUE)
    _write(tmp_path, SECOND, ["b"], slow=[2.0], fast=[1.0])
    with pytest.raises(TruthError, match="other hardware types"):
        read_truth(tmp_path, [FIRST, SECOND], ["a", "b"], CATALOGUE)
