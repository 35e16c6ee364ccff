"""A model: any arrangement of forests over one feature matrix, described by data.

The description is a list of steps, each with a `name` whose result later steps may use:

    {"name", "op": "score", "forest", "inputs": [steps]}     the forest's score; `inputs` are
                                                             appended to the features as columns
    {"name", "op": "argmax", "of": step}                     the output with the greatest score
    {"name", "op": "select", "by": step, "forests": [...]}   the score of the forest that `by`
                                                             names in each row, no other touched
    {"name", "op": "feature", "column"}                      a column of the matrix as it is
    {"name", "op": "add",    "of": [steps]}                  their sum
    {"name", "op": "mean",   "of": [steps]}                  their mean
    {"name", "op": "network", "network"}                     what a network says
    {"name", "op": "strangers", "of": step, "networks": [...], "column", "codes"}
                                                             the step; where the column has none of
                                                             so many codes, the networks' mean
    {"name", "op": "blend",  "of": [step, other], "by": step, "most"}
                                                             the step, moved to the other by a
                                                             share of their distance, at most `most`

The last step is the prediction. One regressor is one `score`; one that predicts what is left after
a known scale is `score`, `feature`, `add`; the published cascade is `score` (bin classifier),
`argmax`, `select` (experts); a stage that corrects another is `score`, `score` with the first among
its inputs, `add`; networks corrected by what resembles the job are `network`s, `mean`, features,
`add`, `blend`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from leap_model.columns import Floats, Matrix
from leap_model.engine import Block
from leap_model.errors import ArtifactError
from leap_model.limits import MOST_CANDIDATES
from leap_model.network import Network
from leap_model.stacked import MOST_ROWS, Stacked
from leap_model.stored_forest import StoredForest
from leap_model.trees import Forest


@dataclass(frozen=True, slots=True)
class Model:
    """Steps over named forests and networks; `n_features` columns go in.

    Raises
    ------
    ArtifactError
        From `checked`, where the steps do not fit together.
    """

    n_features: int
    steps: Sequence[Mapping[str, Any]]
    forests: Mapping[str, Forest | StoredForest]
    networks: Mapping[str, Network] = field(default_factory=dict)
    _stacked: Stacked | None = field(init=False, repr=False, compare=False)
    _together: Mapping[str, Network] = field(init=False, repr=False, compare=False)
    """Those that every row is asked of."""

    def __post_init__(self) -> None:
        together = {name: one for name, one in self.networks.items() if name in self._asked()}
        object.__setattr__(self, "_stacked", Stacked.of(together))
        object.__setattr__(self, "_together", together)

    def _asked(self) -> list[Any]:
        """The networks that every row is asked of, by steps that nobody checked yet."""
        every = self.steps if isinstance(self.steps, Sequence) else ()
        steps = [step for step in every if isinstance(step, Mapping)]
        return [step.get("network") for step in steps if step.get("op") == "network"]

    @classmethod
    def of_one(cls, forest: Forest) -> "Model":
        """A single regressor."""
        steps = [{"name": "prediction", "op": "score", "forest": "regressor", "inputs": []}]
        return cls(forest.n_inputs, steps, {"regressor": forest})

    @classmethod
    def of_one_over(cls, forest: Forest, column: int) -> "Model":
        """A single regressor of what is left after a column of the matrix."""
        steps: list[Mapping[str, Any]] = [
            {"name": "rest", "op": "score", "forest": "regressor", "inputs": []},
            {"name": "scale", "op": "feature", "column": column},
            {"name": "prediction", "op": "add", "of": ["rest", "scale"]},
        ]
        return cls(forest.n_inputs, steps, {"regressor": forest})

    @classmethod
    def of_cascade(cls, classifier: Forest, experts: Mapping[str, Forest]) -> "Model":
        """The expert whose class is likeliest: one an output of the classifier, in that order."""
        steps: list[Mapping[str, Any]] = [
            {"name": "scores", "op": "score", "forest": "classifier", "inputs": []},
            {"name": "bin", "op": "argmax", "of": "scores"},
            {"name": "prediction", "op": "select", "by": "bin", "forests": list(experts)},
        ]
        return cls(classifier.n_inputs, steps, {"classifier": classifier, **experts})

    @classmethod
    def of_networks(
        cls,
        networks: Sequence[Network],
        n_features: int,
        scale: int | None,
        known: Sequence[int] = (),
        most: float = 0.0,
        strangers: "Strangers | None" = None,
    ) -> "Model":
        """The mean of networks of what is left after a column of the matrix.

        `known` are the columns of what resembles the job, in the order of `references.COLUMNS`;
        none where nothing is recalled. `most` is how far a family's own level moves a prediction.
        `strangers` are asked in the place of the networks where they know better.
        """
        named = {f"network-{at}": network for at, network in enumerate(networks)}
        steps: list[Mapping[str, Any]] = [
            {"name": name, "op": "network", "network": name} for name in named
        ]
        every: dict[str, Network] = dict(named)
        if strangers is None:
            steps.append({"name": "networks", "op": "mean", "of": list(named)})
        else:
            others = {f"stranger-{at}": one for at, one in enumerate(strangers.networks)}
            every |= others
            where = {"column": strangers.column, "codes": strangers.codes}
            steps += [
                {"name": "known types", "op": "mean", "of": list(named)},
                {"name": "networks", "op": "strangers", "of": "known types"}
                | {"networks": list(others)}
                | where,
            ]
        columns = dict(zip(("rest", "level", "own"), known, strict=False))
        if scale is not None:
            columns["scale"] = scale
        steps += [{"name": name, "op": "feature", "column": at} for name, at in columns.items()]
        after = ["scale"] if scale is not None else []
        if not known:
            steps.append({"name": "prediction", "op": "add", "of": ["networks", *after]})
        else:
            steps += [
                {"name": "corrected", "op": "add", "of": ["networks", "rest", *after]},
                {"name": "own level", "op": "add", "of": ["level", *after]},
                {
                    "name": "prediction",
                    "op": "blend",
                    "of": ["corrected", "own level"],
                    "by": "own",
                    "most": most,
                },
            ]
        return cls(n_features, steps, {}, every)

    def predict(self, matrix: Matrix) -> Floats:
        """(n,) the prediction of each row of an (n, n_features) matrix."""
        results: dict[str, Floats] = {}
        if self.forests and len(matrix) <= MOST_CANDIDATES:
            matrix = np.ascontiguousarray(matrix, np.float64)  # once, not once a forest
        said = self._said(matrix)
        for step in self.steps:
            if step["op"] == "network":
                result = said[step["network"]]
            else:
                result = _RUN[step["op"]](self, step, matrix, results)
            results[step["name"]] = result
        return np.ascontiguousarray(results[self.steps[-1]["name"]][:, 0])

    def _said(self, matrix: Matrix) -> Mapping[str, Floats]:
        """What each network says, by name."""
        if self._stacked is not None and len(matrix) <= MOST_ROWS:
            return self._stacked.score(matrix)
        return {name: network.score(matrix) for name, network in self._together.items()}

    def checked(self) -> "Model":
        """This model, once every step is known to fit."""
        widths: dict[str, int] = {}
        try:
            for step in self.steps:
                if step["name"] in widths:
                    raise ArtifactError(f"the model has two steps {step['name']!r}")
                widths[step["name"]] = _WIDTH[step["op"]](self, step, widths)
        except (KeyError, TypeError, ValueError) as fault:
            raise ArtifactError(f"the model's steps do not fit together: {fault!r}") from None
        if not self.steps or widths[self.steps[-1]["name"]] != 1:
            raise ArtifactError("the model's last step must give one value a row")
        return self


@dataclass(frozen=True, slots=True)
class Strangers:
    """Networks that answer where a column has none of the codes from 0 up to `codes`."""

    networks: Sequence[Network]
    column: int
    codes: int


def _score(
    model: Model, step: Mapping[str, Any], matrix: Matrix, done: dict[str, Floats]
) -> Floats:
    extra = [done[name] for name in step["inputs"]]
    return model.forests[step["forest"]].score(np.hstack([matrix, *extra]) if extra else matrix)


def _argmax(_: Model, step: Mapping[str, Any], __: Matrix, done: dict[str, Floats]) -> Floats:
    scores = done[step["of"]]
    if scores.shape[1] == 1:  # two classes have one log-odds
        return (scores > 0).astype(np.float64)
    best: Floats = np.argmax(scores, axis=1).astype(np.float64)
    return best.reshape(-1, 1)


def _select(
    model: Model, step: Mapping[str, Any], matrix: Matrix, done: dict[str, Floats]
) -> Floats:
    chosen = done[step["by"]][:, 0].astype(np.intp)
    # The rows of a forest side by side: each is then asked of a slice.
    order = np.argsort(chosen, kind="stable")
    chosen, rows = chosen[order], matrix.take(order, axis=0).astype(np.float64, "C", copy=False)
    starts = [0, *(np.flatnonzero(chosen[1:] != chosen[:-1]) + 1).tolist(), len(rows)]
    names, block = step["forests"], Block.of(rows, 1)
    for start, end in pairwise(starts):
        if start < end:
            model.forests[names[chosen[start]]].score_part(block, start, end)
    result = np.empty((len(rows), 1))
    result[order] = block.scores
    return result


def _feature(_: Model, step: Mapping[str, Any], matrix: Matrix, __: dict[str, Floats]) -> Floats:
    return matrix[:, [step["column"]]].astype(np.float64)


def _add(_: Model, step: Mapping[str, Any], __: Matrix, done: dict[str, Floats]) -> Floats:
    total = done[step["of"][0]]
    for name in step["of"][1:]:
        total = total + done[name]
    return total


def _mean(model: Model, step: Mapping[str, Any], matrix: Matrix, done: dict[str, Floats]) -> Floats:
    return _add(model, step, matrix, done) / len(step["of"])


def _blend(_: Model, step: Mapping[str, Any], __: Matrix, done: dict[str, Floats]) -> Floats:
    start, other = (done[name] for name in step["of"])
    return start + done[step["by"]] * np.clip(other - start, -step["most"], step["most"])


def _strangers(
    model: Model, step: Mapping[str, Any], matrix: Matrix, done: dict[str, Floats]
) -> Floats:
    result = done[step["of"]]
    rows = np.flatnonzero(~(matrix[:, step["column"]] < step["codes"]))
    if len(rows):  # as in few rankings
        said = [model.networks[name].score(matrix[rows]) for name in step["networks"]]
        result = result.copy()
        result[rows] = sum(said[1:], said[0]) / len(said)
    return result


def _score_width(model: Model, step: Mapping[str, Any], widths: dict[str, int]) -> int:
    forest = model.forests[step["forest"]]
    inputs = model.n_features + sum(widths[name] for name in step["inputs"])
    if forest.n_inputs != inputs:
        raise ValueError(f"forest {step['forest']} reads {forest.n_inputs} columns of {inputs}")
    return forest.n_outputs


def _argmax_width(_: Model, step: Mapping[str, Any], widths: dict[str, int]) -> int:
    if widths[step["of"]] < 1:
        raise ValueError("argmax of nothing")
    return 1


def _select_width(model: Model, step: Mapping[str, Any], widths: dict[str, int]) -> int:
    done = {s["name"]: s for s in model.steps[: len(widths)]}
    by = done[step["by"]]
    if by["op"] != "argmax" or len(step["forests"]) != max(widths[by["of"]], 2):
        raise ValueError("select needs an argmax and one forest for each of its outputs")
    for name in step["forests"]:
        forest = model.forests[name]
        if forest.n_inputs != model.n_features or forest.n_outputs != 1:
            raise ValueError(f"forest {name} must read the features and give one value")
    return 1


def _feature_width(model: Model, step: Mapping[str, Any], _: dict[str, int]) -> int:
    column = step["column"]
    if type(column) is not int or not 0 <= column < model.n_features:
        raise ValueError(f"no column {column} among {model.n_features}")
    return 1


def _add_width(_: Model, step: Mapping[str, Any], widths: dict[str, int]) -> int:
    if {widths[name] for name in step["of"]} != {1}:
        raise ValueError("only single values add up")
    return 1


def _network_width(model: Model, step: Mapping[str, Any], _: dict[str, int]) -> int:
    return _network_fits(model, step["network"])


def _network_fits(model: Model, name: str) -> int:
    shape = model.networks[name].shape
    columns = (*shape.numbers, *(column for column, _ in shape.categories))
    if not all(0 <= column < model.n_features for column in columns):
        raise ValueError(f"network {name} reads columns beyond {model.n_features}")
    return 1


def _strangers_width(model: Model, step: Mapping[str, Any], widths: dict[str, int]) -> int:
    if widths[step["of"]] != 1 or not step["networks"]:
        raise ValueError("strangers stand for a single value, and are at least one network")
    if type(step["codes"]) is not int or step["codes"] < 0:
        raise ValueError("strangers need a number of codes")
    for name in step["networks"]:
        _network_fits(model, name)
    return _feature_width(model, step, widths)


def _blend_width(_: Model, step: Mapping[str, Any], widths: dict[str, int]) -> int:
    names = (*step["of"], step["by"])
    if len(step["of"]) != 2 or {widths[name] for name in names} != {1}:
        raise ValueError("only two single values blend")
    if not 0 <= float(step["most"]) < np.inf:
        raise ValueError("a blend's most must be finite and at least 0")
    return 1


_RUN: Mapping[str, Callable[..., Floats]] = {
    "score": _score,
    "argmax": _argmax,
    "select": _select,
    "feature": _feature,
    "add": _add,
    "mean": _mean,
    "blend": _blend,
    "strangers": _strangers,
}
_WIDTH: Mapping[str, Callable[..., int]] = {
    "score": _score_width,
    "argmax": _argmax_width,
    "select": _select_width,
    "feature": _feature_width,
    "add": _add_width,
    "mean": _add_width,
    "network": _network_width,
    "blend": _blend_width,
    "strangers": _strangers_width,
}
