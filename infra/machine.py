"""What a bundle is built for: an interpreter and an architecture."""

import os
import platform
import sys
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Processor: TypeAlias = Literal["aarch64", "x86_64"]
_GLIBC: Final = "manylinux_2_28"
"""The oldest C library that the pinned numpy's wheels are for. Without it an old numpy is found."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A Python version such as `3.13`, a processor as wheels name it, and whether it is Linux."""

    python: str
    processor: Processor
    linux: bool = True

    @property
    def system(self) -> str:
        """Its name, as `os.uname` has it; what is not Linux is the system that runs now."""
        return "linux" if self.linux else os.uname().sysname

    @property
    def wheels(self) -> str | None:
        """The platform by which uv picks wheels; None is the one that it runs on."""
        return f"{self.processor}-{_GLIBC}" if self.linux else None


DEPLOYED: Final = Machine("3.13", "aarch64")


def this_machine() -> Machine:
    """The interpreter and processor that run now: what a local AWS runs its functions on."""
    processor: Processor = "aarch64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Machine(python, processor, linux=sys.platform == "linux")
