"""How many threads a fit is worth.

A tree of a small fit is a hundred loops of microseconds, and the threads meet at the end of each.
Alone on the machine a second thread saves little there; beside another busy process every meeting
waits for a thread that has no core. The result is the same, whatever the number.
"""

from threadpoolctl import threadpool_info, threadpool_limits

ROWS_PER_THREAD = 30_000


def threads_for(rows: int) -> threadpool_limits:
    """A context in which OpenMP uses no more threads than the rows are worth, at least one.

    Call it once scikit-learn is imported: before that there is no OpenMP to limit.
    """
    allowed = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
    worth = max(1, rows // ROWS_PER_THREAD)
    return threadpool_limits(min([worth, *allowed]), user_api="openmp")
