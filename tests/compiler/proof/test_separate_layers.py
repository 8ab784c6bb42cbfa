"""Models whose layers have weights of their own: every layer is proved, not the first alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from mutants import SOURCE

import weft
from random_programs import make
from weft.compiler.check import check
from weft.compiler.proof import Proof, prove
from weft.models.transformer import Transformer


def separate(name: str, level: int = 2) -> weft.Compiled:
    longest = {"Vowels": 4, "Neighbours": 6, "Counter": None}[name]
    return weft.compile(make(SOURCE, name)(), level=level, max_length=longest, shared=False)


def proof_of(compiled: weft.Compiled) -> Proof:
    return prove(compiled.model, compiled.program, compiled.certificate)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", ["Vowels", "Neighbours", "Counter"])
def test_separate_layers_are_proved_and_agree_with_shared_ones(name: str, level: int) -> None:
    compiled = separate(name, level)
    config = compiled.model.config
    assert (config.layers, config.loops) == (compiled.program.layers, 1)
    proof = proof_of(compiled)
    assert proof.proved, proof
    shared = weft.compile(compiled.program, level=level, max_length=config.max_length)
    assert proof.cells == config.layers * proof_of(shared).cells
    assert check(compiled, samples=20, max_length=config.max_length or 5).difference is None


@pytest.mark.parametrize("layer", range(3))
def test_a_changed_layer_is_found_wherever_it_is(layer: int) -> None:
    compiled = separate("Counter")
    compiled.model.layers[layer].feed_forward.biases[0][0] += 1
    proof = proof_of(compiled)
    assert proof.verdict == "wrong"
    assert "after the step where" in str(proof.counterexample)


@pytest.mark.parametrize("layer", range(2))
def test_a_weakened_margin_is_found_in_every_layer(layer: int) -> None:
    compiled = separate("Vowels")
    compiled.model.layers[layer].attention.query *= 0.5
    assert "above the sink" in proof_of(compiled).reason


@pytest.mark.parametrize("layer", [1, 2])
def test_what_a_layer_leaves_must_be_cleared_by_the_next_one(layer: int) -> None:
    """The heads that clear a slot may be missing in no layer but the first, which finds zeros."""
    compiled = separate("Counter")
    compiled.model.layers[layer].attention.output[-1] = 0
    assert not proof_of(compiled).proved


def test_a_wrong_number_of_layers_is_not_proved() -> None:
    compiled = separate("Counter")
    config = compiled.model.config
    for layers in (2, 4):
        model = Transformer(replace(config, layers=layers), compiled.model.layout)
        weights = dict(compiled.model.state_dict())
        last = {k: v for k, v in weights.items() if k.startswith("layers.2.")}
        weights |= {k.replace("layers.2.", "layers.3."): v for k, v in last.items()}
        model.load_state_dict({name: weights[name] for name in model.state_dict()})
        proof = prove(model.requires_grad_(False), compiled.program, compiled.certificate)
        assert not proof.proved
        assert f"config.layers is {layers}" in proof.reason


def test_a_program_that_halts_needs_shared_layers() -> None:
    with pytest.raises(weft.WeftError, match="it runs until it halts"):
        weft.compile(weft.program("parity"), shared=False)


def test_a_model_without_a_program_is_undecided() -> None:
    compiled = weft.compile(weft.program("parity"))
    bare = Transformer(compiled.model.config)
    bare.load_state_dict(compiled.model.state_dict())
    proof = prove(bare.requires_grad_(False), compiled.program, compiled.certificate, search=False)
    assert proof.verdict == "undecided"
    assert "has no layout" in proof.reason


def test_separate_layers_run_without_their_zeros() -> None:
    compiled = separate("Counter")
    tokens = torch.tensor([[0, 1, 1, 0, 1], [1, 1, 0, 0, 0]])
    assert len(compiled.model.compacted() or ()) == 3
    plain = compiled.model(tokens, plain=True)
    assert torch.equal(compiled.model(tokens).stream, plain.stream)
