"""Compiled bytecode for a bundle, made by an interpreter of the bundle's own version."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from uv import find_uv_bin

_INSTALLED: Final = "/var/task"
"""Where Lambda unpacks a bundle: what tracebacks are to say."""


def compile_bundle(version: str, folder: Path) -> bool:
    """Compile every module below a folder; False where this machine has no such interpreter.

    The function runs without it, and takes longer to start.

    Parameters
    ----------
    version : str
        Of Python, such as `3.13`.
    folder : Path
        A bundle.
    """
    interpreter = find_interpreter(version)
    if interpreter is None:
        print(
            f"No Python {version} is here to compile bytecode with: the rank function will be "
            f"slower to start. One is installed by: uv python install {version}",
            file=sys.stderr,
        )
        return False
    # By hash and unchecked: neither the time of the build nor a look at the source at run time.
    # One process and one hash seed, so that the same source gives the same bytes.
    command = [
        *(interpreter, "-m", "compileall", "-q", "-f", "-s", str(folder), "-p", _INSTALLED),
        *("--invalidation-mode", "unchecked-hash", str(folder)),
    ]
    environment = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return True


def find_interpreter(version: str) -> str | None:
    """An interpreter of this version, among those that people have: its path, or None."""
    return next((path for path in _candidates(version) if _runs(path, version)), None)


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    on_path = shutil.which(f"python{version}")
    if on_path is not None:
        yield on_path
    managed = subprocess.run(
        [find_uv_bin(), "python", "find", "--managed-python", "--no-python-downloads", version],
        capture_output=True,
        text=True,
        check=False,
    )
    if managed.returncode == 0:
        yield managed.stdout.strip()
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}")))


def _runs(path: str, version: str) -> bool:
    """Whether it is one: what a path finds may be a stand-in that starts nothing."""
    code = "import sys; print('{}.{}'.format(*sys.version_info), sys.implementation.name)"
    try:
        said = subprocess.run(
            [path, "-I", "-c", code], capture_output=True, text=True, check=False, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.stdout.strip() == f"{version} cpython"
