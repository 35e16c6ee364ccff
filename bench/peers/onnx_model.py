"""Linked trees as an ONNX model, and ONNX Runtime's scores by it.

`TreeEnsembleRegressor` knows no splits by a set of categories: here such a split compares the code
with the middle of the set instead, so that the trees have the same shape and ask no more than one
comparison a split, which is the fastest that the operator has. Numbers are float32, for which ONNX
Runtime is fastest.
"""

from typing import Any

import numpy as np

from functions.retrain.learning.linked import LinkedTrees
from leap_model.columns import Floats
from leap_model.forest_file import Array


def onnx_bytes(trees: LinkedTrees) -> bytes:
    """The model's file; input `x` (n, inputs), output `y` (n, outputs), both float32."""
    from onnx import TensorProto, helper

    sizes = np.diff(np.append(trees.roots, len(trees.leaf)))
    tree = np.repeat(np.arange(len(trees.roots)), sizes)
    first = np.repeat(trees.roots, sizes)
    leaves = np.flatnonzero(trees.leaf)
    modes = np.where(trees.leaf, b"LEAF", b"BRANCH_LEQ")
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=len(trees.baseline),
        base_values=trees.baseline.tolist(),
        post_transform="NONE",
        nodes_treeids=tree.tolist(),
        nodes_nodeids=(np.arange(len(tree)) - first).tolist(),
        nodes_featureids=trees.column.tolist(),
        nodes_values=_thresholds(trees).tolist(),
        nodes_modes=modes.tolist(),
        nodes_truenodeids=np.where(trees.leaf, 0, trees.left - first).tolist(),
        nodes_falsenodeids=np.where(trees.leaf, 0, trees.right - first).tolist(),
        nodes_missing_value_tracks_true=(trees.missing_left & ~trees.leaf).astype(int).tolist(),
        target_treeids=tree[leaves].tolist(),
        target_nodeids=(leaves - first[leaves]).tolist(),
        target_ids=trees.outputs[tree[leaves]].tolist(),
        target_weights=trees.value[leaves].tolist(),
    )
    graph = helper.make_graph(
        [node],
        "forest",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, trees.n_inputs])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, len(trees.baseline)])],
    )
    operators = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=operators, ir_version=8)
    return bytes(model.SerializeToString())


def _thresholds(trees: LinkedTrees) -> Array:
    """(nodes,) float32: of a split by set the middle of its codes."""
    bits = np.unpackbits(trees.sets, axis=1, bitorder="little")
    count = np.maximum(bits.sum(axis=1, dtype=np.int64), 1)
    middle = (bits @ np.arange(bits.shape[1])) // count
    found = np.where(trees.leaf, 0.0, trees.value)
    found[trees.by_set] = middle[trees.set_index[trees.by_set]]
    most = np.finfo(np.float32).max
    return np.clip(found, -most, most).astype(np.float32)


class OnnxForest:
    """ONNX Runtime over linked trees, on one thread."""

    def __init__(self, trees: LinkedTrees) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        providers = ["CPUExecutionProvider"]
        self._session: Any = onnxruntime.InferenceSession(onnx_bytes(trees), options, providers)

    def score(self, matrix: Floats) -> Floats:
        """(n, outputs) scores of an (n, inputs) matrix."""
        found: Floats = self._session.run(None, {"x": np.ascontiguousarray(matrix, np.float32)})[0]
        return found
