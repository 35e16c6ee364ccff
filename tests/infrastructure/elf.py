"""What a shared library is for and what it asks for, read from its bytes (ELF, 64 bits)."""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PROCESSORS: Final = {0x3E: "x86_64", 0xB7: "aarch64"}
_DYNAMIC, _STRINGS, _SYMBOLS = 6, 3, 11
_NEEDED = 1


@dataclass(frozen=True)
class Library:
    """Its processor, the libraries that it needs by name, and whether it has its symbol table."""

    processor: str
    needed: tuple[str, ...]


def read(path: Path) -> Library | None:
    """What a file is; None where it is no library."""
    content = path.read_bytes()
    if content[:5] != b"\x7fELF\x02":
        return None
    (machine,) = struct.unpack_from("<H", content, 18)
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", content, table + size * at) for at in range(count)
    ]
    needed: list[str] = []
    for section in sections:
        _, kind, _, _, offset, length, link, *_ = section
        if kind != _DYNAMIC:
            continue
        strings = sections[link][4]
        for at in range(offset, offset + length, 16):
            tag, value = struct.unpack_from("<qQ", content, at)
            if tag == _NEEDED:
                end = content.index(b"\0", strings + value)
                needed.append(content[strings + value : end].decode())
    return Library(PROCESSORS[machine], tuple(needed))


def dynamic_symbols(path: Path) -> dict[str, bool]:
    """The names that a library offers or asks for, and whether it has them itself."""
    content = path.read_bytes()
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", content, table + size * at) for at in range(count)
    ]
    symbols: dict[str, bool] = {}
    for _, kind, _, _, offset, length, link, *_ in sections:
        if kind != _SYMBOLS:
            continue
        strings = sections[link][4]
        for at in range(offset + 24, offset + length, 24):  # the first is none
            name, _, _, section = struct.unpack_from("<IBBH", content, at)
            end = content.index(b"\0", strings + name)
            symbols[content[strings + name : end].decode()] = section != 0
    return symbols
