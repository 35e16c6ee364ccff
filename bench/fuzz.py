"""python -m bench.fuzz [SECONDS [SEED]]: random forests through the kernel, with sanitizers.

It needs gcc or clang with AddressSanitizer and UndefinedBehaviorSanitizer.
"""

import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = (
    *("-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    # Vectors are handed over inside of the file alone.
    "-Wno-psabi",
)


def main(words: list[str]) -> int:
    """0 where nothing was found; 2 where there is no compiler to look with."""
    seconds = words[0] if words else "60"
    seed = words[1] if len(words) > 1 else str(secrets.randbits(32))
    with tempfile.TemporaryDirectory() as folder:
        compiler = _compiler(Path(folder))
        if compiler is None:
            print("neither gcc nor clang is here to compile the kernel with sanitizers")
            return 2
        program = Path(folder) / "fuzz"
        source = Path(__file__).with_suffix(".c")
        subprocess.run([compiler, *FLAGS, str(source), "-o", str(program), "-lm"], check=True)
        print(f"seed {seed}", flush=True)
        return subprocess.run([str(program), seconds, seed], check=False).returncode


def _compiler(folder: Path) -> str | None:
    """One whose programs run with the sanitizers: their libraries may be missing."""
    source, program = folder / "nothing.c", folder / "nothing"
    source.write_text("int main(void) { return 0; }\n")
    for name in ("gcc", "clang"):
        compiler = shutil.which(name)
        if compiler is None:
            continue
        commands = ([compiler, *FLAGS, str(source), "-o", str(program)], [str(program)])
        if all(
            subprocess.run(command, capture_output=True, check=False).returncode == 0
            for command in commands
        ):
            return compiler
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
