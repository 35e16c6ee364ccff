"""Compiles the kernel that scores forests, for any machine on any machine.

    python -m infra.kernel          for this machine, into the checkout: what `make setup` calls

The compiler is zig's, from PyPI, so that nobody has to have one. The same source gives the same
bytes wherever it is compiled.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "layers" / "leap_model" / "kernel"
FOLDER: Final = SOURCE.with_name("native")
"""Where the library looks for the kernel of the machine that it runs on."""
FLAGS: Final = (
    *("-std=c11", "-O3", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"),
    # Sums are the same numbers on every processor: nothing is reordered, nothing is fused.
    *("-ffp-contract=off", "-fno-fast-math"),
    # It stands on no C library, of whatever version.
    *("-nostdlib", "-ffreestanding", "-fno-builtin", "-fvisibility=hidden"),
    *("-fno-sanitize=undefined", "-Wl,-s"),
)
_TARGETS: Final = {"linux": "linux-none", "darwin": "macos"}
_PROCESSORS: Final = {"arm64": "aarch64"}


class KernelError(Exception):
    """The kernel could not be compiled."""


def has_compiler() -> bool:
    """Whether zig is installed here."""
    return importlib.util.find_spec("ziglang") is not None


def library_name(system: str, processor: str) -> str:
    """What the library calls the kernel of a system and processor."""
    return f"kernel-{system.lower()}-{processor}.so"


def compile_kernel(system: str, processor: str, folder: Path) -> Path:
    """Compile the kernel into a folder: its file, which appears whole or not at all.

    Parameters
    ----------
    system, processor : str
        As `os.uname` names them there.
    folder : Path
        Made where it is not.

    Raises
    ------
    KernelError
        There is no compiler, it knows no such machine, or it fails.
    """
    from leap_model.engine import stamp

    if not has_compiler():
        raise KernelError("the compiler is not here: pip install ziglang")
    if system.lower() not in _TARGETS:
        raise KernelError(f"no kernel for {system}")
    target = f"{_PROCESSORS.get(processor, processor)}-{_TARGETS[system.lower()]}"
    path = folder / library_name(system, processor)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as place:
        made = Path(place) / path.name
        command = [
            *(sys.executable, "-m", "ziglang", "cc", "-target", target, *FLAGS),
            *(f"-DLEAP_STAMP={stamp(SOURCE)}ull", "kernel.c", "-o", str(made)),
        ]
        # From its own folder, so that no path of this machine can get into it.
        done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KernelError(f"no kernel for {target}:\n{done.stderr.strip()}")
        made.replace(path)
    return path


def main() -> int:
    """Compile for this machine; without a compiler say so, since numpy serves as well."""
    here = os.uname()
    try:
        compile_kernel(here.sysname, here.machine, FOLDER)
    except KernelError as fault:
        print(f"numpy will score forests, more slowly: {fault}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
