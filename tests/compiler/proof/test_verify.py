"""Proofs from the weights: they hold for what is right, and a single changed weight is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import weft
from random_programs import make
from weft.compiler.proof import Proof, prove
from weft.programs.subleq import Subleq


def proof_of(compiled: weft.Compiled) -> Proof:
    return prove(compiled.model, compiled.program, compiled.certificate)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", ["parity", "parity-absolute(positions=12)", "parity-sum(ones=20)"])
def test_parity_is_proved_at_both_levels(name: str, level: int) -> None:
    assert proof_of(weft.compile(weft.program(name), level=level)).proved


def test_addition_is_proved_for_every_length() -> None:
    proof = proof_of(weft.compile(weft.program("addition")))
    assert proof.proved
    assert proof.seconds < 60


@pytest.mark.parametrize(
    "name", ["sort", "dyck", "rule-110", 'regex(pattern="(ab|ba)*c?")', "scan", "turing"]
)
def test_library_programs_are_proved_quickly(name: str) -> None:
    proof = proof_of(weft.compile(weft.program(name)))
    assert proof.proved
    assert proof.seconds < 60


def test_subleq_with_16_values_is_proved() -> None:
    assert proof_of(weft.compile(Subleq(8, -8, 7))).proved


def test_plain_relu_is_proved_too() -> None:
    assert proof_of(weft.compile(weft.program("parity"), activation="relu")).proved


def test_a_counterexample_names_the_state_and_was_run() -> None:
    compiled = weft.compile(weft.program("parity"))
    compiled.model.layers[0].feed_forward.biases[0][0] += 1
    proof = proof_of(compiled)
    assert proof.verdict == "wrong"
    shown = str(proof.counterexample)
    assert "after the step where" in shown
    assert "done_left = " in shown


def test_a_weakened_margin_is_found() -> None:
    compiled = weft.compile(weft.program("addition"))
    compiled.model.layers[0].attention.query *= 0.5
    assert "above the sink" in proof_of(compiled).reason


def clearing(compiled: weft.Compiled, head: str) -> tuple[torch.Tensor, torch.Tensor, list[int]]:
    """First and last matrix of the feed-forward, and the units that write to a head's slot."""
    feed_forward = compiled.model.layers[0].feed_forward
    first, last = feed_forward.weights[0], feed_forward.weights[-1]
    row = last[compiled.model.layout[head].start]
    return first, last, row.nonzero().flatten().tolist()


def test_that_a_number_is_cleared_exactly_is_read_from_the_weights() -> None:
    program = weft.program("parity-sum(ones=20)")
    for factor in (0.5, 1.0001, -1.0, 0.0):
        compiled = weft.compile(program)
        _, last, units = clearing(compiled, "share")
        last[compiled.model.layout["share"].start, units[0]] *= factor
        assert "'share' is not cleared exactly" in proof_of(compiled).reason


def test_plain_relu_with_numbers_is_refused_since_it_rounds() -> None:
    compiled = weft.compile(weft.program("parity-sum(ones=20)"), activation="relu")
    proof = proof_of(compiled)
    assert proof.verdict == "undecided"
    assert "right up to rounding alone" in proof.reason


def test_clearing_units_may_depend_on_nothing_else() -> None:
    compiled = weft.compile(weft.program("parity-sum(ones=20)"))
    first, _, units = clearing(compiled, "share")
    chain = units if len(compiled.model.config.hidden) == 1 else range(len(first))
    first[list(chain), compiled.model.layout["parity"].start] += 0.25
    assert "not cleared exactly" in proof_of(compiled).reason


def test_a_number_of_both_signs_is_cleared_on_both_sides() -> None:
    program = make(BOTH_SIGNS, "BothSigns")()
    compiled = weft.compile(program, max_length=8)
    assert proof_of(compiled).proved
    _, last, units = clearing(compiled, "mean")
    assert len(units) == 2
    for unit in units:
        last[compiled.model.layout["mean"].start, unit] *= 2
        assert "'mean' is not cleared exactly" in proof_of(compiled).reason
        last[compiled.model.layout["mean"].start, unit] /= 2


BOTH_SIGNS = """
import weft


class BothSigns(weft.Program):
    tokens = 2
    x = weft.number([-3, 3], token=lambda t: 6 * t - 3)
    one = weft.var(2, default=1)
    mean = weft.attend(one, one, x, output=weft.number([-3, 0, 3]))
    more = weft.var(3)
    output = more
    layers = 3

    def step(z):
        z.more = 1 + int(z.mean / 3)
"""


def test_a_model_for_some_inputs_is_proved_for_the_values_that_occur_on_them() -> None:
    program = weft.program("addition")
    compiled = weft.compile(program, inputs=["1+1", "12+10", "20+11"])
    proof = proof_of(compiled)
    assert proof.proved
    assert proof.cells < proof_of(weft.compile(program)).cells
    everything = replace(compiled.certificate, inputs=None)
    assert not prove(compiled.model, program, everything).proved, "not right for all inputs"


COMPARED = """
import weft


class Compared(weft.Program):
    tokens = "ab"
    here_a = weft.var(2, token=lambda t: t == "a")
    here_b = weft.var(2, token=lambda t: t == "b")
    value = weft.var(4)
    phase = weft.var(3)
    one = weft.var(2, default=1)
    a = weft.attend(one, here_a, value)
    b = weft.attend(one, here_b, value)
    output = value
    layers = 3

    def step(z):
        if z.phase == 0:
            z.phase = 1
        elif z.phase == 1:
            if z.a != z.b:
                z.phase = 2
            else:
                z.value = (z.value + z.here_a) % 4
"""


def test_two_thresholds_of_one_sum_are_not_taken_for_independent() -> None:
    """`a == b` is one threshold less another, between 0 and 1 whatever mixture a head holds."""
    compiled = weft.compile(make(COMPARED, "Compared")())
    assert proof_of(compiled).proved
    compiled.model.layers[0].feed_forward.biases[0] += 0.25
    assert not proof_of(compiled).proved
