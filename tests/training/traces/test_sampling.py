"""Drawing states by their errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import weft
from weft.compiler.build import compile_program
from weft.models.feed_forward import FeedForward
from weft.training import override, trace_config
from weft.training.supervision import learner_of, task_of
from weft.training.traces.dataset import collect
from weft.training.traces.sampling import LEAST_INTERVAL, StateSampler, largest_errors
from weft.training.traces.trace_learner import TraceLearner, feed_forward_of
from weft.training.traces.vectors import VectorPairs

SUMS = [f"{a}+{b}" for a in range(0, 100, 7) for b in range(0, 100, 9)]


def made_pairs(name: str, inputs: list[str]) -> VectorPairs:
    program = weft.program(name)
    layout = compile_program(program, level=0).model.layout
    return VectorPairs.of(collect(program, inputs), layout, torch.device("cpu"))


def random_feed_forward(name: str) -> FeedForward:
    config = compile_program(weft.program(name), level=0).model.config
    feed_forward = FeedForward(replace(config, hidden=(16,), activation="relu"))
    with torch.no_grad():
        for part in feed_forward.parameters():
            part.copy_(torch.randn(part.shape, generator=torch.Generator().manual_seed(1)) / 4)
    return feed_forward


def test_wrong_states_are_drawn_more_often() -> None:
    pairs = made_pairs("modular-sum", SUMS)
    feed_forward = random_feed_forward("modular-sum")
    sampler = StateSampler(pairs, "errors", 64)
    torch.manual_seed(0)
    even = torch.bincount(sampler.draw(100_000), minlength=pairs.count)
    assert even.float().std() < 2 * (100_000 / pairs.count) ** 0.5
    sampler.measure(feed_forward)
    before, after = (part.double().numpy() for part in pairs.at(torch.arange(pairs.count)))
    with torch.no_grad():
        change = feed_forward(torch.from_numpy(before).float()).double().numpy()
    errors = np.abs(before + change - after).max(1)
    share = 0.5 / pairs.count + 0.5 * errors**4 / (errors**4).sum()
    drawn = torch.bincount(sampler.draw(400_000), minlength=pairs.count).numpy() / 400_000
    assert np.abs((drawn - share) / np.sqrt(share / 400_000)).max() < 5  # deviations
    assert share.max() > 3 * share.min()


def test_states_without_errors_are_drawn_uniformly() -> None:
    pairs = made_pairs("parity", ["101", "11", "0"])
    program = weft.program("parity")
    sampler = StateSampler(pairs, "errors", 4)
    exact = feed_forward_of(compile_program(program, level=0).model)
    assert float(largest_errors(exact, pairs).max()) == 0
    sampler.measure(exact)
    torch.testing.assert_close(
        sampler.ends / sampler.ends[-1],
        torch.arange(1, pairs.count + 1, dtype=torch.float64) / pairs.count,
    )


@pytest.mark.parametrize("batch", [4, 10**6])
def test_measuring_takes_less_time_than_learning(batch: int) -> None:
    pairs = made_pairs("modular-sum", SUMS)
    interval = StateSampler(pairs, "errors", batch).interval
    assert interval >= LEAST_INTERVAL
    assert interval * batch >= pairs.count // 2


def test_the_learner_measures_errors_at_its_interval() -> None:
    config = override(
        trace_config("modular-addition", "modular-sum(modulus=3)", small=True),
        ["parameters.modulus=3", "parameters.digits=2", "supervision.examples=200",
         "model.hidden=16,", "supervision.sample_by=errors"],
    )  # fmt: skip
    learner = learner_of(config, task_of(config), torch.device("cpu"))
    assert isinstance(learner, TraceLearner)
    found = []
    for step in range(1, learner.sampler.interval + 2):
        learner.learn(None, step)
        found.append(learner.sampler.ends.clone())
    assert all(torch.equal(ends, found[0]) for ends in found[:-1])
    assert not torch.equal(found[-1], found[0])
