"""The open peer arise-predictions, which chooses among regressors by cross-validation.

It pins scikit-learn 1.5 and numpy 1, hence an environment of its own:

    python3 -m venv bench/.venv-arise && bench/.venv-arise/bin/pip install arise-predictions==1.0.3

`LEAP_ARISE_PYTHON` names another interpreter. It is shown the columns of the model `plain`, missing
numbers as −1, and the log of throughput: on throughput itself its error would be that of the
fastest jobs alone.
"""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv

from bench.laboratory.methods import Method, MethodError
from functions.retrain.nights import Night
from leap_model.columns import Floats, Matrix
from leap_model.features.schema import CategoryColumn, Column

VERSION = "1.0.3"
MOST_ROWS = 20_000
"""The latest training rows: it fits each candidate ten times over."""
TREES = 300
_WORKER = Path(__file__).with_name("arise_worker.py")


def _python() -> Path:
    own = Path(__file__).parents[1] / ".venv-arise" / "bin" / "python"
    return Path(os.environ.get("LEAP_ARISE_PYTHON", own))


def _make(trees: float) -> Method:
    if not _python().is_file():
        raise MethodError(
            "arise needs arise-predictions in an environment of its own: bench/.venv-arise, or the "
            "interpreter that LEAP_ARISE_PYTHON names"
        )
    count = max(1, round(TREES * trees))
    constants = {"arise": VERSION, "trees": count, "most_rows": MOST_ROWS}
    return Method("arise", constants, lambda night: _predicted(night, count))


def _predicted(night: Night, trees: int) -> Floats:
    columns = night.rows.schema.columns
    latest = np.sort(np.argsort(night.training.completed_at, kind="stable")[-MOST_ROWS:])
    with TemporaryDirectory(prefix="leap-arise-") as folder:
        root = Path(folder)
        _write(root / "train.csv", columns, night.rows.matrix[latest], night.rows.values[latest])
        _write(root / "asked.csv", columns, night.encoded(night.rows))
        ran = subprocess.run(
            [str(_python()), str(_WORKER), folder, str(trees)],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            last = (ran.stderr.strip() or "it said nothing").splitlines()[-1]
            raise MethodError(f"arise failed: {last}")
        said: Floats = np.loadtxt(root / "said.csv", np.float64, ndmin=1)
    return night.settings.target.of_log(said)


def _write(
    path: Path, columns: Sequence[Column], matrix: Matrix, values: Floats | None = None
) -> None:
    """The rows as CSV: categories as their texts, missing numbers as −1."""
    table: dict[str, pa.Array] = {}
    for column, numbers in zip(columns, matrix.T, strict=True):
        if isinstance(column, CategoryColumn):
            texts = np.array([*(f"is {text}" for text in column.values), "another", "none"])
            codes = np.where(np.isnan(numbers), len(texts) - 1, np.nan_to_num(numbers))
            table[column.name] = pa.array(texts[codes.astype(np.int64)])
        else:
            table[column.name] = pa.array(np.where(np.isnan(numbers), -1.0, numbers))
    if values is not None:
        table["log_throughput"] = pa.array(values)
    pyarrow.csv.write_csv(pa.table(table), path)


METHODS: Mapping[str, Callable[[float], Method]] = {"arise": _make}
