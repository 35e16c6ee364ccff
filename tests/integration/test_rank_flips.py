"""A long-lived instance of the rank function takes up night after night: memory and time stay."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leap_model.artifact import Artifact, pack, publish
from leap_model.history import History, Snapshot
from leap_model.store import LocalStore
from tests.unit.leap_model.builders import tiny_artifact

MB = 2**20
FAMILIES = 1_250_000
"""Five times as many as an artifact has: its size must show beside what Python itself needs."""
NIGHTS = 6
MEMORY_MB, TIMEOUT_S = 1_769, 15
"""The least that the template gives the function."""

CHILD = """
import json, re, sys, time
from pathlib import Path
from functions.rank.handler import handler_of
from functions.rank.loading import Loading
from functions.rank.recorder import Recorder
from functions.rank.service import RankService
from functions.rank.telemetry import Telemetry
from leap_model import Ranker, limits, s3
from leap_model.s3 import S3Store
from leap_model.source import StageSource
from leap_model.pointer import Pointer

def peak_mb():
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", status)[1]) / 1024

class Bucket(S3Store):
    # Objects come from a folder; what is done with them is S3Store's own.
    def read(self, key):
        path = Path(sys.argv[1]) / key
        return path.read_bytes() if path.exists() else None

    def _read_part(self, key, first, size):
        with (Path(sys.argv[1]) / key).open("rb") as file:
            file.seek(first)
            return file.read(min(s3._PART_BYTES, size - first))

limits.REFRESH_WAIT_S = 60.0  # each night is waited for
pointers = [Pointer(**one) for one in json.loads(sys.argv[2])]
now = pointers[0]
store = Bucket("fleet", s3=object(), cache=Path(sys.argv[3]))
source = StageSource(store, "prod", switched=False, cache_s=0,
                     pointer_of=lambda target: now if target == "throughput" else None)
service = RankService(Loading(lambda: Ranker(source), 60), Recorder(len, 0.0), Telemetry("t"))
handle = handler_of(service)
request = {"job": {"job_name": "a", "model_type": "bert", "num_trainers": 1, "batch_size": 1,
                   "config": {"lr": 0.1}}, "candidates": ["fast-8", "mid-8"]}
base, served, seconds = peak_mb(), [], []
for now in pointers:
    began = time.monotonic()
    answer = handle(request, None)
    seconds.append(time.monotonic() - began)
    assert len(answer["preference"]) == 2, answer
    served.append(answer["model_version"])
print(json.dumps({"base": base, "peak": peak_mb(), "served": served, "seconds": seconds}))
"""


def large(night: int) -> Artifact:
    """The artifact of a night, with the history of very many families."""
    values = np.full(FAMILIES, float(night))
    history = History(values, values, values, values, np.full(FAMILIES, night, np.int64))
    snapshot = Snapshot(np.arange(FAMILIES, dtype=np.uint64), history)
    return replace(tiny_artifact(as_of=f"2026-01-{night:02}"), snapshot=snapshot)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells a process's peak")
def test_nights_are_taken_up_with_two_artifacts_in_memory_and_in_time(tmp_path: Path) -> None:
    store, pointers = LocalStore(tmp_path / "bucket"), []
    for night in range(1, NIGHTS + 1):
        packed = pack(large(night))
        uri = f"models/throughput/{packed.version}"
        publish(store, uri, packed)
        pointers.append(
            {
                "version": packed.version,
                "uri": uri,
                "manifest_sha256": packed.manifest_sha256,
                "as_of": f"2026-01-{night:02}",
                "published_at": f"2026-01-{night:02}T02:00:00Z",
            }
        )
    size = sum(map(len, packed.files.values())) / MB
    arguments = [str(store.root), json.dumps(pointers), str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    print(f"artifact {size:.0f} MB, {said}")
    assert said["served"] == [pointer["version"] for pointer in pointers]
    # The one that serves and the one that is coming; a third would say that none is let go of.
    held = (said["peak"] - said["base"]) / size
    assert held < 2.5
    # An artifact of 40 % of the function's memory still fits when it flips.
    assert said["base"] + held * 0.4 * MEMORY_MB < MEMORY_MB
    assert max(said["seconds"]) < TIMEOUT_S
