"""Forests: equal to scikit-learn wherever a value may fall, to the bit and by either engine."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from functions.retrain.learning.estimator import TrainingSet
from functions.retrain.learning.export import export_forest
from functions.retrain.learning.single import Single
from leap_model.columns import Floats
from leap_model.engine import Block
from leap_model.features.schema import CategoryColumn, Schema
from leap_model.trees import Forest
from tests.unit.leap_model.builders import Split, forest
from tests.unit.leap_model.engines import scores_of

ROWS = 100_000
CATEGORIES = (5, 254)
"""Codes of the two category columns, the first and the third of four."""


def training_rows(categorical: bool, seed: int = 1) -> tuple[Floats, Floats]:
    """A matrix of 3,000 rows with missing values, and their targets."""
    draw = np.random.default_rng(seed)
    matrix = draw.normal(size=(3000, 4))
    matrix[:, 3] = np.round(matrix[:, 3])
    target = np.sin(3 * matrix[:, 1]) + matrix[:, 3]
    if categorical:
        for column, count in ((0, CATEGORIES[0]), (2, CATEGORIES[1])):
            # Sparse in the middle, so that their numbering has holes.
            codes = draw.integers(0, count // 2, 3000) * 2
            matrix[:, column] = codes
            target += np.cos(codes * 1.7)
    matrix[draw.random(matrix.shape) < 0.05] = np.nan
    return matrix, target


def fitted(kind: str, categorical: bool) -> Any:
    matrix, target = training_rows(categorical)
    settings: dict[str, Any] = {
        "max_iter": 8,
        "max_leaf_nodes": 31,
        "learning_rate": 0.3,
        "categorical_features": [True, False, True, False] if categorical else None,
        "early_stopping": False,
        "random_state": 3,
    }
    if kind == "regressor":
        return HistGradientBoostingRegressor(loss="absolute_error", **settings).fit(matrix, target)
    classes = {"two classes": 2, "five classes": 5}[kind]
    edges = np.quantile(target, np.arange(1, classes) / classes)
    labels = np.searchsorted(edges, target) * 3  # classes need not count up from 0
    return HistGradientBoostingClassifier(**settings).fit(matrix, labels)


def asked_rows(exported: Forest, categorical: bool) -> Floats:
    """Rows that fall on thresholds, beside them by one bit, on no number and beyond all."""
    draw = np.random.default_rng(2)
    columns = exported.edge_columns()
    matrix = np.empty((ROWS, 4))
    for column in range(4):
        on = exported.edges[columns == column]
        odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e300, -1e300, 1.7e308]
        values = [on, np.nextafter(on, np.inf), np.nextafter(on, -np.inf), draw.normal(size=500)]
        pool = np.concatenate([*values, np.resize(odd, 200)])
        if categorical and column in (0, 2):
            # Known codes, codes never seen, and numbers that are no codes at all.
            none = [np.nan, np.inf, -1, -0.0, 0.5, 254.5, 255, 256, 1e9, -np.inf]
            pool = np.concatenate([np.tile(np.arange(256.0), 4), np.resize(none, 200)])
        matrix[:, column] = draw.choice(pool, ROWS)
    return matrix


def readable(matrix: Floats, categorical: bool) -> Floats:
    """scikit-learn's encoder warns of infinite codes: missing, for it as for us."""
    if not categorical:
        return matrix
    copy = matrix.copy()
    codes = copy[:, [0, 2]]
    copy[:, [0, 2]] = np.where(np.isinf(codes), np.nan, codes)
    return copy


@pytest.mark.parametrize("categorical", [False, True], ids=["numbers", "categories"])
@pytest.mark.parametrize("kind", ["regressor", "two classes", "five classes"])
def test_exported_trees_score_as_scikit_learn_does(kind: str, categorical: bool) -> None:
    estimator = fitted(kind, categorical)
    exported = export_forest(estimator)
    assert bool(np.any(exported.split_columns()[1])) == categorical
    assert exported.n_trees == 8 * (5 if kind == "five classes" else 1)
    matrix = asked_rows(exported, categorical)
    wanted = estimator._raw_predict(readable(matrix, categorical)).reshape(ROWS, -1)
    scores = scores_of(exported, matrix)
    assert scores.tobytes() == np.ascontiguousarray(wanted).tobytes()

    some = np.arange(0, ROWS, 997)
    alone = np.concatenate([exported.score(matrix[[row]]) for row in some])
    assert alone.tobytes() == scores[some].tobytes()
    assert exported.score(np.asfortranarray(matrix[some])).tobytes() == alone.tobytes()
    assert exported.score(matrix[some][::-1])[::-1].tobytes() == alone.tobytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"max_iter": 1},
        {"max_iter": 3, "min_samples_leaf": 5000},
        {"max_iter": 3, "max_leaf_nodes": 2},
        {"max_iter": 20, "max_features": 0.5},
        {"max_iter": 3, "categorical_features": [False] * 4},
    ],
    ids=str,
)
def test_small_and_odd_estimators_export(settings: dict[str, Any]) -> None:
    matrix, target = training_rows(categorical=False)
    settings = {"early_stopping": False, "random_state": 3, **settings}
    estimator = HistGradientBoostingRegressor(**settings).fit(matrix, target)
    exported = export_forest(estimator)
    assert scores_of(exported, matrix)[:, 0].tobytes() == estimator.predict(matrix).tobytes()


def test_missing_values_that_training_never_saw_go_where_scikit_learn_sends_them() -> None:
    matrix, target = training_rows(categorical=True)
    whole = ~np.isnan(matrix).any(axis=1)
    estimator = HistGradientBoostingRegressor(
        categorical_features=[True, False, True, False], max_iter=10, early_stopping=False
    ).fit(matrix[whole], target[whole])
    asked = asked_rows(export_forest(estimator), categorical=True)[:5000]
    scores = scores_of(export_forest(estimator), asked)
    assert scores[:, 0].tobytes() == estimator.predict(readable(asked, True)).tobytes()


def test_a_category_column_of_one_value_and_missing_leaves_the_others_alone() -> None:
    draw = np.random.default_rng(4)
    matrix: Floats = draw.integers(0, (6, 2), (2000, 2)).astype(np.float64)
    target = np.cos(matrix[:, 0] * 1.7) + matrix[:, 1]
    matrix[matrix[:, 1] == 1, 1] = np.nan
    schema = Schema(
        (
            CategoryColumn("config_text.a", tuple("abcdef"), other=False),
            CategoryColumn("config_text.b", ("b",), other=False),
        ),
        (),
    )
    training = TrainingSet(matrix, target, schema)
    model = Single(trees=60, leaves=8, learning_rate=0.3).fit(training, seed=1).model
    np.testing.assert_allclose(model.predict(matrix), target, atol=0.2)


def test_a_split_by_hand() -> None:
    tree = Split(0, 1.5, Split(1, frozenset({0, 8, 255}), 1.0, 2.0), 3.0, missing_left=True)
    scores = scores_of(
        forest(tree, 0.25, n_inputs=2, baseline=(10.0,)),
        np.array(
            [[1.5, 0], [1.5, 8], [1.5, 255], [1.5, 1], [1.5, np.nan], [np.nan, 0.5], [1.6, 0]]
        ),
    )
    assert scores[:, 0].tolist() == [11.25, 11.25, 11.25, 12.25, 12.25, 12.25, 13.25]


def test_trees_add_to_their_own_outputs() -> None:
    trees = forest(1.0, 2.0, 4.0, outputs=[0, 2, 0], baseline=(0.0, 10.0, 20.0))
    scores = scores_of(trees, np.zeros((2, 1)))
    assert scores.tolist() == [[5.0, 10.0, 22.0]] * 2


def test_a_forest_without_trees_is_its_baseline() -> None:
    bare = forest(baseline=(1.5, 2.5))
    assert scores_of(bare, np.zeros((3, 1))).tolist() == [[1.5, 2.5]] * 3
    assert scores_of(bare, np.zeros((0, 1))).shape == (0, 2)


@pytest.mark.parametrize("rows", [0, 1, 65_536, 65_537, 70_001])
def test_any_number_of_rows_is_scored(rows: int) -> None:
    trees = forest(Split(0, 0.5, 1.0, 2.0), Split(0, 0.2, 10.0, 20.0))
    matrix = np.linspace(0, 1, rows).reshape(-1, 1)
    wanted = np.where(matrix <= 0.5, 1.0, 2.0) + np.where(matrix <= 0.2, 10.0, 20.0)
    np.testing.assert_array_equal(scores_of(trees, matrix), wanted)


def test_more_trees_than_a_block_holds_are_all_scored() -> None:
    many = forest(*[1.0] * 70_000)
    assert scores_of(many, np.zeros((2, 1))).tolist() == [[70_000.0]] * 2


@pytest.mark.parametrize("shape", [(3, 1), (3, 3), (3,), (1, 2, 2)], ids=str)
def test_rows_of_another_width_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="of 2 columns was given"):
        forest(Split(1, 0.5, 1.0, 2.0), n_inputs=2).score(np.zeros(shape))


@pytest.mark.parametrize(
    ("shape", "outputs", "start", "end"),
    [
        *(((3, 1), 1, 0, 3), ((3, 3), 1, 0, 3), ((3, 2), 2, 0, 3)),
        *(((3, 2), 1, -1, 3), ((3, 2), 1, 0, 4), ((3, 2), 1, 2, 1)),
    ],
)
def test_a_part_of_a_block_that_is_not_there_is_refused(
    shape: tuple[int, int], outputs: int, start: int, end: int
) -> None:
    block = Block.of(np.zeros(shape), outputs)
    with pytest.raises(ValueError, match="a block of"):
        forest(Split(1, 0.5, 1.0, 2.0), n_inputs=2).score_part(block, start, end)


def test_rows_of_whole_numbers_are_read_as_numbers() -> None:
    trees = forest(Split(0, 0.5, 1.0, 2.0))
    assert trees.score(np.array([[0], [1]], np.int32)).tolist() == [[1.0], [2.0]]
