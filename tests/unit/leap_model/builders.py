"""Small jobs, hand-made forests and a tiny artifact, for the tests of this folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from functions.retrain.learning.linked import LinkedTrees
from functions.retrain.learning.packing import packed
from leap_model.artifact import Artifact
from leap_model.catalogue import parse_catalogue
from leap_model.columns import Jobs, Labels, Objects
from leap_model.features.schema import CategoryColumn, NumberColumn, Schema
from leap_model.history import Outcomes, family_hashes, snapshot_as_of
from leap_model.limits import DAY_US
from leap_model.model import Model
from leap_model.times import parse_time
from leap_model.trees import Forest
from tests.support import CATALOGUE

LAUNCH = parse_time("2026-01-12T10:11:12Z")

Node: TypeAlias = "Split | float"


@dataclass(frozen=True)
class Split:
    """Rows at most `at` (a number) or with a code among `at` (a set) go left."""

    feature: int
    at: float | frozenset[int]
    left: Node
    right: Node
    missing_left: bool = False


@dataclass
class _Nodes:
    rows: list[tuple[float, ...]] = field(default_factory=list)
    sets: list[list[int]] = field(default_factory=list)

    def add(self, node: Node) -> int:
        at = len(self.rows)
        if not isinstance(node, Split):
            self.rows.append((1, 0, 0, node, 0, 0, -1))
            return at
        self.rows.append(())
        value, index = 0.0, -1
        if isinstance(node.at, frozenset):
            index = len(self.sets)
            self.sets.append([int(code in node.at) for code in range(256)])
        else:
            value = node.at
        left, right = self.add(node.left), self.add(node.right)
        self.rows[at] = (0, node.missing_left, node.feature, value, left, right, index)
        return at


def linked(
    *trees: Node,
    n_inputs: int = 1,
    outputs: Sequence[int] | None = None,
    baseline: Sequence[float] = (0.0,),
) -> LinkedTrees:
    """Linked trees; every tree adds to output 0 unless `outputs` says otherwise."""
    nodes = _Nodes()
    roots = [nodes.add(tree) for tree in trees]
    rows = np.array(nodes.rows, np.float64).reshape(-1, 7)
    leaf, missing_left, column, value, left, right, index = rows.T
    bits = np.array(nodes.sets, np.uint8).reshape(-1, 256)
    return LinkedTrees(
        n_inputs=n_inputs,
        baseline=np.array(baseline, np.float64),
        roots=np.array(roots, np.int64),
        outputs=np.array([0] * len(trees) if outputs is None else outputs, np.int64),
        leaf=leaf != 0,
        missing_left=missing_left != 0,
        by_set=index >= 0,
        column=column.astype(np.int64),
        value=value,
        left=left.astype(np.int64),
        right=right.astype(np.int64),
        set_index=index.astype(np.int64),
        sets=np.packbits(bits, axis=1, bitorder="little"),
    )


def forest(*trees: Node, n_inputs: int = 1, **rest: Any) -> Forest:
    """A forest of such trees."""
    return packed(linked(*trees, n_inputs=n_inputs, **rest))


def jobs_of(rows: Sequence[dict[str, Any]]) -> Jobs:
    """Jobs from a few fields each; what a row leaves out is the same for all."""

    def floats(name: str, default: float) -> Any:
        return np.array([row.get(name, default) for row in rows], np.float64)

    return Jobs(
        model_type=Labels.of(row.get("model_type", "resnet") for row in rows),
        hardware_type=Labels.of(row.get("hardware_type", "fast-8") for row in rows),
        family=Labels.of(row.get("family", "a family") for row in rows),
        num_trainers=floats("num_trainers", 1),
        batch_size=floats("batch_size", 64),
        accelerators_per_host=floats("accelerators_per_host", np.nan),
        launched_at=np.array([row.get("launched_at", LAUNCH) for row in rows], np.int64),
        config=Objects.of([row.get("config", {}) for row in rows]),
        allocation=Objects.of([row.get("allocation", {}) for row in rows]),
        architecture=Objects.of([row.get("architecture", {}) for row in rows]),
    )


def outcomes_of(rows: Sequence[tuple[str, int, float]]) -> Outcomes:
    """Outcomes from (family, completed_at, log throughput)."""
    return Outcomes(
        family_hashes(Labels.of(row[0] for row in rows)),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.float64),
    )


def tiny_artifact(*, shift: float = 0.0, **training: Any) -> Artifact:
    """An artifact of two columns, two trees and three families; `shift` moves one leaf."""
    tree = Split(0, 2.0, Split(1, frozenset({0, 2}), 1.0, 2.0), 3.0 + shift, missing_left=True)
    schema = Schema(
        (
            NumberColumn("job.num_trainers"),
            CategoryColumn("job.model_type", ("bert", "resnet"), other=True),
        ),
        ("config.lr",),
    )
    outcomes = outcomes_of([("a", DAY_US, 1.0), ("a", 2 * DAY_US, 2.0), ("b", DAY_US, 4.0)])
    return Artifact(
        Model.of_one(forest(tree, 0.5, n_inputs=2, baseline=(6.0,))),
        schema,
        parse_catalogue(CATALOGUE),
        snapshot_as_of(outcomes, 3 * DAY_US),
        {
            "target": "throughput",
            "as_of": "2026-01-13",
            "hardware_rows": {"fast-8": 60, "mid-8": 50},
            **training,
        },
    )
