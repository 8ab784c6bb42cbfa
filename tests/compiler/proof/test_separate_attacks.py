"""Attacks on models with separate layers: none that differs from its program is proved."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mutants import SOURCE, copied
from safetensors.torch import load_file, save_file
from test_attacks import differs, program, quietly

import weft
from random_programs import make
from weft.compiler.prove import prove_folder
from weft.models.slots import Layout
from weft.models.transformer import Transformer
from weft.proofs.rounding import LONGEST

Tensors = dict[str, torch.Tensor]
Unit = tuple[dict[str, float], float, dict[str, float]]
"""A hidden unit: the entries that it reads, its bias, and what it adds to which entries."""

COPIED = """
    tokens = 4
    x = weft.var(2, token=lambda t: t % 2)
    keep = weft.var(2, token=lambda t: t >= 2)
    left = weft.relative(x, -1)
    layers = 3
    output = x

    def step(z):
        if not z.keep:
            z.x = z.left
"""

AVERAGED = """
    tokens = 2
    late = weft.var(2, token=lambda t: t)
    n = weft.number([0, 1], default=1)
    one = weft.var(1)
    share = weft.attend(one, one, n, output=weft.number([0, 0.25, 0.5, 0.75, 1]))
    phase = weft.var(3)
    out = weft.var(2)
    layers = 3
    output = out

    def step(z):
        z.out = z.share == 1
        if z.late and z.phase == 1:
            z.n = 0
        z.phase = (z.phase + 1) % 3
"""

COPYING: list[Unit] = [
    ({f"left_{v}": 1, "keep_0": 1, f"x_{1 - v}": 1}, -2, {f"x_{v}": 1, f"x_{1 - v}": -1})
    for v in range(2)
]
AVERAGING: list[Unit] = [
    ({"share_0": 16}, -14, {"out_1": 1, "out_0": -1}),
    ({"out_1": 1}, 0, {"out_1": -1, "out_0": 1}),
    ({"n_0": 1, "late_1": 1, "phase_1": 1}, -2, {"n_0": -1}),
    *(({f"phase_{i}": 1}, 0, {f"phase_{i}": -1, f"phase_{(i + 1) % 3}": 1}) for i in range(3)),
]
STYLES: dict[str, tuple[str, list[Unit], list[str], list[list[int]]]] = {
    "copied": (COPIED, COPYING, ["left_0", "left_1"], [[2, 0, 1, 0], [3, 1, 0, 0], [3, 2, 1]]),
    "averaged": (AVERAGED, AVERAGING, ["share_0"], [[0, 0, 1], [1, 1], [0], [1, 0]]),
    "below one": (
        AVERAGED.replace("[0, 1], default=1", "[0, 1 - 2**-11], default=1 - 2**-11"),
        AVERAGING,
        ["share_0"],
        [],
    ),
}
"""A program, the units that compute its step, the slot of its head, and inputs."""


@cache
def original(style: str) -> weft.Compiled:
    return weft.compile(program(STYLES[style][0]), max_length=4, shared=False)


def built(
    style: str,
    by_heads: tuple[bool, ...],
    by_units: tuple[bool, ...],
    left: tuple[float, ...] = (0.0, 0.0, 0.0),
    *,
    gain: float = 0.5,
) -> weft.Compiled:
    """A model by hand, of which each layer clears the slot of its head in a way of its own.

    Args:
        style: which program.
        by_heads: which layers have a head that clears what the layer before left.
        by_units: which layers have units that clear what their head wrote.
        left: what the units of each layer add to the slot besides.
        gain: the weight of the units that clear; they reach up to 1 / gain.
    """
    _, units, slot, _ = STYLES[style]
    compiled = original(style)
    old = compiled.model

    def vector(entries: dict[str, float]) -> np.ndarray[Any, Any]:
        result = np.zeros(old.config.width)
        for name, entry in entries.items():
            variable, _, value = name.rpartition("_")
            result[old.layout[variable].start + int(value)] = entry
        return result

    tensors = dict(old.state_dict())
    clearing: list[Unit] = [({entry: gain}, 0, {entry: -1 / gain}) for entry in slot]
    width = max(old.config.value_width, len(slot))
    for number in range(3):
        mine = [*units, *(clearing if by_units[number] else [({}, 0, {})] * len(slot))]
        heads, map_ = f"layers.{number}.attention.", f"layers.{number}.feed_forward."
        tensors[f"{map_}weights.0"] = torch.tensor(np.stack([vector(u[0]) for u in mine]))
        tensors[f"{map_}weights.1"] = torch.tensor(np.stack([vector(u[2]) for u in mine], 1))
        tensors[f"{map_}biases.0"] = torch.tensor([u[1] for u in mine])
        tensors[f"{map_}biases.1"] = torch.tensor(vector(dict.fromkeys(slot, left[number])))
        for name in ("query", "key", "value", "output"):
            first = tensors[heads + name][:1]
            tensors[heads + name] = torch.cat([first, torch.zeros_like(first)])
        for channel, entry in enumerate(slot if by_heads[number] else []):
            place = int(vector({entry: 1}).argmax())
            tensors[f"{heads}value"][1, place, channel] = 1
            tensors[f"{heads}output"][1, channel, place] = -1
        bias = tensors.get(f"{heads}bias", torch.zeros(1, 3))[:1]
        alone = torch.full_like(bias, -300.0)
        alone[0, bias.shape[1] // 2] = 300.0
        tensors[f"{heads}bias"] = torch.cat([bias, alone])
        tensors[f"{heads}sink"] = torch.cat([tensors[f"{heads}sink"][:1], torch.zeros(1)])
    offsets = (tensors["layers.0.attention.bias"].shape[1] - 3) // 2
    config = replace(
        old.config, heads=2, offsets=offsets, hidden=(len(units) + len(slot),), value_width=width
    )
    model = Transformer(config, Layout(tuple(old.layout.values())))
    model.load_state_dict({n: tensors[n].to(t.dtype) for n, t in model.state_dict().items()})
    return replace(compiled, model=model.requires_grad_(False).eval())


def is_proved(compiled: weft.Compiled) -> bool:
    return weft.prove(compiled, search=False).proved


@pytest.mark.parametrize("style", ["copied", "averaged"])
def test_slots_may_be_cleared_in_any_way_that_works(style: str) -> None:
    """A layer's units, or a head of the next layer; the last is followed by the first."""
    choices = list(itertools.product((False, True), repeat=3))
    for by_heads, by_units in itertools.product(choices, choices):
        compiled = built(style, by_heads, by_units)
        works = all(by_units[n] or by_heads[(n + 1) % 3] for n in range(3))
        assert is_proved(compiled) == works, (by_heads, by_units)
        if works and sum(by_heads) == 1:
            assert not differs(compiled.model, compiled.program, STYLES[style][3])


@pytest.mark.parametrize("amount", [2.0**-20, 1.0, -3.0, 2.0**12, 2.0**24])
@pytest.mark.parametrize("style", ["copied", "averaged"])
def test_what_a_layer_adds_to_the_slot_of_a_head_is_cleared(style: str, amount: float) -> None:
    """Numbers may be left to the next layer's head, if it clears them closely enough."""
    for number, heads in itertools.product(range(3), [(True,) * 3, (False, True, False)]):
        left = tuple(amount * (place == number) for place in range(3))
        compiled = built(style, heads, (True,) * 3, left)
        if is_proved(compiled):
            assert style == "averaged"
            assert not differs(compiled.model, compiled.program, STYLES[style][3])


def test_units_that_clear_have_room_for_what_a_head_leaves() -> None:
    """x + (y - x) is y up to rounding, so that a number just below 1 may come out just above."""
    for gain, proved in ((0.5, True), (1.0, False)):
        compiled = built(
            "below one", (False, True, False), (True,) * 3, (2.0**12, 0.0, 0.0), gain=gain
        )
        assert is_proved(compiled) == proved
        compiled = built("below one", (False,) * 3, (True,) * 3, gain=gain)
        assert is_proved(compiled)


# Layers that differ


def counter() -> weft.Compiled:
    return weft.compile(make(SOURCE, "Counter")(), shared=False)


def test_layers_may_order_their_units_differently() -> None:
    compiled = counter()
    for number, layer in enumerate(compiled.model.layers):
        first, second, _ = layer.feed_forward.weights
        order = torch.randperm(len(first), generator=torch.Generator().manual_seed(number))
        first.copy_(first[order])
        layer.feed_forward.biases[0].copy_(layer.feed_forward.biases[0][order])
        second.copy_(second[:, order])
    assert weft.prove(compiled).proved
    assert not differs(compiled.model, compiled.program, [[0, 1, 1, 0, 1], [1, 1], [0]])


def test_a_layer_may_not_rely_on_its_number() -> None:
    """The first layer is right for phase 0 alone, which is all that it meets."""
    compiled = built("averaged", (False,) * 3, (True,) * 3)
    changed = copied(compiled.model)
    for phase in (1, 2):
        place = compiled.model.layout["phase"].start + phase
        changed.layers[0].feed_forward.weights[0][:, place] = 0
    assert not differs(changed, compiled.program, STYLES["averaged"][3])
    assert not is_proved(replace(compiled, model=changed))


def test_a_layer_that_the_config_does_not_know_of_is_found() -> None:
    """Loops run all layers that there are."""
    compiled = weft.compile(weft.program("parity"))
    idle = copy.deepcopy(compiled.model.layers[0])
    idle.feed_forward.weights[-1].zero_()
    compiled.model.layers.append(idle)
    tokens = torch.tensor([[2, 1, 0, 1]])
    assert (
        int(compiled.model(tokens, plain=True).layers) != weft.run(compiled.program, "101").layers
    )
    assert not is_proved(compiled)


def test_layers_with_loops_are_proved_if_there_are_as_many_in_all() -> None:
    text = COPIED.replace("layers = 3", "layers = 4")
    source = program(text)
    compiled = weft.compile(source, max_length=4, shared=False)
    weights = compiled.model.state_dict()
    for layers, loops in ((1, 4), (2, 2), (4, 1), (2, 1), (1, 2), (3, 1), (4, 2)):
        config = replace(compiled.model.config, layers=layers, loops=loops)
        model = Transformer(config, compiled.model.layout)
        model.load_state_dict({name: weights[name] for name in model.state_dict()})
        model.requires_grad_(False)
        assert quietly(model, source, compiled.certificate).proved == (layers * loops == 4)


def test_nothing_is_said_of_longer_inputs_than_the_bounds_cover() -> None:
    source = program(COPIED)
    compiled = weft.compile(source, shared=False)
    config = replace(compiled.model.config, max_length=64 * LONGEST)
    model = Transformer(config, compiled.model.layout)
    model.load_state_dict(compiled.model.state_dict())
    proof = quietly(model.requires_grad_(False), source, compiled.certificate)
    assert proof.limits == f"inputs of up to {LONGEST:,} tokens"


# Folders

NAME = "sort-unique(items='012')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "sort"
    weft.save(weft.compile(weft.program(NAME), shared=False), path, name=NAME)
    return path


def _drop_layer(weights: Tensors, **config: int) -> dict[str, int]:
    for name in [name for name in weights if name.startswith("layers.1.")]:
        del weights[name]
    return config


def _repeat_layer(weights: Tensors, **config: int) -> dict[str, int]:
    for name in [name for name in weights if name.startswith("layers.1.")]:
        weights[name.replace("layers.1.", "layers.2.")] = weights[name].clone()
    return config


LAYERS: dict[str, Callable[[Tensors], dict[str, int]]] = {
    "one is missing": lambda w: _drop_layer(w),
    "one, run once": lambda w: _drop_layer(w, layers=1, loops=1),
    "one, run three times": lambda w: _drop_layer(w, layers=1, loops=3),
    "three": lambda w: _repeat_layer(w, layers=3),
    "three, run twice": lambda w: _repeat_layer(w, layers=3, loops=2),
    "three, of which two are named": lambda w: _repeat_layer(w, layers=2),
    "both, run twice": lambda w: {"loops": 2},
    "both, not run": lambda w: {"loops": 0},
}

EDITS: dict[str, Callable[[dict[str, Any], dict[str, Any]], Any]] = {
    "kind": lambda d, c: d["config"].update(kind="decoder"),
    "activation": lambda d, c: d["config"].update(activation="relu"),
    "number format": lambda d, c: d["config"].update(dtype="bfloat16"),
    "longest input": lambda d, c: d["config"].update(max_length=3),
    "halting": lambda d, c: d["config"].update(halt=3),
    "vocabulary": lambda d, c: d["vocabulary"].reverse(),
    "answers": lambda d, c: d["text"]["classes"].reverse(),
    "layout": lambda d, c: d["layout"].reverse(),
    "one input of a certificate": lambda d, c: c.update(inputs=[[0]]),
    "an empty input of a certificate": lambda d, c: c.update(inputs=[[]]),
    "inputs of a description": lambda d, c: d["program"].update(for_inputs=3),
    "a value less": lambda d, c: c["values"]["rank"].pop(),
    "a variable less": lambda d, c: c.update(left_out=["ranked"]),
}


def edited(
    folder: Path,
    target: Path,
    edit: Callable[[dict[str, Any], dict[str, Any], Tensors], Any],
) -> weft.Proof | None:
    """The proof of a folder in which something was changed; None if it is refused."""
    description = json.loads((folder / "config.json").read_text())
    certificate = json.loads((folder / "certificate.json").read_text())
    weights = load_file(folder / "model.safetensors")
    edit(description, certificate, weights)
    target.mkdir()
    (target / "config.json").write_text(json.dumps(description))
    (target / "certificate.json").write_text(json.dumps(certificate))
    save_file(weights, target / "model.safetensors")
    try:
        return prove_folder(target, None, weft.program)
    except weft.WeftError:
        return None


def test_the_folder_itself_is_proved(folder: Path, tmp_path: Path) -> None:
    proof = edited(folder, tmp_path / "same", lambda d, c, w: None)
    assert proof is not None
    assert proof.proved


@pytest.mark.parametrize("change", LAYERS)
def test_no_other_number_of_layers_is_proved(folder: Path, tmp_path: Path, change: str) -> None:
    proof = edited(
        folder, tmp_path / "changed", lambda d, c, w: d["config"].update(LAYERS[change](w))
    )
    assert proof is None or not proof.proved


def test_two_equal_layers_may_be_one_that_is_run_twice(folder: Path, tmp_path: Path) -> None:
    proof = edited(
        folder,
        tmp_path / "shared",
        lambda d, c, w: d["config"].update(_drop_layer(w, layers=1, loops=2)),
    )
    assert proof is not None
    assert proof.proved


@pytest.mark.parametrize("edit", EDITS)
def test_no_edited_folder_is_proved(folder: Path, tmp_path: Path, edit: str) -> None:
    proof = edited(folder, tmp_path / "changed", lambda d, c, w: EDITS[edit](d, c))
    assert proof is None or not proof.proved


@pytest.mark.parametrize("entry", [float("nan"), float("inf"), float("-inf"), 1e-40, 1e38])
@pytest.mark.parametrize(
    "name", ["feed_forward.weights.0", "feed_forward.biases.1", "attention.key"]
)
def test_odd_numbers_in_a_later_layer_are_not_proved(
    folder: Path, tmp_path: Path, name: str, entry: float
) -> None:
    def put(description: Any, certificate: Any, weights: Tensors) -> None:
        weights[f"layers.1.{name}"].view(-1)[-1] = entry

    proof = edited(folder, tmp_path / "changed", put)
    assert proof is not None
    assert not proof.proved


@pytest.mark.parametrize("kind", [float, bool])
def test_names_of_tokens_that_python_calls_equal_are_others(tmp_path: Path, kind: type) -> None:
    path = tmp_path / "parity"
    weft.save(weft.compile(weft.program("parity")), path, name="parity")

    def rename(description: dict[str, Any], certificate: Any, weights: Any) -> None:
        names = description["vocabulary"]
        description["vocabulary"] = [kind(t) if isinstance(t, int) else t for t in names]

    proof = edited(path, tmp_path / "changed", rename)
    assert proof is not None
    assert "vocabulary" in proof.reason
