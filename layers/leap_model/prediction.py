"""From jobs to what is predicted of them: the one way, for serving and evaluation."""

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Jobs
from leap_model.features import Schema, raw_columns
from leap_model.history import History
from leap_model.model import Model
from leap_model.targets import Target


def predict(
    target: Target,
    model: Model,
    schema: Schema,
    jobs: Jobs,
    history: History,
    catalogue: Catalogue,
) -> Floats:
    """(n,) the target of n jobs in one pass, in its own unit."""
    matrix = schema.encode(raw_columns(jobs, history, catalogue), len(jobs))
    return target.of_log(model.predict(matrix))
