"""What processes of one run draw: masks of their own, and the same ones when the run resumes."""

from __future__ import annotations

import pytest
import torch
from training_runs import small

from weft.tasks import task
from weft.training.data import tensors_of
from weft.training.distributed import Group, seed_own_draws
from weft.training.learner import Learner


def test_seeds_differ_by_process_and_step_and_repeat() -> None:
    def drawn(seed: int, step: int, rank: int) -> tuple[float, ...]:
        seed_own_draws(seed, step, Group(rank, 4))
        return tuple(torch.rand(3).tolist())

    places = [(seed, step, rank) for seed in (0, 1) for step in (1, 2, 3) for rank in (0, 1, 2)]
    assert len({drawn(*place) for place in places}) == len(places)
    assert [drawn(*place) for place in places] == [drawn(*place) for place in places]


@pytest.mark.parametrize("change", ["model.dropout=0.5", "model.example_offsets=true"])
def test_a_step_of_a_process_depends_on_its_number_and_not_on_what_was_drawn_before(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("weft.training.learner.add_up", lambda weights, loss, group: loss)
    shape = {"layers": 1, "width": 16, "heads": 2, "hidden": (32,), "position": "learned"}
    config = small(change, "model.positions=99", "initial=fan-in", model=shape)
    made = task("parity", format="tag")
    batch = made.batch("train", 0, 1, 8)

    def loss(rank: int, seed: int) -> float:
        learner = Learner(config, config.model_config(made), torch.device("cpu"), Group(rank, 2))
        torch.manual_seed(seed)
        return float(learner.learn(tensors_of(batch, learner.model.config), 1))

    assert loss(1, seed=3) == loss(1, seed=4)
    assert loss(0, seed=3) != loss(1, seed=3)
