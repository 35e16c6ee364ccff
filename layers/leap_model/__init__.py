"""LEAP's shared library: from a job to a preference among accelerator types.

`Ranker` answers in the caller's own process, `RankClient` over HTTP; neither raises.
"""

from leap_model.client import RankClient
from leap_model.ranker import Ranker

__all__ = ["RankClient", "Ranker"]
