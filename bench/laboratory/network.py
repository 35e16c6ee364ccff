"""A residual network for rows of numbers and categories, on the processor."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found,unused-ignore]
from numpy.typing import NDArray

from functions.retrain.learning.threads import cores
from leap_model.columns import Floats, Ints, Matrix


@dataclass(frozen=True, slots=True)
class Size:
    """A network and its training. Loss is the absolute error of standardised values; the learning
    rate falls to zero along a cosine."""

    width: int = 256
    blocks: int = 3
    category_width: int = 8
    dropout: float = 0.1
    epochs: int = 40
    batch: int = 256
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4

    def to_json(self) -> dict[str, Any]:
        """As results are filed by."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Rows:
    """n rows: `numbers` (n, columns), and `categories` (n, kinds) as codes from 0 on."""

    numbers: Floats
    categories: Ints


def fit_predict(
    size: Size, rows: Rows, values: Floats, kinds: Sequence[int], asked: Rows, seed: int
) -> Floats:
    """(m,) what a network fitted to (n,) values says of m rows; `kinds` counts the codes of each
    category column. The same for the same seed, machine and number of threads."""
    torch.manual_seed(seed)
    torch.set_num_threads(cores())
    center, spread = float(np.mean(values)), float(np.std(values)) or 1.0
    target = torch.tensor((values - center) / spread, dtype=torch.float32)
    numbers, categories = _tensors(rows)
    net = _network(size, numbers.shape[1], kinds)
    trainer = torch.optim.AdamW(
        net.parameters(), lr=size.learning_rate, weight_decay=size.weight_decay
    )
    steps = size.epochs * -(-len(target) // size.batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(trainer, steps)
    net.train()
    for _ in range(size.epochs):
        for at in torch.randperm(len(target)).split(size.batch):
            trainer.zero_grad()
            loss = (_forward(net, numbers[at], categories[at]) - target[at]).abs().mean()
            loss.backward()
            trainer.step()
            schedule.step()
    net.eval()
    with torch.no_grad():
        parts = zip(*(tensor.split(8_192) for tensor in _tensors(asked)), strict=True)
        said = torch.cat([_forward(net, *part) for part in parts])
    predicted: Floats = said.numpy().astype(np.float64) * spread + center
    return predicted


def codes_of(matrix: Matrix, kinds: Sequence[int]) -> Ints:
    """(n, columns) category columns as codes, missing ones as the last of each `kinds`."""
    last = np.array(kinds, np.int64) - 1
    return np.where(np.isnan(matrix), last, np.nan_to_num(matrix).astype(np.int64))


def _tensors(rows: Rows) -> tuple[Any, Any]:
    return (
        torch.tensor(rows.numbers, dtype=torch.float32),
        torch.tensor(_contiguous(rows.categories), dtype=torch.int64),
    )


def _contiguous(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.ascontiguousarray(values)


def _network(size: Size, numbers: int, kinds: Sequence[int]) -> Any:
    nn = torch.nn
    embeddings = nn.ModuleList([nn.Embedding(kind, size.category_width) for kind in kinds])
    block = [
        nn.Sequential(
            nn.LayerNorm(size.width),
            nn.Linear(size.width, size.width),
            nn.ReLU(),
            nn.Dropout(size.dropout),
            nn.Linear(size.width, size.width),
        )
        for _ in range(size.blocks)
    ]
    return nn.ModuleDict(
        {
            "categories": embeddings,
            "first": nn.Linear(numbers + size.category_width * len(kinds), size.width),
            "blocks": nn.ModuleList(block),
            "last": nn.Sequential(nn.LayerNorm(size.width), nn.ReLU(), nn.Linear(size.width, 1)),
        }
    )


def _forward(net: Any, numbers: Any, categories: Any) -> Any:
    embedded = [table(categories[:, at]) for at, table in enumerate(net["categories"])]
    hidden = net["first"](torch.cat([numbers, *embedded], dim=1))
    for block in net["blocks"]:
        hidden = hidden + block(hidden)
    return net["last"](hidden)[:, 0]
