"""The kernel, compiled for every machine: it stands alone, and is the same each time."""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra import kernel
from infra.bundle import Bundle
from infra.kernel import KernelError, compile_kernel
from infra.machine import DEPLOYED, this_machine
from leap_model import engine
from tests.infrastructure import elf

ROOT = Path(__file__).parents[2]
PROCESSORS = ("aarch64", "x86_64")
FUNCTIONS = {
    *("leap_forest_bytes", "leap_score", "leap_scratch_bytes", "leap_sort"),
    *("leap_splits_are_sound", "leap_stamp", "leap_write_sides"),
}

compiled = pytest.mark.skipif(not kernel.has_compiler(), reason="zig is not to be had here")


@compiled
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_kernel_is_of_its_machine_and_needs_no_library(tmp_path: Path, processor: str) -> None:
    library = elf.read(compile_kernel("Linux", processor, tmp_path))
    assert library is not None
    assert (library.processor, list(library.needed)) == (processor, [])


@compiled
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_kernel_asks_for_nothing_and_offers_its_functions_alone(
    tmp_path: Path, processor: str
) -> None:
    symbols = elf.dynamic_symbols(compile_kernel("linux", processor, tmp_path))
    assert symbols == dict.fromkeys(FUNCTIONS, True)


@compiled
@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_same_source_gives_the_same_bytes_in_any_folder(tmp_path: Path, processor: str) -> None:
    one = compile_kernel("linux", processor, tmp_path / "a")
    other = compile_kernel("linux", processor, tmp_path / "some" / "longer name")
    assert one.read_bytes() == other.read_bytes()
    assert {path.name for path in one.parent.iterdir()} == {one.name}
    assert str(ROOT).encode() not in one.read_bytes()
    assert str(tmp_path).encode() not in one.read_bytes()


@compiled
def test_a_kernel_compiled_here_loads_and_fits(tmp_path: Path) -> None:
    here = os.uname()
    library = compile_kernel(here.sysname, here.machine, tmp_path)
    assert library.name == engine.library_name(here.sysname, here.machine)
    opened = engine.opened(library, engine.SOURCE)
    assert isinstance(opened, ctypes.CDLL)


@compiled
def test_a_machine_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    for system, processor in (("plan9", "x86_64"), ("linux", "abacus")):
        with pytest.raises(KernelError):
            compile_kernel(system, processor, tmp_path)
    assert not list(tmp_path.glob("*.so"))


def test_without_a_compiler_it_says_so_and_setup_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernel, "has_compiler", lambda: False)
    monkeypatch.setattr(engine, "FOLDER", tmp_path / "native")
    with pytest.raises(KernelError, match="pip install ziglang"):
        compile_kernel("linux", "x86_64", tmp_path)
    assert kernel.main() == 0
    assert "numpy will score forests" in capsys.readouterr().err


@compiled
def test_in_a_checkout_that_is_set_up_the_kernel_serves() -> None:
    code = "from leap_model import engine; print(engine.name())"
    environment = {name: value for name, value in os.environ.items() if name != "LEAP_ENGINE"}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "native", "make setup compiles it"


@compiled
def test_no_flag_lets_processors_disagree() -> None:
    assert "-ffp-contract=off" in kernel.FLAGS
    assert not [
        flag for flag in kernel.FLAGS if re.search(r"-Ofast|-ffast|-march|-mcpu|-mtune", flag)
    ]


def test_no_compiled_kernel_is_in_the_repository() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not [name for name in listed.stdout.splitlines() if name.endswith((".so", ".o"))]
    assert Bundle.RANK.source.exists()
    assert DEPLOYED.system == "linux"
    assert this_machine().system in ("linux", os.uname().sysname)
