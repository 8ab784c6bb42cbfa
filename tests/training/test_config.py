"""Configs: what their hash says, what overrides do, and what is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.tasks import task
from weft.training import (
    OptimiserConfig,
    ScheduleConfig,
    TrainingConfig,
    model_config,
    override,
    stream_config,
    trace_config,
    training_config,
)
from weft.training.optim.optimisers import learning_rate
from weft.training.optim.optimisers import schedule_share as share
from weft.training.supervision import task_of

BASE = TrainingConfig(task="parity")


def test_the_hash_changes_with_every_value_and_not_with_the_order() -> None:
    others = [
        replace(BASE, seed=1),
        replace(BASE, optimiser=OptimiserConfig(lr=2e-3)),
        replace(BASE, model={"position": "nape"}),
        replace(BASE, parameters={"digits": 5}),
    ]
    assert len({config.hash for config in [BASE, *others]}) == 5
    one = replace(BASE, model={"width": 8, "heads": 2})
    assert one.hash == replace(BASE, model={"heads": 2, "width": 8}).hash
    assert len(BASE.hash) == 12


def test_a_config_survives_json() -> None:
    config = replace(
        BASE, model={"hidden": (8, 8)}, optimiser=OptimiserConfig(name="muon", betas=(0.8, 0.9))
    )
    again = training_config(json.loads(json.dumps(config.as_dict())))
    assert again == config
    assert again.hash == config.hash
    assert hash(again) == hash(config)


def test_overrides_reach_fields_sub_configs_and_mappings() -> None:
    changes = ["steps=2e3", "optimiser.lr=3e-4", "optimiser.betas=0.8,0.9", "bf16=true"]
    changes += ["model.hidden=64,", "model.position=nape", "parameters.digits=5", "stop.patience=3"]
    changes += ["evaluation.splits=train,long", "stop.accuracy=none", "model.positions=64"]
    config = override(BASE, changes)
    assert (config.steps, config.bf16) == (2000, True)
    assert config.optimiser == OptimiserConfig(lr=3e-4, betas=(0.8, 0.9))
    assert dict(config.model) == {"hidden": (64,), "position": "nape", "positions": 64}
    assert dict(config.parameters) == {"digits": 5}
    assert config.stop.patience == 3
    assert config.evaluation.splits == ("train", "long")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("stps=3", "Did you mean 'steps'?"),
        ("optimiser.wd=3", "Known: name, lr"),
        ("optimizer.lr=3", "Did you mean 'optimiser'?"),
        ("model.postion=nape", "Did you mean 'position'?"),
        ("optimiser=adamw", "Set one of them: optimiser.name"),
        ("steps.x=3", "with no dot"),
        ("steps=x", "Write a whole number"),
        ("steps=1.5", "Write a whole number"),
        ("optimiser.lr=fast", "Write a number"),
        ("optimiser.name=muom", "Did you mean 'muon'?"),
        ("bf16=yes", "Write true or false"),
        ("optimiser.betas=0.9", "Write a list of 2 values"),
        ("stop.patience=x", "Write a whole number or none"),
        ("steps", "key=value"),
        ("model=nano", "Write model.key=nano"),
        ("steps=0", "It must be at least 1"),
        ("ema=1", "decay"),
    ],
)
def test_what_cannot_be_is_said_with_a_remedy(change: str, said: str) -> None:
    with pytest.raises(WeftError) as caught:
        override(BASE, [change])
    assert said in str(caught.value)


def test_unknown_keys_of_files_and_models_are_refused() -> None:
    with pytest.raises(WeftError, match="Did you mean 'seed'"):
        training_config({"task": "parity", "sead": 3})
    with pytest.raises(WeftError, match="Did you mean 'lr'"):
        training_config({"task": "parity", "optimiser": {"lrr": 3}})
    with pytest.raises(WeftError, match="has no 'task'"):
        training_config({})
    with pytest.raises(WeftError, match="Did you mean 'width'"):
        TrainingConfig(task="parity", model={"widht": 3})


@dataclass(frozen=True, kw_only=True)
class Inner:
    count: int = 0
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Outer:
    inner: Inner = Inner()
    weight: float = 0.0


@given(st.integers(), st.floats(allow_nan=False), st.text("abc_ -", min_size=1))
def test_overrides_of_any_dataclass_read_what_was_written(n: int, x: float, word: str) -> None:
    changes = [f"inner.count={n}", f"weight={x!r}", f"inner.name={word}"]
    assert override(Outer(), changes) == Outer(inner=Inner(count=n, name=word.strip()), weight=x)


def test_schedules_have_the_values_that_they_promise() -> None:
    def at(name: str, step: int) -> float:
        return share(ScheduleConfig(name=name, warm_up=10, floor=0.1), step, 110)  # type: ignore[arg-type]

    for name in ("cosine", "linear", "inverse-sqrt", "constant"):
        assert [at(name, step) for step in (1, 5, 10)] == [0.1, 0.5, 1.0]
    assert at("cosine", 60) == pytest.approx(0.55)
    assert at("linear", 85) == pytest.approx(0.1 + 0.9 * 0.25)
    assert at("cosine", 110) == pytest.approx(0.1) == at("linear", 110)
    assert at("inverse-sqrt", 40) == 0.5
    assert at("constant", 110) == 1.0
    assert share(ScheduleConfig(warm_up=0), 1, 1) == pytest.approx(0.1)


@pytest.mark.parametrize("factor", [0.25, 1.0, 2.0])
@pytest.mark.parametrize("warm_up", [0, 1, 40])
def test_the_factor_scales_the_inverse_square_root_schedule(factor: float, warm_up: int) -> None:
    changes = ["schedule.name=inverse-sqrt", f"schedule.factor={factor}", "model.width=64"]
    config = override(BASE, [*changes, f"schedule.warm_up={warm_up}"])
    for step in (1, 7, 40, 41, 900):
        rising = step * warm_up**-1.5 if warm_up else float("inf")
        assert learning_rate(config, step) == pytest.approx(
            factor * 64**-0.5 * min(step**-0.5, rising)
        )
    assert training_config(json.loads(json.dumps(config.as_dict()))) == config


def test_without_a_factor_configs_are_what_they_were() -> None:
    assert "factor" not in BASE.as_dict()["schedule"]
    assert override(BASE, ["schedule.factor=none"]).hash == BASE.hash
    assert override(BASE, ["schedule.factor=1"]).hash != BASE.hash


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["schedule.factor=1"], "schedule.name is cosine"),
        (["schedule.factor=1", "schedule.name=inverse-sqrt", "optimiser.lr=1e-2"], "given, too"),
        (
            ["schedule.factor=1", "schedule.name=inverse-sqrt", "supervision.by=traces"],
            "sets the model's width",
        ),
    ],
)
def test_a_factor_that_something_else_decides_is_refused(changes: list[str], said: str) -> None:
    with pytest.raises(WeftError, match=said):
        task_of(override(BASE, changes))
    for value in ("0", "-1", "inf", "nan"):
        with pytest.raises(WeftError, match="above 0 and finite"):
            override(BASE, [f"schedule.factor={value}"])


def test_defaults_are_what_names_of_runs_rest_on() -> None:
    """Defaults are no part of a hash: where this fails, raise `FORMAT` with what is new here."""
    found = json.dumps(TrainingConfig(task="parity").as_dict(), sort_keys=True)
    defaults = {
        "batch": 64, "bf16": False, "ema": 0.0, "evaluation": {"batch": 256, "every": 500,
        "size": 1024, "splits": []}, "torch_compile": False, "cuda_graphs": False,
        "initial": "depth-scaled", "log_every": 20, "pack": 0,
        "model": {}, "optimiser": {"betas": [0.9, 0.95], "clip": 1.0, "lr": 0.001,
        "momentum": 0.95, "name": "adamw", "weight_decay": 0.1}, "parameters": {},
        "preset": "nano", "schedule": {"floor": 0.1, "name": "cosine", "warm_up": 100}, "seed": 0,
        "steps": 2000, "stop": {"accuracy": None, "divergence": 3.0, "patience": None,
        "split": "train"}, "task": "parity", "tf32": False,
    }  # fmt: skip
    assert json.loads(found) == defaults


def test_names_of_runs_stay_what_they_were() -> None:
    """Hashes from before models had norm types, biases of attention, dropout and LSTMs."""
    start = TrainingConfig(task="parity")
    shaped = override(start, ["model.width=24", "model.position=learned", "model.norm=post"])
    assert (start.hash, shaped.hash) == ("79475c99dff8", "f825c43ff337")


def test_names_tell_apart_all_that_differs() -> None:
    base = TrainingConfig(task="parity")
    changes = ["seed=1", "steps=9", "optimiser.lr=2e-3", "model.width=24", "stop.accuracy=0.9",
               "parameters.length=9", "schedule.floor=0.0", "bf16=true"]  # fmt: skip
    names = {override(base, [change]).hash for change in changes}
    assert len(names | {base.hash}) == len(changes) + 1
    assert override(base, ["seed=1", "seed=0"]).hash == base.hash


def test_abacus_is_told_the_digits_of_the_task() -> None:
    """Tokens that look like several digits are none; a task without any is refused."""
    config = override(TrainingConfig(task="addition"), ["model.position=abacus+rotary"])
    made = task("addition")
    digits = model_config(config, made).digits
    assert [made.vocabulary[token] for token in digits] == list("0123456789")
    apart = ["model.position=t5", "model.encoder_position=abacus", "model.kind=encoder-decoder"]
    assert model_config(override(config, apart), made).digits == digits
    modular = replace(config, task="modular-addition", parameters={"digits": 3, "base": 12})
    made = task("modular-addition", digits=3, base=12)
    digits = model_config(modular, made).digits
    assert [made.vocabulary[token] for token in digits] == list("0123456789ab")
    for name in ("copy", "modular-addition"):
        with pytest.raises(WeftError, match=f"abacus encodes the places of digits, and {name}"):
            model_config(replace(config, task=name), task(name))


def test_renamed_keys_keep_the_names_of_runs() -> None:
    """Hashes as they were before `fused`, `graphed`, `weigh`, `shrink`... were renamed."""
    fast = override(BASE, ["torch_compile=true", "cuda_graphs=true", "tf32=true"])
    traced = trace_config("parity", "parity")
    sparse = override(traced, ["supervision.l1=1e-3", "supervision.sample_by=states"])
    hashes = {
        BASE.hash: "79475c99dff8",
        fast.hash: "b6831cabb45d",
        override(BASE, ["model.position=nape", "model.hidden=64,", "stop.accuracy=1"]).hash:
            "86a3c5c22b62",
        traced.hash: "93a947292663",
        trace_config("parity", "parity-count", small=True).hash: "b8f08075d425",
        sparse.hash: "d37f4e28c37a",
        stream_config("parity", "parity").hash: "e2f0e457c3e5",
    }  # fmt: skip
    assert list(hashes) == list(hashes.values())


def test_folders_with_former_keys_load() -> None:
    values = {
        "task": "parity", "fused": True, "graphed": True,
        "supervision": {"by": "traces", "program": "parity", "weigh": "states", "spread": True,
                        "rounded": True, "shrink": 0.5},
    }  # fmt: skip
    config = training_config(values)
    supervision = config.supervision
    assert (config.torch_compile, config.cuda_graphs) == (True, True)
    assert (supervision.sample_by, supervision.init_at_states) == ("states", True)
    assert (supervision.round_between_layers, supervision.l1) == (True, 0.5)
    assert "fused" not in config.as_dict()
    assert training_config(config.as_dict()).hash == config.hash


@pytest.mark.parametrize(
    ("former", "new"),
    [
        ("fused", "torch_compile"),
        ("graphed", "cuda_graphs"),
        ("supervision.weigh", "supervision.sample_by"),
        ("supervision.spread", "supervision.init_at_states"),
        ("supervision.rounded", "supervision.round_between_layers"),
        ("supervision.shrink", "supervision.l1"),
    ],
)
def test_former_names_are_refused_with_the_new_one(former: str, new: str) -> None:
    with pytest.raises(WeftError, match=f"'{former}' is now called '{new}'. Write {new}=1"):
        override(BASE, [f"{former}=1"])


def test_values_and_texts_give_the_same_config() -> None:
    texts = ["steps=2e4", "stop.accuracy=1", "optimiser.betas=0,1e-1", "model.hidden=64,",
             "model.biases=true", "parameters.length=9", "stop.patience=none"]  # fmt: skip
    values = {"steps": 2e4, "stop.accuracy": 1, "optimiser.betas": [0, 0.1], "model.hidden": [64],
              "model.biases": True, "parameters.length": 9, "stop.patience": None}  # fmt: skip
    assert override(BASE, texts).hash == override(BASE, values).hash
    with pytest.raises(WeftError, match=r"steps cannot be true\. Write a whole number"):
        override(BASE, {"steps": True})
    with pytest.raises(WeftError, match=r"optimiser\.betas cannot be"):
        override(BASE, {"optimiser.betas": [0.9]})
