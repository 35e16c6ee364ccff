"""What importing the library costs a launcher."""

import subprocess
import sys

HEAVY = {"sklearn", "scipy", "pandas", "pyarrow", "boto3", "botocore", "click", "rich"}


def _loaded(code: str) -> set[str]:
    script = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_library_loads_nothing_heavier_than_numpy() -> None:
    loaded = _loaded("import leap_model; from leap_model import RankClient, Ranker")
    assert "numpy" in loaded
    assert not loaded & HEAVY


def test_a_ranking_loads_nothing_heavier_than_numpy() -> None:
    code = "from leap_model import Ranker; Ranker.from_store('/nowhere').rank({'job': {}})"
    assert not _loaded(code) & HEAVY


def test_no_function_is_loaded_by_the_library() -> None:
    assert not _loaded("from leap_model import Ranker") & {"functions", "cli"}
