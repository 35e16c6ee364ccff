"""python -m bench.lock: bench/requirements.txt from bench/requirements.in, with hashes.

By pip itself, since other resolvers do not take a wheel of PyTorch from where pip is told to look.
The versions and hashes are of this interpreter and machine.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent


def locked(report: Mapping[str, Any]) -> str:
    """The lines of a requirements file from the report of `pip install --report`."""
    lines = []
    for entry in report["install"]:
        name, version = entry["metadata"]["name"], entry["metadata"]["version"]
        digest = entry["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(
            f"{name.lower().replace('_', '-')}=={version} \\\n    --hash=sha256:{digest}\n"
        )
    return "".join(sorted(lines))


def main() -> int:
    """Lock anew; the exit code is pip's."""
    with TemporaryDirectory(prefix="leap-bench-") as folder:
        plain = Path(folder) / "requirements.in"
        plain.write_text(_without_hashes((HERE / "requirements.in").read_text(encoding="utf-8")))
        report = Path(folder) / "report.json"
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        asked = ["--dry-run", "--ignore-installed", "--report", str(report), "-r", str(plain)]
        code = subprocess.run([*pip, *asked], check=False).returncode
        if code == 0:
            text = locked(json.loads(report.read_text(encoding="utf-8")))
            (HERE / "requirements.txt").write_text(text, encoding="utf-8")
    return code


def _without_hashes(text: str) -> str:
    """The requirements with those of other files in their place, at their versions: a hash for
    one would ask for a hash of all."""
    lines = []
    for line in text.splitlines():
        if line.startswith("-r "):
            other = (HERE / line.removeprefix("-r ")).read_text(encoding="utf-8")
            pinned = (entry.removesuffix("\\").strip() for entry in other.splitlines())
            lines += [entry for entry in pinned if not entry.startswith("--hash")]
        else:
            lines.append(line)
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
