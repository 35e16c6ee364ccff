"""The bundles, built: small enough, of the right machine, complete, and the same every time.

What they are made of comes from the package index that this machine is set up with.
"""

import ast
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.bundle import Bundle, BundleError, build
from infra.bytecode import compile_bundle, find_interpreter
from infra.machine import DEPLOYED, Machine, this_machine
from leap_model import engine
from tests.infrastructure import elf

ROOT = Path(__file__).parents[2]
MB = 1_000_000
MOST_MB = {Bundle.RANK: 60, Bundle.INGEST: 160, Bundle.RETRAIN: 350}
"""Unzipped. Lambda takes 250; the nightly task has a disk of its own."""
HERE = this_machine()
MACHINES = [DEPLOYED, Machine(HERE.python, "x86_64")]
SYSTEM = re.compile(r"(lib(c|m|dl|rt|util|pthread|z)|libgcc_s|libstdc\+\+|ld-linux-.*)\.so\.\d+")
"""Libraries that every Linux with a Python has, and that wheels are allowed to leave to it."""

RETRAIN = "functions.retrain"

Built = Callable[[Bundle, Machine], Path]


@pytest.fixture(scope="session")
def built(bundles: Path, wheels: None) -> Built:
    """A bundle for a machine, built once."""

    @functools.cache
    def of(bundle: Bundle, machine: Machine) -> Path:
        folder = bundles / f"{bundle.value}-{machine.python}-{machine.processor}"
        folder.mkdir()
        build(bundle, machine, folder)
        return folder

    return of


every_bundle = pytest.mark.parametrize("bundle", list(Bundle), ids=lambda b: b.value)
every_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda m: m.processor)


def files(folder: Path) -> list[Path]:
    """All files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


@every_machine
@every_bundle
def test_a_bundle_is_small_enough(built: Built, bundle: Bundle, machine: Machine) -> None:
    size = sum(path.stat().st_size for path in files(built(bundle, machine)))
    print(f"{bundle.value} for {machine.processor}: {size / MB:.1f} MB")
    assert size <= MOST_MB[bundle] * MB


@every_machine
@every_bundle
def test_every_binary_is_of_the_machine(built: Built, bundle: Bundle, machine: Machine) -> None:
    folder = built(bundle, machine)
    libraries = {path: elf.read(path) for path in files(folder) if ".so" in path.name}
    assert libraries
    assert {library and library.processor for library in libraries.values()} == {machine.processor}
    tag = f"cpython-{machine.python.replace('.', '')}-{machine.processor}"
    extensions = [path.name for path in libraries if ".cpython-" in path.name]
    assert extensions
    assert all(tag in name for name in extensions)


@every_machine
@every_bundle
def test_every_library_that_a_binary_asks_for_is_there(
    built: Built, bundle: Bundle, machine: Machine
) -> None:
    libraries = [path for path in files(built(bundle, machine)) if ".so" in path.name]
    present = {path.name for path in libraries}
    for path in libraries:
        library = elf.read(path)
        assert library is not None
        missing = [name for name in library.needed if not SYSTEM.fullmatch(name)]
        assert set(missing) <= present, path


@every_machine
@every_bundle
def test_wheels_are_of_the_locked_versions_and_of_the_machine(
    built: Built, bundle: Bundle, machine: Machine
) -> None:
    folder = built(bundle, machine)
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+?)(?: ;.*)? \\$", _lock(bundle, machine), re.M))
    found = {}
    for info in folder.glob("*.dist-info"):
        name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
        found[name.replace("_", "-").lower()] = version
        if name != "leap":
            tags = re.findall(r"^Tag: \S+?-(\S+)$", (info / "WHEEL").read_text(), re.M)
            assert all(tag.endswith(f"_{machine.processor}") or tag == "none-any" for tag in tags)
    assert found.pop("leap") == "0.1.0"
    assert found == locked
    assert found["numpy"] == "2.4.6"


def _lock(bundle: Bundle, machine: Machine) -> str:
    """The lines that concern a machine's Python; scipy alone tells versions apart."""
    newer = tuple(map(int, machine.python.split("."))) >= (3, 12)
    other = "python_full_version < '3.12'" if newer else "python_full_version >= '3.12'"
    lines = bundle.requirements.read_text().splitlines()
    return "\n".join(line for line in lines if other not in line)


@every_bundle
def test_versions_are_those_that_everything_else_is_tested_with(bundle: Bundle) -> None:
    def pinned(name: str) -> set[str]:
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        return set(re.findall(r"^([a-z0-9-]+==\S+)", text, re.M))

    assert pinned(bundle.value) <= pinned("dev")


@every_bundle
def test_a_lock_has_hashes_and_no_address(bundle: Bundle) -> None:
    lock = bundle.requirements.read_text()
    assert "://" not in lock
    pinned = re.split(r"^(?=[a-z0-9-]+==)", lock, flags=re.M)[1:]
    assert all("--hash=sha256:" in requirement for requirement in pinned)


@every_bundle
def test_a_bundle_holds_its_own_function_and_no_other(built: Built, bundle: Bundle) -> None:
    folder = built(bundle, HERE)
    functions = {path.name for path in (folder / "functions").iterdir() if path.is_dir()}
    assert functions - {"__pycache__"} == {bundle.value}
    assert (folder / "leap_model" / "py.typed").exists()
    assert not [path for path in files(folder) if "tests" in path.relative_to(folder).parts]
    assert not (folder / "bin").exists()


def test_rank_ships_nothing_that_it_does_not_use(built: Built) -> None:
    shipped = {path.name.partition("-")[0] for path in built(Bundle.RANK, HERE).glob("*.dist-info")}
    assert shipped == {
        *("aws_lambda_powertools", "jmespath", "leap", "numpy", "typing_extensions"),
    }


def test_the_rank_function_starts_from_its_bundle_alone_without_boto3(built: Built) -> None:
    code = """
import json, sys
import functions.rank.handler as handler
import numpy
answer = handler.handler({"job": {}}, None)
print(json.dumps({"reason": answer["reason"], "cached": handler.__cached__,
                  "loaded": sorted({name.partition(".")[0] for name in sys.modules})}))
"""
    said = started(built(Bundle.RANK, HERE), code, LEAP_STORE="s3://bucket", LEAP_STAGE="dev")
    assert said["reason"] in ("invalid_request", "model_unavailable")
    assert "numpy" in said["loaded"]
    assert not {"boto3", "botocore", "pyarrow", "sklearn", "scipy"} & set(said["loaded"])
    assert Path(said["cached"]).exists()


@every_machine
@every_bundle
def test_a_bundle_has_the_kernel_of_its_machine_and_no_other(
    built: Built, bundle: Bundle, machine: Machine
) -> None:
    native = built(bundle, machine) / "leap_model" / "native"
    assert [path.name for path in native.iterdir()] == [f"kernel-linux-{machine.processor}.so"]
    assert engine.stamp(native.with_name("kernel")) == engine.stamp(engine.SOURCE)


def test_the_kernel_serves_from_the_rank_function_s_bundle(built: Built) -> None:
    code = """
import json
from leap_model import engine
from leap_model.trees import constant_forest
served = constant_forest(1, 1.5).prepared is not None
print(json.dumps({"engine": engine.name(), "served": served}))
"""
    said = started(built(Bundle.RANK, HERE), code)
    assert said == {"engine": "native", "served": True}


def test_the_ingest_function_s_arrow_writes_and_reads_without_what_was_left_out(
    built: Built,
) -> None:
    code = """
import json
from functions.ingest.batch import take_batch
from functions.ingest.message import Message
from leap_model.store import LocalStore
import pyarrow as pa, pyarrow.parquet as pq
import sys, tempfile
out = pa.BufferOutputStream()
pq.write_table(pa.table({"a": [1, 2, 3]}), out, compression="zstd")
print(json.dumps({"read": pq.ParquetFile(pa.BufferReader(out.getvalue())).read()["a"].to_pylist(),
                  "boto3": "boto3" in sys.modules}))
"""
    said = started(built(Bundle.INGEST, HERE), code)
    assert said == {"read": [1, 2, 3], "boto3": False}


def test_the_nightly_run_starts_from_its_bundle_and_says_what_it_lacks(built: Built) -> None:
    folder = built(Bundle.RETRAIN, HERE)
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"{_paths(folder)}; import runpy; runpy.run_module({RETRAIN!r}, run_name='__main__')",
        ],
        env={"PATH": os.environ["PATH"], "LEAP_STORE": "s3://bucket", "LEAP_STAGE": "dev"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "LEAP_SCHEDULED_TIME" in done.stdout


def test_the_nightly_run_knows_the_versions_that_an_artifact_says_made_it(built: Built) -> None:
    code = """
import json
from importlib.metadata import version
from functions.retrain.nightly import retrain
print(json.dumps({name: version(name) for name in ("leap", "numpy", "scikit-learn")}))
"""
    said = started(built(Bundle.RETRAIN, HERE), code)
    assert said == {"leap": "0.1.0", "numpy": "2.4.6", "scikit-learn": "1.9.1"}


def test_the_nightly_run_s_libraries_start_from_its_bundle(built: Built) -> None:
    code = """
import json
import joblib, pyarrow.parquet, scipy.optimize, sklearn.ensemble
from functions.retrain.learning.single import Single
print(json.dumps({"trains": Single.__name__}))
"""
    assert started(built(Bundle.RETRAIN, HERE), code) == {"trains": "Single"}


def started(folder: Path, code: str, **variables: str) -> dict[str, Any]:
    """What code says in an interpreter that has a bundle and the standard library, no more."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{_paths(folder)}\n{code}"],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def _paths(folder: Path) -> str:
    return f"import sys; sys.path.insert(0, {str(folder)!r})"


def test_the_same_checkout_gives_the_same_bytes(built: Built, tmp_path: Path) -> None:
    build(Bundle.RANK, DEPLOYED, tmp_path)
    assert digests(tmp_path) == digests(built(Bundle.RANK, DEPLOYED))


def digests(folder: Path) -> dict[str, str]:
    """What a bundle's name is made of: paths and contents."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files(folder)
    }


@pytest.mark.skipif(find_interpreter(DEPLOYED.python) is None, reason="no such Python is here")
def test_rank_ships_bytecode_for_the_deployed_python(built: Built) -> None:
    folder = built(Bundle.RANK, DEPLOYED)
    sources = [path for path in files(folder) if path.suffix == ".py"]
    tag = f"cpython-{DEPLOYED.python.replace('.', '')}"
    for source in sources:
        compiled = source.parent / "__pycache__" / f"{source.stem}.{tag}.pyc"
        flags = int.from_bytes(compiled.read_bytes()[4:8], "little")
        assert flags == 0b01, "by hash, and never compared with the source"
        assert str(folder).encode() not in compiled.read_bytes()


def test_without_such_a_python_rank_ships_as_source_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "module.py").write_text("x = 1\n")
    assert find_interpreter("3.4") is None
    assert not compile_bundle("3.4", tmp_path)
    assert "uv python install 3.4" in capsys.readouterr().err
    assert compile_bundle(HERE.python, tmp_path)
    assert (tmp_path / "__pycache__").is_dir()


def test_what_cannot_be_had_for_a_machine_is_said(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="for Machine") as raised:
        build(Bundle.RANK, Machine("3.10", "aarch64"), tmp_path)
    assert "numpy" in str(raised.value)


POOLS = {
    *("multiprocessing", "joblib", "loky", "fork"),
    *("ProcessPoolExecutor", "concurrent.futures.process"),
}


def pools(code: str) -> set[str]:
    """Names in code that stand for processes of its own, whichever way they are reached."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.name for alias in node.names}
            names.add(getattr(node, "module", None) or "")
    return {name for name in names if name in POOLS or name.partition(".")[0] in POOLS}


@pytest.mark.parametrize("part", ["layers/leap_model", "functions/ingest", "functions/rank"])
def test_no_process_pool_is_on_a_path_that_lambda_runs(part: str) -> None:
    # Lambda has no shared memory: a pool works everywhere else.
    for path in (ROOT / part).rglob("*.py"):
        assert pools(path.read_text()) == set(), path


@pytest.mark.parametrize(
    "code",
    [
        "import multiprocessing",
        "import multiprocessing.pool as p",
        "from joblib import Parallel",
        "from concurrent.futures import ProcessPoolExecutor as P",
        "from concurrent.futures.process import *",
        "import concurrent.futures\nconcurrent.futures.ProcessPoolExecutor(2)",
        "from concurrent import futures\nwith futures.ProcessPoolExecutor() as pool: pass",
        "import os\nos.fork()",
    ],
)
def test_a_process_pool_that_is_planted_is_found(code: str) -> None:
    assert pools(code)
