"""Arithmetic tasks in training: splits by digit count, and the agreement with truncated answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from training_runs import folder_of, small

import weft
from weft.errors import WeftError
from weft.models import Transformer
from weft.tasks import task
from weft.tasks.arithmetic import Arithmetic, outputs_of, score_outputs
from weft.training import EvaluationConfig, train
from weft.training.evaluation import decoded, evaluate

BITS = {"base": 2, "modulus": 3, "digits": 5, "longer": 7}
CONFIG = small(
    "evaluation.splits=train,digits-4,digits-7", "evaluation.every=0", "steps=40",
    task="modular-addition", parameters=BITS,
    model={"layers": 1, "width": 16, "heads": 2, "hidden": (32,)},
)  # fmt: skip


def test_a_model_is_scored_against_truth_and_truncation_alike(tmp_path: Path) -> None:
    """Decoding token by token and teacher forcing on the truncated answers agree."""
    result = train(CONFIG, runs=tmp_path)
    assert set(result.accuracy) == {"train", "digits-4", "digits-7"}
    model = weft.load(folder_of(tmp_path, CONFIG) / "model")
    assert isinstance(model, Transformer)
    made = task(CONFIG.task, **BITS)
    assert isinstance(made, Arithmetic)
    tests = made.test_set("digits-7", 200)
    model.eval()
    outputs = outputs_of(tests, decoded(model, tests))
    found = score_outputs(made, tests, outputs)
    forced = evaluate(model, {"true": tests, "truncated": made.truncated(tests)})
    assert (forced["true"].right == found.exact).all()
    assert (forced["truncated"].right == found.truncated).all()
    assert 0 < found.exact.sum() < 200
    assert (found.exact != found.truncated).any()


def test_splits_without_tests_are_refused(tmp_path: Path) -> None:
    config = replace(CONFIG, evaluation=EvaluationConfig(splits=("digits-8",)))
    with pytest.raises(WeftError, match="has no test set for 'digits-8'"):
        train(config, runs=tmp_path)
