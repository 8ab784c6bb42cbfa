"""A whole Transformer learns to hold a program's variables in its stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_runs import Cut, Cutting, folder_of, lines, weights

import weft
from weft.errors import WeftError
from weft.language.ranges import UNDEFINED
from weft.tasks import task
from weft.training import RunStore, TrainingConfig, model_config, override, stream_config, train
from weft.training.distributed import Group
from weft.training.program_task import ProgramTask
from weft.training.supervision import learner_of, task_of
from weft.training.traces.streams import StreamLearner, batch_traces, with_traces

SHORT = ("parameters.length=6", "parameters.longer=8", "evaluation.size=64", "batch=32",
         "model.width=32", "model.heads=2", "model.hidden=64,", "steps=1000", "log_every=20",
         "evaluation.every=0", "supervision.noise=0.6")  # fmt: skip


def short(program: str = "parity", *changes: str) -> TrainingConfig:
    return override(stream_config("parity", program), [*SHORT, *changes])


def learner(config: TrainingConfig) -> StreamLearner:
    found = learner_of(config, task_of(config), torch.device("cpu"))
    assert isinstance(found, StreamLearner)
    return found


@pytest.mark.parametrize("name", ["parity", "parity-absolute(positions=8)", "parity-count(ones=8)"])
def test_codes_are_those_of_the_reference_interpreter(name: str) -> None:
    program = weft.program(name)
    made = ProgramTask(inner=task("parity", length=5, longer=8), program=program)
    batch = made.inner.test_set("longer", 12).trimmed()
    found = batch_traces(made, batch)
    inputs = made.encoded(batch)
    runs = [weft.run(program, tokens, trace=True) for tokens in inputs]
    stepped = [n for n, v in program.variables.items() if not v.is_head]
    assert len(found.after) == max(run.layers for run in runs)
    for row, run in enumerate(runs):
        assert run.trace is not None
        shift = int(batch.lengths[row]) - len(inputs[row])
        for layer in range(len(found.after)):
            ended = layer >= run.layers
            there = run.trace.layers[min(layer, run.layers - 1)]
            for place in range(batch.tokens.shape[1]):
                inside = 0 <= place - shift < len(inputs[row])
                for column, variable in enumerate(stepped):
                    value = there.after[variable][place - shift] if inside else UNDEFINED
                    assert found.after[layer, row, place, column] == code(program, variable, value)
                for column, variable in enumerate(program.heads):
                    asked = inside and not ended
                    value = there.attended[variable][place - shift] if asked else UNDEFINED
                    expected = code(program, variable, value)
                    assert found.fetched[layer, row, place, column] == expected


def code(program: weft.Program, variable: str, value: Any) -> int:
    range_ = program.variables[variable].range
    return -1 if value is UNDEFINED else range_.codes[range_.nearest(value)]


def test_the_loss_is_the_mean_cross_entropy_of_all_that_is_asked() -> None:
    """Against NumPy in float64, from the streams that the model itself had."""
    one = learner(short("parity", "supervision.noise=0"))
    config, inner = one.config, task_of(one.config)
    batch = with_traces(one.traced, inner.batch("train", 0, 1, 8).trimmed(), one.model.config)
    found = float(one.loss(batch).detach())
    with torch.no_grad():
        attended, after = one.streams(batch)
    total, count = 0.0, 0
    for streams, names, codes in (
        (after, one.stepped, batch.after),
        (attended, one.heads, batch.fetched),
    ):
        for column, name in enumerate(names):
            matrix = one.model.unembedding if name == "parity" else one.readouts.weights[name]
            logits = streams.double().numpy() @ matrix.detach().double().numpy().T
            wanted = codes[..., column].numpy()
            logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
            picked = np.take_along_axis(logs, np.maximum(wanted, 0)[..., None], -1)[..., 0]
            total -= picked[wanted >= 0].sum()
            count += int((wanted >= 0).sum())
    assert count == batch.code_count
    assert found == pytest.approx(total / count, rel=1e-5)
    assert model_config(config, inner).loops == 8


def test_nothing_of_it_is_compiled_and_all_of_it_is_learned() -> None:
    one = learner(short())
    assert all(weight.requires_grad for weight in one.trained.parameters())
    before = {name: weight.clone() for name, weight in one.trained.named_parameters()}
    feed = one.feed(task_of(one.config), 1)
    for step in range(1, 5):
        one.learn(next(feed), step)
    feed.close()
    still = [n for n, w in one.trained.named_parameters() if torch.equal(w, before[n])]
    assert still == []


def test_processes_share_a_batch() -> None:
    one = learner(short("parity", "supervision.noise=0"))
    batch = task_of(one.config).batch("train", 0, 3, 6).trimmed()
    whole = one.loss(with_traces(one.traced, batch, one.model.config))
    parts = [
        one.loss(with_traces(one.traced, batch, one.model.config, Group(rank, 2)))
        for rank in range(2)
    ]
    torch.testing.assert_close(parts[0] + parts[1], whole)


def test_runs_that_are_cut_off_end_the_same(tmp_path: Path) -> None:
    config = short("parity", "steps=12", "log_every=3", "evaluation.every=5", "evaluation.size=8")
    train(config, runs=tmp_path / "once", device="cpu")
    for at in (2, 50):
        try:
            train(
                config, runs=tmp_path / "often", device="cpu", save_every=0, callbacks=[Cutting(at)]
            )
        except Cut:
            assert at < 50
    one, other = (folder_of(tmp_path / runs, config) for runs in ("once", "often"))
    for file in ("model", "readouts"):
        mine, its = weights(one, file), weights(other, file)
        assert all(np.array_equal(mine[name], its[name]) for name in mine)
    assert lines(one) == lines(other)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (("supervision.program=",), "needs a program"),
        (("supervision.noise=-1",), "at least 0"),
    ],
)
def test_what_cannot_be_is_said(changes: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=said):
        train(short("parity", *changes), runs=tmp_path, device="cpu")


def test_answers_must_stand_under_tokens(tmp_path: Path) -> None:
    config = stream_config("addition", "addition")
    with pytest.raises(WeftError, match="are not aligned with its tokens"):
        train(config, runs=tmp_path, device="cpu")


@pytest.mark.slow
def test_it_learns_parity_for_twice_the_length(tmp_path: Path) -> None:
    """The finding of docs/traces.md, in small: with noise, what is learned goes on beyond."""
    config = short()
    result = train(config, runs=tmp_path, device="cpu")
    assert result.accuracy["train"] == 1.0
    assert result.accuracy["longer"] > 0.9
    model = RunStore(tmp_path).find(config.hash).model()
    assert model.config.loops == 8
