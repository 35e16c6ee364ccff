"""A fit uses the threads that its rows are worth, and gives them back."""

import sklearn.ensemble  # noqa: F401 - loads OpenMP
from threadpoolctl import threadpool_info, threadpool_limits

from functions.retrain.threads import ROWS_PER_THREAD, threads_for


def _threads() -> int:
    return min(int(p["num_threads"]) for p in threadpool_info() if p["user_api"] == "openmp")


def test_few_rows_use_one_thread_and_give_the_others_back() -> None:
    with threadpool_limits(2, user_api="openmp"):
        with threads_for(ROWS_PER_THREAD * 2 - 1):
            assert _threads() == 1
        assert _threads() == 2


def test_many_rows_use_no_more_threads_than_are_allowed() -> None:
    with threadpool_limits(2, user_api="openmp"), threads_for(ROWS_PER_THREAD * 100):
        assert _threads() == 2
    with threadpool_limits(1, user_api="openmp"), threads_for(ROWS_PER_THREAD * 100):
        assert _threads() == 1
