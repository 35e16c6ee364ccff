"""Both engines on the same rows."""

import numpy as np

from leap_model import walk
from leap_model.columns import Floats
from leap_model.engine import Block
from leap_model.trees import Forest


def scores_of(forest: Forest, matrix: Floats) -> Floats:
    """Scores, once every engine that serves here was found to give the same bits, also in parts."""
    served = forest.score(matrix)
    by_numpy = walk.score(forest, np.ascontiguousarray(matrix, np.float64))
    assert served.shape == by_numpy.shape
    assert served.tobytes() == by_numpy.tobytes()
    block = Block.of(np.ascontiguousarray(matrix, np.float64), forest.n_outputs)
    block.scores[:] = np.nan
    middle = len(matrix) // 3
    for start, end in ((middle, len(matrix)), (middle, middle), (0, middle)):
        forest.score_part(block, start, end)
    assert block.scores.tobytes() == by_numpy.tobytes()
    return served
