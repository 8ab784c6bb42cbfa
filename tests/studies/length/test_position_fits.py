"""Fits of position products: losses window by window, gradients, resuming, bad input."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import Interrupted, WeftError
from weft.files import read_json
from weft.studies.length import position_fits
from weft.studies.length.position_fits import (
    TARGETS,
    FitConfig,
    _Stack,
    check_windows,
    drawn_counts,
    initial_values,
    pair_weights,
    run_fits,
    target_values,
)

CPU = torch.device("cpu")


def small(target: str = "j=i-1", **changes: Any) -> FitConfig:
    values: dict[str, Any] = {
        "width": 6, "positions": 24, "window": 8, "steps": 30, "batch": 5, **changes,
    }  # fmt: skip
    return FitConfig(target=target, **values)


def is_prime(n: int) -> bool:
    return n in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)


HOLDS = {
    "j=i-1": lambda i, j: j == i - 1,
    "j=i-5": lambda i, j: j == i - 5,
    "j=i-25": lambda i, j: j == i - 25,
    "j>i-2": lambda i, j: j > i - 2,
    "i-j=0 mod 3": lambda i, j: (i - j) % 3 == 0,
    "i-j=2 mod 5": lambda i, j: (i - j) % 5 == 2,
    "j<i": lambda i, j: j < i,
    "i-j prime": lambda i, j: is_prime(i - j),
}


@pytest.mark.parametrize("target", TARGETS)
def test_targets_pair_by_pair(target: str) -> None:
    config = FitConfig(target=target, width=1, positions=66, window=20)
    values = target_values(config)
    for i in range(66):
        for j in range(66):
            wanted = 2 * math.log(20) if j <= i and HOLDS[target](i, j) else 0.0
            assert float(values[i, j]) == pytest.approx(wanted, abs=1e-12), (i, j)


@given(
    counts=st.lists(st.integers(0, 4), min_size=1, max_size=9),
    window=st.integers(1, 6),
)
def test_pair_weights_count_the_windows_that_contain_a_pair(counts: list[int], window: int) -> None:
    weights = pair_weights(np.array(counts), window)
    positions = len(counts) + window - 1
    wanted = np.zeros((positions, positions))
    for start, count in enumerate(counts):
        for i in range(start, start + window):
            for j in range(start, i + 1):
                wanted[i, j] += count
    np.testing.assert_array_equal(weights, wanted)


def plain_errors(config: FitConfig, values: dict[str, np.ndarray]) -> np.ndarray:
    """(p_i Wq Wk^T p_j - T)^2, pair by pair in float64."""
    middle = values["query"] @ values["key"].T
    errors = np.zeros((config.positions, config.positions))
    for i, j in np.ndindex(errors.shape):
        score = values["table"][i] @ middle @ values["table"][j]
        wanted = 2 * math.log(config.window) if HOLDS[config.target](i, j) else 0.0
        errors[i, j] = (score - wanted) ** 2
    return errors


def plain_loss(errors: np.ndarray, starts: list[int], length: int) -> float:
    """The mean over windows and their pairs j <= i."""
    return float(
        np.mean(
            [
                errors[i, j]
                for start in starts
                for i in range(start, start + length)
                for j in range(start, i + 1)
            ]
        )
    )


def test_losses_and_tests_equal_those_window_by_window() -> None:
    configs = [small("j=i-1"), small("j<i")]
    stack = _Stack(configs, CPU)
    values = {name: part.double().numpy() for name, part in initial_values(configs[0]).items()}
    starts = [
        start for start, count in enumerate(drawn_counts(configs[0], 3)) for _ in range(count)
    ]
    assert len(starts) == configs[0].batch
    decay = 0.01 * sum((part**2).mean() for part in values.values())
    for config, ours, tests in zip(configs, stack.losses(3).tolist(), stack.tests(), strict=True):
        errors = plain_errors(config, values)
        assert ours == pytest.approx(plain_loss(errors, starts, 8) + decay, rel=1e-5)
        assert list(tests) == [8, 12, 16, 20, 24]
        for length, loss in tests.items():
            every = list(range(config.positions - length + 1))
            assert loss == pytest.approx(plain_loss(errors, every, length), rel=1e-5)


def test_a_step_is_that_of_adam_on_gathered_windows() -> None:
    """Three steps beside the published form: windows gathered, one optimiser per fit."""
    config = small("i-j=0 mod 3")
    stack = _Stack([small("j=i-1"), config], CPU)
    parts = {name: part.clone().requires_grad_() for name, part in initial_values(config).items()}
    optimiser = torch.optim.Adam(parts.values(), lr=1e-3)
    inside = torch.ones(8, 8).tril().bool()
    for step in range(3):
        stack.learn(step)
        starts = np.repeat(np.arange(17), drawn_counts(config, step))
        places = torch.from_numpy(starts[:, None] + np.arange(8))
        windows = parts["table"][places]
        scores = (windows @ parts["query"]) @ (windows @ parts["key"]).transpose(1, 2)
        distances = torch.arange(8)[:, None] - torch.arange(8)
        wanted = (distances % 3 == 0) * 2 * math.log(8)
        loss = (scores - wanted).square()[:, inside].mean()
        loss = loss + 0.01 * sum(part.square().mean() for part in parts.values())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    for name, part in parts.items():
        torch.testing.assert_close(stack.parameters[name][1], part, rtol=1e-4, atol=2e-6)


def test_the_loss_decreases_and_fits_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = [small(target, steps=300, width=16, lr=3e-3) for target in ("j=i-1", "i-j=0 mod 3")]
    done: list[int] = []
    results = run_fits(configs, tmp_path, device="cpu", progress=done.append)
    assert sum(done) == 600
    for config in configs:
        history = results[config.hash].history
        assert [record["step"] for record in history] == list(range(20, 301, 20))
        assert history[-1]["loss"] < 0.5 * history[0]["loss"]
        assert results[config.hash].test[8] == pytest.approx(history[-1]["test"]["8"])

    def trained(*arguments: object) -> None:
        raise AssertionError("a finished fit was trained again")

    monkeypatch.setattr(position_fits, "_train", trained)
    assert run_fits(configs, tmp_path, device="cpu").keys() == results.keys()


def test_an_interrupted_fit_resumes_to_the_same_result(tmp_path: Path) -> None:
    configs = [small("j=i-1"), small("j<i")]
    whole = run_fits(configs, tmp_path / "whole", device="cpu")
    steps = 0

    def interrupt(done: int) -> None:
        nonlocal steps
        steps += done
        if steps == 2 * 17:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="saved at step 17"):
        run_fits(configs, tmp_path / "parts", device="cpu", progress=interrupt)
    assert not list((tmp_path / "parts").glob("*/result.json"))
    parts = run_fits(configs, tmp_path / "parts", device="cpu")
    for config in configs:
        assert parts[config.hash].test == pytest.approx(whole[config.hash].test, rel=1e-5)
        assert [record["step"] for record in parts[config.hash].history] == [
            record["step"] for record in whole[config.hash].history
        ]


def test_a_fit_does_not_depend_on_the_fits_beside_it(tmp_path: Path) -> None:
    both = run_fits([small("j=i-1"), small("j<i")], tmp_path / "both", device="cpu")
    alone = run_fits([small("j<i")], tmp_path / "alone", device="cpu")
    name = small("j<i").hash
    assert alone[name].test == pytest.approx(both[name].test, rel=1e-4)


def test_the_folder_of_a_fit(tmp_path: Path) -> None:
    config = small(steps=2)
    run_fits([config], tmp_path, device="cpu")
    folder = tmp_path / config.hash
    assert read_json(folder / "config.json")["target"] == "j=i-1"
    assert {"config.json", "environment.json", "metrics.jsonl", "result.json"} <= {
        path.name for path in folder.iterdir()
    }
    assert small(steps=3).hash != config.hash == small(steps=2).hash


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="no target 'j=i-2'"):
        small("j=i-2")
    with pytest.raises(WeftError, match="width is 0"):
        small(width=0)
    with pytest.raises(WeftError, match="lr is nan"):
        small(lr=math.nan)
    with pytest.raises(WeftError, match="tests have windows of 27"):
        check_windows(small(window=9))
    with pytest.raises(WeftError, match=r"loss is (nan|inf)"):
        run_fits([small(lr=1e6, steps=100)], tmp_path, device="cpu")
