"""Tests of the limit on BLAS threads."""

from collections.abc import Iterator
from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from lookalike.annotation import Ridge
from lookalike.codes import S3PLH
from lookalike.core.threads import one_blas_thread
from lookalike.similarity import OASIS, KernelSimilarity
from lookalike.similarity.lda import LDA


def blas_threads() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with threadpool_limits(2, user_api="blas"):
        yield


def test_the_limit_ends_with_the_block_also_after_an_error() -> None:
    @one_blas_thread()
    def fail() -> None:
        assert blas_threads() == {1}
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert blas_threads() == {2}


def test_a_limit_inside_another_does_not_end_it() -> None:
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_a_thread_that_ends_last_does_not_leave_the_limit_behind() -> None:
    entered, leave = Event(), Event()

    def hold() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    other = Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert entered.wait(10)
    leave.set()
    other.join(10)
    assert blas_threads() == {2}


@pytest.mark.parametrize(
    "learner",
    [
        OASIS(steps=50, random_state=0),
        KernelSimilarity(steps=50, random_state=0),
        LDA(),
        Ridge(),
        S3PLH(bits=8),
    ],
    ids=lambda it: type(it).__name__,
)
def test_learners_learn_with_one_blas_thread(
    learner: OASIS | KernelSimilarity | LDA | Ridge | S3PLH,
) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 12).tolist()
    X = rng.random((36, 8)) + np.repeat(np.eye(3, 8), 12, axis=0)
    threads = set[int]()
    learner.fit(X, y, progress=lambda done, total: threads.update(blas_threads()))
    assert threads == {1}
    assert blas_threads() == {2}
