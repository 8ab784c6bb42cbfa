"""`penalty` in training: the objective, the log, hashes, and what refuses it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from weft.crasp.regulariser import total_penalty
from weft.errors import WeftError
from weft.training import TrainingConfig, override, train
from weft.training.config import training_config
from weft.training.supervision import learner_of, task_of

MODEL = ("model.width=16", "model.heads=2", "model.hidden=16", "model.position=learned",
         "model.positions=64", "steps=6", "batch=8", "log_every=2", "evaluation.size=16",
         "evaluation.every=0")  # fmt: skip
BASE = override(TrainingConfig(task="parity"), MODEL)
WITH = override(BASE, ["penalty.position=0.01", "penalty.norm=0.1"])


def test_a_penalty_of_zero_is_no_part_of_a_config_or_its_hash() -> None:
    zero = override(BASE, ["penalty.position=0"])
    assert zero == BASE
    assert zero.hash == BASE.hash
    assert "penalty" not in BASE.as_dict()
    assert WITH.hash != BASE.hash
    assert training_config(json.loads(json.dumps(WITH.as_dict()))).hash == WITH.hash
    with pytest.raises(WeftError, match=r"penalty\.rank is -1"):
        override(BASE, ["penalty.rank=-1"])


def test_the_objective_is_the_loss_and_the_weighted_terms() -> None:
    task = task_of(WITH)
    learner = learner_of(WITH, task, torch.device("cpu"))
    batch = learner.batch(task, 1).to(learner.device)
    loss = learner.loss(batch)
    weights = dict(learner.model.named_parameters())
    wanted = loss + total_penalty(weights, {"position": 0.01, "norm": 0.1})
    torch.testing.assert_close(learner.objective(loss), wanted)
    assert learner_of(BASE, task, torch.device("cpu")).objective(loss) is loss


def test_terms_are_logged_without_coefficients_and_only_if_trained(tmp_path: Path) -> None:
    def lines(config: TrainingConfig) -> list[dict[str, object]]:
        train(config, runs=tmp_path, device="cpu")
        text = (tmp_path / config.hash / "metrics.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    logged = lines(WITH)
    assert all(set(line["penalties"]) == {"position", "norm"} for line in logged)  # type: ignore[call-overload]
    assert all("penalties" not in line for line in lines(BASE))


def test_a_large_coefficient_lowers_its_term() -> None:
    final = {}
    for coefficient in ("0", "100"):
        config = override(BASE, [f"penalty.position={coefficient}", "steps=60"])
        task = task_of(config)
        learner = learner_of(config, task, torch.device("cpu"))
        for step in range(1, 61):
            learner.learn(learner.batch(task, step).to(learner.device), step)
        weights = learner.model.state_dict()
        final[coefficient] = float(total_penalty(weights, {"position": 1.0}))
    assert final["100"] < 0.5 * final["0"]


def test_penalties_are_refused_where_they_would_be_ignored() -> None:
    traced = override(WITH, ["supervision.by=traces", "supervision.program=parity"])
    with pytest.raises(WeftError, match="trains no attention"):
        task_of(traced)
