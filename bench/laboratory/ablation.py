"""What each part of `network` brings: the same of one member, with a part at a time left out."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from functions.retrain.ladder import Rung
from functions.retrain.learning.network import ResidualNetwork

_ONE: Final = ResidualNetwork(name="network-one", members=1)


def _but(name: str, *without: str, **constants: Any) -> Rung:
    return Rung(replace(_ONE, name=name, **constants), without)


_PARTS: Final = (
    Rung(_ONE),
    _but("network-unrecalled", "history"),
    _but("network-by-peak", scale="ratio.log_peak"),
    _but("network-unscaled", scale=""),
    _but("network-without-ratios", "ratio"),
    _but("network-without-architecture", "architecture"),
    _but("network-families-nameless", hide_family=1.0),
    _but("network-categories-shown", hide_hardware=0.0, hide_model_type=0.0, hide_other=0.0),
    _but("network-config-shown", hide_config=0.0),
    _but("network-undropped", dropout=0.0),
    _but("network-undecayed", decay=0.0, vector_decay=0.0),
)

ABLATION: Final[Mapping[str, Rung]] = {rung.estimator.name: rung for rung in _PARTS}
"""By method: `network-one` is what the others are compared with. Unrecalled: no corrections by what
resembles a job. By peak, unscaled: after the peak rate alone, or after nothing. Families nameless:
none has a vector while it learns. Shown: never hidden from a step."""
