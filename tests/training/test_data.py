"""Batches that a thread makes ahead of time."""

from __future__ import annotations

import threading

import pytest

from weft.training.data import QUEUE_SIZE, made_ahead


def test_batches_come_in_order_and_end() -> None:
    batches = made_ahead(lambda step: step * step, range(3, 20))
    assert list(batches) == [step * step for step in range(3, 20)]


def test_a_thread_makes_a_few_batches_ahead_until_closed() -> None:
    made = threading.Semaphore(0)
    threads = threading.active_count()

    def make(step: int) -> int:
        made.release()
        return step

    batches = made_ahead(make, range(1_000))
    assert threading.active_count() == threads, "nothing runs before the first batch is wanted"
    assert next(batches) == 0
    for _ in range(QUEUE_SIZE + 2):
        assert made.acquire(timeout=10)
    assert not made.acquire(timeout=0.05), "the queue is full"
    batches.close()
    assert threading.active_count() == threads


def test_errors_are_raised_where_the_batch_is_wanted() -> None:
    def make(step: int) -> int:
        return 6 // (3 - step)

    batches = made_ahead(make, range(9))
    assert [next(batches) for _ in range(3)] == [2, 3, 6]
    with pytest.raises(ZeroDivisionError):
        next(batches)
