"""Small models run on one thread, and leave the number of threads as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import weft
from weft.compiler.execution import input_numbers, run_model
from weft.models.threads import MAX_SINGLE_THREAD_WORK, threads_for

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_little_work_has_one_thread_and_much_work_all_of_them() -> None:
    with threads_for(MAX_SINGLE_THREAD_WORK, CPU):
        assert torch.get_num_threads() == 1
        with threads_for(MAX_SINGLE_THREAD_WORK, CPU):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 3
    with threads_for(MAX_SINGLE_THREAD_WORK + 1, CPU):
        assert torch.get_num_threads() == 3
    with threads_for(1, torch.device("cuda")):
        assert torch.get_num_threads() == 3


def test_the_number_of_threads_is_put_back_after_an_exception() -> None:
    with pytest.raises(KeyboardInterrupt), threads_for(1, CPU):
        raise KeyboardInterrupt
    assert torch.get_num_threads() == 3


@pytest.fixture(scope="module")
def model() -> Any:
    return weft.compile(weft.program("parity")).model


def seen_threads(model: Any, batch: int) -> set[int]:
    seen = set()
    numbers = input_numbers(weft.program("parity"), [["s", 1, 0, 1]] * batch)
    run_model(model, numbers, watch=lambda *_: seen.add(torch.get_num_threads()))
    return seen


def test_a_small_model_runs_on_one_thread_and_a_large_batch_on_all(model: Any) -> None:
    assert seen_threads(model, 2) == {1}
    (layer,) = model.compacted()
    work = layer.work(torch.zeros(1, 4, dtype=torch.long))
    assert seen_threads(model, MAX_SINGLE_THREAD_WORK // work + 1) == {3}
    assert torch.get_num_threads() == 3


def test_a_run_that_fails_puts_the_threads_back(model: Any) -> None:
    def fail(*_: Any) -> None:
        raise ValueError(torch.get_num_threads())

    with pytest.raises(ValueError, match="1"):
        model(torch.tensor([[2, 1, 0]]), watch=fail)
    assert torch.get_num_threads() == 3


def test_models_that_learn_keep_their_threads() -> None:
    compiled = weft.compile(weft.program("parity")).model
    compiled.requires_grad_(True)
    seen = set()
    compiled(torch.tensor([[2, 1, 0]]), watch=lambda *_: seen.add(torch.get_num_threads()))
    assert seen == {3}
