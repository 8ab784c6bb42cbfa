"""Runs read: weights that are planted come back as rules; what cannot be read says why."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import weft
from weft.errors import WeftError
from weft.studies import RuleExplanation, explain, extract_rules
from weft.training import Run, RunStore, TrainingConfig, override, stream_config, train
from weft.training import trace_config as trace_recipe
from weft.training.supervision import task_of

SHORT = ("parameters.length=6", "parameters.longer=8", "evaluation.size=16",
         "supervision.examples=60", "steps=2", "log_every=1")  # fmt: skip
RECIPE = ("model.hidden=64,", "batch=32", "steps=1400", "optimiser.lr=0.1", "log_every=1000",
          "supervision.sample_by=states", "supervision.l1=8e-4")  # fmt: skip


def traced(program: str, *changes: str) -> TrainingConfig:
    return override(trace_recipe("parity", program, small=True), [*SHORT, *changes])


def made(config: TrainingConfig, runs: Path) -> Run:
    train(config, runs=runs, device="cpu")
    return RunStore(runs).find(config.hash)


def plant(run: Run, layers: list[torch.Tensor]) -> None:
    """Put weights and biases, one after the other, in the place of a run's own."""
    (file,) = run.folder.glob("checkpoint-*/model.safetensors")
    tensors = load_file(file)
    names = sorted(name for name in tensors if ".feed_forward." in name)
    assert len(names) == len(layers)
    for name, new in zip(names, layers, strict=True):  # biases.0, biases.1, weights.0, weights.1
        assert tensors[name].shape == new.shape
        tensors[name] = new.detach().clone()
    save_file(tensors, file)


def compiled(program: str) -> list[torch.Tensor]:
    layer: Any = weft.compile(weft.program(program), level=0).model.layers[0].feed_forward
    return [*layer.biases, *layer.weights]


@pytest.mark.parametrize("program", ["parity", "parity-absolute(positions=8)"])
def test_compiled_weights_that_are_planted_are_read_as_the_programs_rules(
    program: str, tmp_path: Path
) -> None:
    weights = compiled(program)
    hidden = len(weights[0])
    run = made(traced(program, f"model.hidden={hidden},", "model.activation=clipped"), tmp_path)
    plant(run, weights)
    found = extract_rules(run)
    away, units = found.distance, found.distance.units
    assert units is not None
    assert (away.wrong, away.reconstruction) == (0, 0)
    assert (away.rules, units.recovered, units.alike, units.extra) == (7, 7, 0, 0)
    assert (units.missing, units.reading.unread, units.reading.idle) == ((), (), ())
    assert units.weights_l1 == 0
    shown = {one.rule.show(found.program.variables) for one in units.reading.rules}
    assert "done_left = 1 => done: 0 -> 1" in shown
    assert (found.hidden, found.activation, found.inputs) == ((hidden,), "clipped", 60)


def test_the_states_are_those_that_the_run_was_trained_on(tmp_path: Path) -> None:
    """By the reference interpreter, position by position."""
    config = traced("parity", "seed=3")
    found = extract_rules(made(config, tmp_path))
    met: Counter[tuple[Any, ...]] = Counter()
    task: Any = task_of(config)
    for tokens in task.inputs(3, 60):
        trace = weft.run(task.program, tokens, trace=True).trace
        assert trace is not None
        for layer in trace.layers:
            for place in range(layer.attended.positions):
                met[tuple(layer.attended.at(place).items())] += 1
    states = found.states
    mine = {
        tuple(states.values(row).items()): int(states.counts[row]) for row in range(len(states))
    }
    assert mine == met


def test_deep_runs_are_compared_in_function_alone(tmp_path: Path) -> None:
    run = made(traced("parity", "model.hidden=5,4"), tmp_path)
    found = extract_rules(run)
    assert found.distance.units is None
    assert "2 hidden layers of 'relu'" in found.distance.unreadable
    zero = [torch.zeros(n) for n in (5, 4, 8)]
    plant(run, [*zero, torch.zeros(5, 8), torch.zeros(4, 5), torch.zeros(8, 4)])
    found = extract_rules(run)
    moved = sum(
        int(found.states.counts[row])
        for row in range(len(found.states))
        if found.program.rules.fired(found.states.values(row))
    )
    assert found.distance.wrong == pytest.approx(moved / found.states.total)


@pytest.mark.parametrize(
    ("l1", "rules"), [("8e-4", range(5, 8)), pytest.param("0", range(1), marks=pytest.mark.slow)]
)
def test_a_run_with_an_l1_penalty_has_the_programs_rules_in_its_weights(
    l1: str, rules: range, tmp_path: Path
) -> None:
    found = extract_rules(made(traced("parity", *RECIPE, f"supervision.l1={l1}"), tmp_path))
    assert found.distance.wrong == 0
    assert recovered(found) in rules


def recovered(found: RuleExplanation) -> int:
    assert found.distance.units is not None
    return found.distance.units.recovered


def refused(run: Run, said: str) -> None:
    with pytest.raises(WeftError, match=said) as caught:
        explain(run)
    assert "\n" not in caught.value.line


def test_runs_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    plain = override(TrainingConfig(task="parity"), [*SHORT[:3], "steps=1", "model.layers=1"])
    refused(
        made(plain, tmp_path),
        "no explanation yet for the run .*, which trained parity from answers",
    )
    whole = override(stream_config("parity", "parity"), [*SHORT, "batch=2", "model.width=8"])
    refused(made(whole, tmp_path), "which trained parity from streams")
    counting = made(traced("parity-count(ones=8)", "model.hidden=8,"), tmp_path)
    refused(counting, "categorical variables only")
    run = made(traced("parity"), tmp_path)
    for checkpoint in run.folder.glob("checkpoint-*"):
        shutil.rmtree(checkpoint)
    refused(run, "has no weights yet. Train it first")
