"""What each function ships, and how it is put together: no Docker, no compiler of yours, no AWS."""

import enum
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from uv import find_uv_bin

from infra.bytecode import compile_bundle
from infra.kernel import FOLDER, KernelError, compile_kernel
from infra.machine import Machine

ROOT: Final = Path(__file__).parents[1]

# Never stripped of symbols: numpy's and Arrow's binaries break. Arrow's own are all linked with
# substrait and dataset, which stay though nothing calls them.
_UNUSED: Final = (
    *("bin", "**/tests", "**/*.pyi", "**/*.px[di]", "**/*.pyx", "**/*.a"),
    *("numpy/_core/include", "numpy/distutils", "pyarrow/include", "pyarrow/src"),
    # The same library again, under the names that a linker looks for.
    *("pyarrow/libarrow_python*.so", "pyarrow/lib*.so.*.*.*"),
    *("pyarrow/libarrow_s3.*", "pyarrow/libarrow_flight.*", "pyarrow/libarrow_python_flight.*"),
    *("pyarrow/_s3fs.*", "pyarrow/_azurefs.*", "pyarrow/_gcsfs.*", "pyarrow/_hdfs.*"),
    *("pyarrow/_flight.*", "pyarrow/_orc.*", "pyarrow/_dataset_orc.*"),
    "pyarrow/_pyarrow_cpp_tests.*",
)
"""What nothing of LEAP imports, and nothing that it imports does."""


class BundleError(Exception):
    """A bundle could not be put together."""


class Bundle(enum.Enum):
    """One function of `functions/`."""

    INGEST = "ingest"
    RANK = "rank"
    RETRAIN = "retrain"

    @property
    def source(self) -> Path:
        """The folder of its code."""
        return ROOT / "functions" / self.value

    @property
    def requirements(self) -> Path:
        """What it needs, locked with hashes."""
        return ROOT / "requirements" / f"{self.value}.txt"


def build(bundle: Bundle, machine: Machine, folder: Path) -> None:
    """Fill an empty folder with a function's code and its dependencies for a machine.

    The same checkout gives the same bytes, whenever and from wherever it is built.

    Raises
    ------
    BundleError
        A dependency cannot be had for that machine.
    """
    _install(bundle, machine, folder)
    _leave_out(folder, _UNUSED)
    if not (folder / "scipy").exists():  # which imports whatever numpy says it has
        _leave_out(folder, ("numpy/f2py",))
    # Without the kernel of this machine: the bundle's own is compiled for its own.
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc", FOLDER.name)
    shutil.copytree(ROOT / "layers" / "leap_model", folder / "leap_model", ignore=ignore)
    _add_kernel(machine, folder / "leap_model" / FOLDER.name)
    shutil.copytree(bundle.source, folder / "functions" / bundle.value, ignore=ignore)
    shutil.copy(ROOT / "functions" / "__init__.py", folder / "functions")
    _state_version(folder)
    if bundle is Bundle.RANK:
        # A launch waits for it, and Lambda cannot keep what it compiles.
        compile_bundle(machine.python, folder)


def _install(bundle: Bundle, machine: Machine, folder: Path) -> None:
    command = [
        *(find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--require-hashes"),
        *("--target", str(folder), "--requirement", str(bundle.requirements)),
        *("--python-version", machine.python, "--only-binary", ":all:"),
        *(("--python-platform", machine.wheels) if machine.wheels else ()),
    ]
    # Files and not links to uv's cache, which what is left out below would be taken from.
    environment = {**os.environ, "UV_LINK_MODE": "copy"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BundleError(f"{bundle.value} for {machine} cannot be built:\n{done.stderr.strip()}")


def _add_kernel(machine: Machine, folder: Path) -> None:
    """The kernel that scores forests; numpy scores them where none can be compiled."""
    try:
        compile_kernel(machine.system, machine.processor, folder)
    except KernelError as fault:
        print(f"The bundle scores forests by numpy, more slowly: {fault}", file=sys.stderr)


def _leave_out(folder: Path, patterns: Iterable[str]) -> None:
    for pattern in patterns:
        for path in list(folder.glob(pattern)):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
    # They say where and when a package was installed.
    for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"):
        for path in folder.glob(f"*.dist-info/{name}"):
            path.unlink()
    (folder / ".lock").unlink(missing_ok=True)


def _state_version(folder: Path) -> None:
    """The library's own version, by which an artifact says what made it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    info = folder / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
