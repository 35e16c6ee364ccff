"""A forest in a file."""

from collections.abc import Callable
from typing import Any

from leap_model.columns import Floats, Matrix
from leap_model.engine import Block
from leap_model.errors import ArtifactError
from leap_model.late import Late
from leap_model.trees import Forest, open_forest


class StoredForest(Late[Forest]):
    """Scores as `Forest` does.

    Parameters
    ----------
    n_inputs, n_outputs : int
        What the file must turn out to have.
    content : callable
        Gives the file's bytes, digested.
    """

    def __init__(self, n_inputs: int, n_outputs: int, content: Callable[[], Any]) -> None:
        super().__init__(self._open)
        self.n_inputs = n_inputs
        self.n_outputs = n_outputs
        self._content = content

    def _open(self) -> Forest:
        forest = open_forest(self._content())
        if (forest.n_inputs, forest.n_outputs) != (self.n_inputs, self.n_outputs):
            raise ArtifactError("a forest has not the columns that the model says it has")
        return forest

    def score(self, matrix: Matrix) -> Floats:
        """(n, n_outputs) scores of an (n, n_inputs) matrix."""
        return self.opened().score(matrix)

    def score_part(self, block: Block, start: int, end: int) -> None:
        """Write the scores of some rows of a block."""
        self.opened().score_part(block, start, end)

    def to_bytes(self) -> bytes:
        """The file's bytes."""
        return self.opened().to_bytes()
