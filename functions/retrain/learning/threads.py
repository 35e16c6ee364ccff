"""How many threads a fit is worth.

A tree of a small fit is a hundred loops of microseconds, and the threads meet at the end of each.
Alone on the machine a second thread saves little there; beside another busy process every meeting
waits for a thread that has no core. The result is the same, whatever the number.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from joblib import cpu_count

ROWS_PER_THREAD = 30_000


def threads_for(rows: int) -> int:
    """One thread for each 30,000 rows, at least one, at most one a core."""
    return min(max(1, rows // ROWS_PER_THREAD), cores())


def cores() -> int:
    """Processors that this process may use; a container's share counts, not its machine."""
    return int(cpu_count())


@contextmanager
def one_thread() -> Iterator[None]:
    """Matrix products by one thread: by several, their last digits differ with the number."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield
