"""python -m bench.loaded ROOT URI DIGEST: load an artifact and rank, with nothing else here.

The standard input is the request; the answer is one line of JSON.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Final

from leap_model import Ranker
from leap_model.artifact import load

RANKINGS: Final = 1_000
_LOADS: Final = 20


def main(words: list[str]) -> int:
    """Processor milliseconds of the first load and of the median later one, and megabytes."""
    root, uri, digest = words
    request: dict[str, Any] = json.load(sys.stdin)

    def loaded() -> float:
        started = time.process_time()
        load(Path(root) / uri, digest)
        return (time.process_time() - started) * 1e3

    first, *warm = [loaded() for _ in range(1 + _LOADS)]
    ranker = Ranker.from_store(root)
    for _ in range(RANKINGS):
        if not ranker.rank(request)["preference"]:
            raise RuntimeError("nothing was ranked")
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    resident = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    print(json.dumps({"first": first, "warm": sorted(warm)[_LOADS // 2], "resident": resident}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
