"""Models: arrangements of hand-made forests, computed by hand, and every misfit refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from leap_model.columns import Floats
from leap_model.engine import Block
from leap_model.errors import ArtifactError
from leap_model.model import Model
from leap_model.trees import Forest
from tests.unit.leap_model.builders import Split, forest

Steps = Sequence[Mapping[str, Any]]
NAN = np.nan
ROWS: Floats = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [NAN, 5.0]])


def score(name: str, of: str, *inputs: str) -> dict[str, Any]:
    return {"name": name, "op": "score", "forest": of, "inputs": list(inputs)}


def add(*names: str) -> dict[str, Any]:
    return {"name": "sum", "op": "add", "of": list(names)}


def argmax(of: str = "bins") -> dict[str, Any]:
    return {"name": "bin", "op": "argmax", "of": of}


def select(*forests: str, by: str = "bin") -> dict[str, Any]:
    return {"name": "prediction", "op": "select", "by": by, "forests": list(forests)}


def step_at(*, low: float, high: float, at: float = 0.5, **rest: Any) -> Forest:
    return forest(Split(0, at, low, high), n_inputs=rest.pop("n_inputs", 2), **rest)


BINARY = step_at(low=-1.0, high=1.0)
"""Log-odds of two classes: the second where the first column is above one half."""
THREE = forest(
    *(
        Split(0, 0.5, 3.0, 0.0),
        Split(0, 0.5, 0.0, Split(0, 1.5, 3.0, 0.0)),
        Split(0, 1.5, 0.0, 3.0),
    ),
    n_inputs=2,
    outputs=[0, 1, 2],
    baseline=(0.0, 0.0, 0.0),
)
"""Scores of three classes, one for each of 0, 1 and 2 in the first column."""
EXPERTS = {f"expert{at}": forest(10.0 * at, n_inputs=2) for at in range(5)}


def predict(steps: Steps, forests: Mapping[str, Forest], rows: Floats = ROWS) -> list[float]:
    model = Model(2, steps, forests).checked()
    result = model.predict(rows)
    assert result.shape == (len(rows),)
    alone = [float(model.predict(rows[[at]])[0]) for at in range(len(rows))]
    assert result.tolist() == alone
    return alone


def test_a_single_regressor() -> None:
    one = step_at(low=1.0, high=2.0)
    assert Model.of_one(one).checked().predict(ROWS).tolist() == [1.0, 2.0, 2.0, 2.0]
    assert Model.of_one(one).checked().predict(ROWS[:0]).shape == (0,)


def test_a_cascade_of_three_classes() -> None:
    steps = [score("bins", "bins"), argmax(), select("expert0", "expert1", "expert2")]
    assert predict(steps, {"bins": THREE, **EXPERTS}) == [0.0, 10.0, 20.0, 20.0]


def test_a_cascade_of_two_classes_has_one_log_odds() -> None:
    steps = [score("bins", "bins"), argmax(), select("expert1", "expert2")]
    assert predict(steps, {"bins": BINARY, **EXPERTS}) == [10.0, 20.0, 20.0, 20.0]


def test_even_odds_are_the_first_class() -> None:
    even = forest(0.0, n_inputs=2)
    steps = [score("bins", "bins"), argmax(), select("expert1", "expert2")]
    assert predict(steps, {"bins": even, **EXPERTS}) == [10.0] * 4


def test_classes_with_a_hole_map_by_their_own_order() -> None:
    """Bins 0, 2 and 4 had rows: the classifier's three outputs are those bins, not 0, 1, 2."""
    steps = [score("bins", "bins"), argmax(), select("expert0", "expert2", "expert4")]
    assert predict(steps, {"bins": THREE, **EXPERTS}) == [0.0, 20.0, 40.0, 40.0]


def test_several_bins_may_share_an_expert() -> None:
    steps = [score("bins", "bins"), argmax(), select("expert3", "expert3", "expert1")]
    assert predict(steps, {"bins": THREE, **EXPERTS}) == [30.0, 30.0, 10.0, 10.0]


def test_select_touches_only_the_chosen_forests(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [score("bins", "bins"), argmax(), select("expert0", "expert1", "expert2")]
    forests = {"bins": THREE, **EXPERTS}
    touched: list[tuple[str, int]] = []
    original = Forest.score_part

    def recorded(self: Forest, block: Block, start: int, end: int) -> None:
        name = next(name for name, entry in forests.items() if entry is self)
        touched.append((name, end - start))
        original(self, block, start, end)

    monkeypatch.setattr(Forest, "score_part", recorded)
    Model(2, steps, forests).checked().predict(ROWS[[0, 2, 0]])
    assert touched == [("expert0", 2), ("expert2", 1)]


def test_a_stage_reads_another_as_a_column_and_their_sum_is_the_prediction() -> None:
    first = step_at(low=100.0, high=200.0)
    second = forest(Split(2, 150.0, -1.0, -2.0), n_inputs=3)  # the third column is the first stage
    steps = [score("first", "first"), score("second", "second", "first"), add("first", "second")]
    assert predict(steps, {"first": first, "second": second}) == [99.0, 198.0, 198.0, 198.0]


def test_inputs_are_appended_in_their_order() -> None:
    forests = {
        "a": forest(7.0, n_inputs=2),
        "b": forest(9.0, n_inputs=2),
        "both": forest(Split(2, 8.0, 1.0, 2.0), Split(3, 8.0, 10.0, 20.0), n_inputs=4),
    }
    scores = [score("a", "a"), score("b", "b")]
    assert predict([*scores, score("both", "both", "a", "b")], forests) == [21.0] * 4
    assert predict([*scores, score("both", "both", "b", "a")], forests) == [12.0] * 4


def test_a_chosen_class_may_be_an_input() -> None:
    forests = {"bins": THREE, "next": forest(Split(2, 0.5, 5.0, 6.0), n_inputs=3)}
    steps = [score("bins", "bins"), argmax(), score("next", "next", "bin")]
    assert predict(steps, forests) == [5.0, 6.0, 6.0, 6.0]


GOOD = {"bins": THREE, "binary": BINARY, "wide": forest(1.0, n_inputs=3), **EXPERTS}


@pytest.mark.parametrize(
    "steps",
    [
        [],
        "steps",
        None,
        5,
        [5],
        ["score"],
        [{}],
        [{"name": "a"}],
        [{"name": "a", "op": "guess"}],
        [{"name": "a", "op": "score", "forest": "expert0"}],
        [score("a", "nowhere")],
        [score("a", "wide")],
        [score("a", "expert0", "later"), score("later", "expert1")],
        [score("a", "expert0"), score("b", "expert1", "a")],
        [score("a", "bins")],
        [score("a", "expert0"), score("a", "expert1")],
        [argmax("bins"), score("bins", "bins")],
        [score("bins", "bins"), argmax()][:1],
        [score("bins", "bins"), argmax(), select("expert0", "expert1")],
        [score("bins", "bins"), argmax(), select(*["expert0"] * 4)],
        [score("bins", "binary"), argmax(), select("expert0")],
        [score("bins", "bins"), argmax(), select("expert0", "expert1", "nowhere")],
        [score("bins", "bins"), argmax(), select("expert0", "expert1", "wide")],
        [score("bins", "bins"), argmax(), select("expert0", "expert1", "bins")],
        [score("bins", "bins"), select("expert0", "expert1", "expert2", by="bins")],
        [score("a", "expert0"), add("a", "nowhere")],
        [score("a", "expert0"), add()],
        [score("a", "expert0"), score("bins", "bins"), add("a", "bins")],
        [score("bins", "bins"), add("bins")],
        [score("bins", "bins"), argmax(), select("expert0", by="nowhere")],
        [score("bins", "binary"), select("expert0", "expert1", by="bins")],
        [score("bins", "binary"), add("bins"), select("expert0", "expert1", by="sum")],
    ],
    ids=range(32),
)
def test_steps_that_do_not_fit_together_are_refused(steps: Any) -> None:
    with pytest.raises(ArtifactError) as caught:
        Model(2, steps, GOOD).checked()
    assert "\n" not in str(caught.value)


def test_a_classifier_without_classes_is_refused() -> None:
    empty = forest(n_inputs=2, baseline=())
    with pytest.raises(ArtifactError, match="do not fit together"):
        Model(
            2, [score("bins", "empty"), argmax(), select("expert0")], {**EXPERTS, "empty": empty}
        ).checked()
