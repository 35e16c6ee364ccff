"""From jobs to what is predicted of them: the one way, for serving and evaluation."""

from collections.abc import Callable

from leap_model.catalogue import Catalogue
from leap_model.columns import Floats, Jobs, Matrix
from leap_model.features import Schema, raw_columns
from leap_model.history import History
from leap_model.model import Model
from leap_model.references import Known
from leap_model.targets import Target


def predict(
    target: Target,
    model: Model,
    schema: Schema,
    jobs: Jobs,
    history: History,
    catalogue: Catalogue,
    observe: Callable[[tuple[str, ...], Matrix], None] | None = None,
    known: Known | None = None,
) -> Floats:
    """(n,) the target of n jobs in one pass, in its own unit.

    `observe` is given what the model is shown: column names, and the (n, columns) matrix. `known`
    is what references say of the jobs, where the model has some.
    """
    raw = raw_columns(jobs, history, catalogue)
    if known is not None:
        raw.update(known.columns())
    matrix = schema.encode(raw, len(jobs))
    if observe is not None:
        observe(schema.names, matrix)
    return target.of_log(model.predict(matrix))
