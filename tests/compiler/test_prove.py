"""Proofs from the weights: they hold for what is right, and a single changed weight is found."""

from __future__ import annotations

import random

import pytest
import torch

import weft
from weft.compiler.check import check
from weft.compiler.prove import Proof, prove
from weft.programs.subleq import Subleq


def proof_of(compiled: weft.Compiled) -> Proof:
    return prove(
        compiled.model, compiled.program, level=compiled.level, max_length=compiled.max_length
    )


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", ["parity", "parity-absolute(positions=12)", "parity-sum(ones=20)"])
def test_parity_is_proved_at_both_levels(name: str, level: int) -> None:
    assert proof_of(weft.compile(weft.program(name), level=level)).proved


def test_addition_is_proved_for_every_length() -> None:
    proof = proof_of(weft.compile(weft.program("addition")))
    assert proof.proved
    assert proof.seconds < 60


def test_subleq_with_16_values_is_proved() -> None:
    assert proof_of(weft.compile(Subleq(8, -8, 7))).proved


def test_plain_relu_is_proved_too() -> None:
    assert proof_of(weft.compile(weft.program("parity"), activation="relu")).proved


def weights_of(model: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    return [(name, tensor) for name, tensor in model.state_dict().items()]


@pytest.mark.parametrize("name", ["parity", "addition"])
def test_a_single_flipped_weight_is_found(name: str) -> None:
    """Any weight that matters; one that changes nothing in any state may stay unnoticed."""
    rng = random.Random(0)
    caught = tried = 0
    for _ in range(40):
        compiled = weft.compile(weft.program(name))
        tensors = weights_of(compiled.model)
        tensor_name, tensor = rng.choice(tensors)
        flat = tensor.view(-1)
        place = rng.randrange(len(flat))
        if not torch.isfinite(flat[place]):
            continue
        old = float(flat[place])
        flat[place] = 1.0 if old == 0 else -old
        tried += 1
        proof = proof_of(compiled)
        if proof.proved:  # then no input may tell the difference either
            assert check(compiled, samples=60, max_length=15).difference is None, tensor_name
        else:
            caught += 1
            assert proof.difference
    assert caught > tried // 2


def test_the_counter_example_names_the_state() -> None:
    compiled = weft.compile(weft.program("parity"))
    compiled.model.layers[0].feed_forward.biases[0][0] += 1
    proof = proof_of(compiled)
    assert not proof.proved
    assert "the update of 'parity' is not that of the rules where" in proof.difference
    assert "done_left = " in proof.difference


def test_a_weakened_margin_is_found() -> None:
    compiled = weft.compile(weft.program("addition"))
    compiled.model.layers[0].attention.query *= 0.5
    assert "above the sink" in proof_of(compiled).difference
