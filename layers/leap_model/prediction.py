"""From jobs to predicted throughput: the one way, for serving, evaluation and backtests."""

import numpy as np

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Jobs
from leap_model.features import Schema, raw_columns
from leap_model.history import History
from leap_model.model import Model


def predict(
    model: Model, schema: Schema, jobs: Jobs, history: History, catalogue: Catalogue
) -> Floats:
    """(n,) samples per second of the whole job, of n jobs in one pass."""
    matrix = schema.encode(raw_columns(jobs, history, catalogue), len(jobs))
    return np.exp(model.predict(matrix))
