"""How the C library gives memory back while a process fits."""

import ctypes
from functools import cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Of glibc's mallopt(3)."""
_MOST_MAPPED = 32 << 20
"""The greatest size that glibc lets be kept rather than mapped anew."""


@cache
def keep_freed() -> None:
    """Let this process keep what it frees, where its C library is glibc; once a process.

    A step of a network takes and frees arrays of a quarter of a megabyte. By itself glibc learns to
    keep these. Dask starts its workers with MALLOC_TRIM_THRESHOLD_, which ends that: each array is
    then asked of the kernel anew, page by page.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library, or another system
        return
    mallopt(_MMAP_THRESHOLD, _MOST_MAPPED)
    mallopt(_TRIM_THRESHOLD, 1 << 30)
