"""A feed-forward learns from traces and takes its place in the compiled model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import Cut, Cutting, folder_of, lines, weights

import weft
from weft.compiler.build import compile_program
from weft.errors import WeftError
from weft.tasks import task
from weft.training import (
    RunStore,
    TrainingConfig,
    evaluate,
    override,
    trace_config,
    train,
    training_config,
)
from weft.training.distributed import Group
from weft.training.evaluation import test_sets as sets_of
from weft.training.optim.adafactor import Adafactor
from weft.training.optim.optimisers import make_capturable, set_lr
from weft.training.program_task import ProgramTask
from weft.training.supervision import learner_of, model_of, task_of
from weft.training.traces.recipes import SMALL, TABLE_1
from weft.training.traces.trace_learner import TraceLearner, feed_forward_of, placed

SHORT = ("parameters.length=6", "parameters.longer=12", "evaluation.size=64",
         "supervision.examples=300")  # fmt: skip
PROGRAMS = ["parity", "parity-absolute(positions=12)", "parity-count(ones=12)"]


def short(program: str = "parity", *changes: str) -> TrainingConfig:
    return override(trace_config("parity", program, small=True), [*SHORT, *changes])


def learner(config: TrainingConfig) -> TraceLearner:
    found = learner_of(config, task_of(config), torch.device("cpu"))
    assert isinstance(found, TraceLearner)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_questions_and_answers_are_those_of_the_task(name: str) -> None:
    inner = task("parity", length=6, longer=12)
    made = ProgramTask(inner=inner, program=weft.program(name))
    for split in inner.tested:
        own, batch = inner.test_set(split, 50), made.test_set(split, 50)
        marks = int(not name.startswith("parity-absolute"))
        for row, (question, _) in enumerate(inner.examples(own)):
            bits = list(map(int, question[1:]))
            length = int(batch.lengths[row])
            assert length == len(bits) + marks
            assert batch.tokens[row, marks:length].tolist() == bits
            if length:
                assert batch.targets[row, length - 1] == sum(bits) % 2
                assert (batch.targets[row, : length - 1] == -1).all()
            assert batch.axes["ones"][row] == sum(bits)


@pytest.mark.parametrize("rounded", ["false", "true"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_compiled_feed_forward_in_its_place_does_the_task(name: str, rounded: str) -> None:
    """What is compiled around the trained feed-forward is right if the compiled one is, there."""
    made = task_of(short(name))
    assert isinstance(made, ProgramTask)
    source = compile_program(made.program, level=0, max_length=made.extent[0]).model
    sizes = ",".join(map(str, source.config.hidden))
    config = short(name, f"model.hidden={sizes},", "model.activation=clipped",
                   f"supervision.round_between_layers={rounded}")  # fmt: skip
    model = placed(config, made)
    feed_forward_of(model).load_state_dict(feed_forward_of(source).state_dict())
    found = evaluate(model, sets_of(made, (), 64))
    assert {split: one.accuracy for split, one in found.items()} == dict.fromkeys(made.tested, 1.0)
    with torch.no_grad():
        feed_forward_of(model).weights[-1].zero_()
    assert evaluate(model, sets_of(made, (), 64))["longer"].accuracy < 0.8


def test_the_loss_is_the_mean_square_of_what_the_stream_differs_by() -> None:
    one = learner(short("parity", "supervision.noise=0.3", "batch=32"))
    torch.manual_seed(5)
    found = float(one.loss(None).detach())
    torch.manual_seed(5)
    index = one.pairs.draw(32, by_counts=True)
    read, left = (vector.double().numpy() for vector in one.pairs.at(index))
    noisy = read + 0.3 * torch.randn(read.shape).double().numpy()
    values = noisy
    trained = feed_forward_of(one.model)
    for place, (weight, bias) in enumerate(zip(trained.weights, trained.biases, strict=True)):
        values = values @ weight.detach().double().numpy().T + bias.detach().double().numpy()
        values = values if place == len(trained.weights) - 1 else np.maximum(values, 0)
    assert found == pytest.approx(float(np.mean((noisy + values - left) ** 2)), rel=1e-5)


def test_shrinking_adds_its_weight_times_the_sign_of_each_weight_to_the_gradient() -> None:
    """The derivative of |w| is its sign; the loss that is given back is without it."""
    found = []
    for shrink in (0.0, 0.25):
        one = learner(short("parity", f"supervision.l1={shrink}", "optimiser.clip=0"))
        torch.manual_seed(3)
        trained = feed_forward_of(one.model)
        with torch.no_grad():
            for bias in trained.biases:
                bias.uniform_(-1, 1)
        before = [part.detach().clone() for part in trained.parameters()]
        torch.manual_seed(4)
        loss = float(one.learn(None, 1))
        found.append((loss, before, [part.grad.clone() for part in trained.parameters()]))
    (plain, before, gradients), (logged, _, shrunk) = found
    assert logged == plain
    for weight, gradient, other in zip(before, gradients, shrunk, strict=True):
        assert weight.abs().min() > 0
        signs = torch.where(weight > 0, 0.25, -0.25)
        torch.testing.assert_close(other, gradient + signs, rtol=1e-5, atol=1e-6)


def test_only_the_feed_forward_is_learned() -> None:
    config = short("parity", "optimiser.lr=0.01")
    one = learner(config)
    before = {name: weight.clone() for name, weight in one.model.state_dict().items()}
    for step in range(1, 4):
        one.learn(None, step)
    for name, weight in one.model.state_dict().items():
        assert torch.equal(weight, before[name]) == (".feed_forward." not in name), name


def test_relative_parity_is_learned_for_lengths_never_seen(tmp_path: Path) -> None:
    config = short("parity", "steps=1000")
    result = train(config, runs=tmp_path, device="cpu")
    assert result.accuracy == {"train": 1.0, "longer": 1.0, "more-ones": 1.0}
    run = RunStore(tmp_path).find(config.hash)
    again = evaluate(run.model(), sets_of(task_of(run.config), (), 64))
    assert {split: one.accuracy for split, one in again.items()} == result.accuracy
    assert set(run.predictions("longer").by("length")) == set(range(7, 13))
    assert run.values()["supervision.program"] == "parity"


@pytest.mark.parametrize("sample_by", ["counts", "errors"])
def test_runs_that_are_cut_off_end_the_same(sample_by: str, tmp_path: Path) -> None:
    config = short("parity", "steps=24", "log_every=5", "evaluation.every=10", "ema=0.9",
                   "evaluation.size=16", f"supervision.sample_by={sample_by}")  # fmt: skip
    train(config, runs=tmp_path / "once", device="cpu")
    cuts = 0
    for at in (1, 3, 50):
        try:
            train(
                config, runs=tmp_path / "often", device="cpu", save_every=0, callbacks=[Cutting(at)]
            )
        except Cut:
            cuts += 1
    assert cuts == 2
    one, other = (folder_of(tmp_path / runs, config) for runs in ("once", "often"))
    for file in ("model", "ema"):
        assert all(
            np.array_equal(weights(one, file)[k], v) for k, v in weights(other, file).items()
        )
    assert lines(one) == lines(other)
    assert lines(one, "evaluations.jsonl") == lines(other, "evaluations.jsonl")


def test_rounding_keeps_small_errors_from_adding_up() -> None:
    made = task_of(short())
    assert isinstance(made, ProgramTask)
    source = compile_program(made.program, level=0).model
    shares = {}
    for rounded in ("false", "true"):
        config = short("parity", "model.hidden=7,", "model.activation=clipped",
                       f"supervision.round_between_layers={rounded}")  # fmt: skip
        model = placed(config, made)
        feed_forward_of(model).load_state_dict(feed_forward_of(source).state_dict())
        with torch.no_grad():
            feed_forward_of(model).biases[-1] += 0.07  # twelve layers of it are too much
        shares[rounded] = evaluate(model, sets_of(made, ("longer",), 64))["longer"].accuracy
    assert shares["true"] == 1.0
    assert shares["false"] < 0.9


def test_learning_rates_as_tensors_change_nothing() -> None:
    results = []
    for capturable in (False, True):
        weight = torch.nn.Parameter(torch.arange(6.0).view(2, 3) / 7)
        optimiser = Adafactor([weight], {}, lr=0.01)
        if capturable:
            make_capturable([optimiser], torch.device("cpu"))
            kept = optimiser.param_groups[0]["lr"]
        for step in range(1, 5):
            set_lr([optimiser], 0.01 / step)
            weight.grad = torch.sin(weight.detach() * step)
            optimiser.step()
        results.append(weight.detach())
    assert optimiser.param_groups[0]["lr"] is kept
    torch.testing.assert_close(results[0], results[1], rtol=1e-6, atol=0)


def test_table_1_is_the_papers() -> None:
    for name, layers, size, steps, lr, optimiser in (
        ("parity", 2, 128, 50_000, 1e-2, "adafactor"),
        ("parity-absolute", 4, 4096, 50_000, 1e-4, "adamw"),
        ("parity-count", 4, 4096, 400_000, 1e-4, "adamw"),
    ):
        config = trace_config("parity", name)
        assert config.model["hidden"] == (size,) * layers
        assert (config.steps, config.batch) == (steps, 256)
        assert (config.optimiser.name, config.optimiser.lr) == (optimiser, lr)
        assert (config.supervision.noise, config.optimiser.weight_decay) == (0.1, 0.0)
        assert sum(SMALL[name].hidden) < sum(TABLE_1[name].hidden)


def test_configs_from_answers_are_named_as_before() -> None:
    plain = TrainingConfig(task="parity")
    assert "supervision" not in plain.as_dict()
    traced = trace_config("parity", "parity")
    assert traced.hash != replace(traced, supervision=plain.supervision).hash
    assert json.loads(json.dumps(traced.as_dict()))["supervision"]["program"] == "parity"


def test_runs_without_an_l1_penalty_are_named_as_before() -> None:
    config = short()
    values = config.as_dict()
    assert values["supervision"].pop("l1") == 0
    assert training_config(values).hash == config.hash
    assert short("parity", "supervision.l1=1e-3").hash != config.hash


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (("bf16=true",), "exact in float32"),
        (("supervision.l1=-1",), "supervision.l1 is -1. It must be at least 0"),
        (
            ("supervision.l1=1", "supervision.by=streams"),
            "by streams ignores supervision.l1",
        ),
        (
            ("supervision.init_at_states=true", "supervision.by=answers"),
            "ignores supervision.init_at_states",
        ),
        (
            ("supervision.l1=1", "supervision.by=answers"),
            "by answers ignores supervision.l1",
        ),
        (("model.width=9",), "is determined by the program"),
        (("supervision.program=",), "needs a program"),
        (("supervision.program=party",), "Did you mean 'parity'"),
    ],
)
def test_what_cannot_be_is_said(changes: tuple[str, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=said):
        train(short("parity", *changes), runs=tmp_path, device="cpu")


class Silent(weft.Program):
    """Puts out nothing but 0."""

    tokens = [0, 1]
    layers = 1
    nothing = weft.var(1)
    output = nothing


def test_a_program_must_be_able_to_answer() -> None:
    made = ProgramTask(inner=task("parity"), program=Silent())
    with pytest.raises(WeftError, match="never '1', which is an answer of the task parity"):
        made.test_set("train", 5)


def test_one_process_learns_from_traces() -> None:
    config = short()
    with pytest.raises(WeftError, match="one process"):
        learner_of(config, task_of(config), torch.device("cpu"), Group(0, 2))


def test_models_of_runs_round_where_they_are_asked_to() -> None:
    config = short("parity", "supervision.round_between_layers=true")
    model = model_of(config, task_of(config))
    assert model.between_layers is not None
    stream = model.embed(torch.tensor([[0, 1, 1]]))
    assert torch.equal(model.between_layers(stream + 0.3 * torch.rand_like(stream)), stream)
    hooked: list[str] = []
    model(torch.tensor([[0, 1, 1]]), hook=lambda name, tensor: (hooked.append(name), tensor)[1])
    assert "blocks.0.hook_resid_post" in hooked


def test_units_can_begin_at_states() -> None:
    """Each has a state at which it is just not active; others are on both sides of many."""
    config = trace_config("parity", "parity-count(ones=12)", small=True)
    config = override(config, [*SHORT, "model.hidden=64,32", "supervision.init_at_states=true"])
    learner = learner_of(config, task_of(config), torch.device("cpu"))
    assert isinstance(learner, TraceLearner)
    layer = feed_forward_of(learner.model)
    read, _ = learner.pairs.at(torch.arange(learner.pairs.count))
    before = (read @ layer.weights[0].T + layer.biases[0]).detach()
    assert float(before.abs().amin(0).max()) < 1e-3
    active = (before > 1e-3).float().mean(0)
    assert float(active.min()) < 0.3 < 0.7 < float(active.max())
    assert not bool(layer.biases[1].any())
    plain = learner_of(
        override(config, ["supervision.init_at_states=false"]), task_of(config), learner.device
    )
    assert torch.equal(feed_forward_of(plain.model).weights[0], layer.weights[0])
    assert not bool(feed_forward_of(plain.model).biases[0].any())
