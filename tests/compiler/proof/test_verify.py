"""Proofs from the weights: they hold for what is right, and a single changed weight is found."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import weft
from random_programs import make
from weft.compiler.proof import Proof, prove
from weft.models.slots import Layout
from weft.models.transformer import Transformer
from weft.programs.library import LIBRARY
from weft.programs.subleq.program import Subleq


def proof_of(compiled: weft.Compiled) -> Proof:
    return prove(compiled.model, compiled.program, compiled.certificate)


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", ["parity", "parity-absolute(positions=12)", "parity-sum(ones=20)"])
def test_parity_is_proved_at_both_levels(name: str, level: int) -> None:
    assert proof_of(weft.compile(weft.program(name), level=level)).proved


SHORT = ("parity-sum", "parity-count", "histogram", "most-frequent", "count-so-far", "sort-unique")
"""Programs of which many buckets are out of reach on short inputs."""


@pytest.mark.parametrize("name", LIBRARY)
def test_every_library_program_is_proved(name: str) -> None:
    lengths = (None, 4, 10) if name in SHORT else (None,)
    for length in lengths:
        proof = proof_of(weft.compile(weft.program(name), max_length=length))
        assert proof.proved, proof
        assert not proof.unrounded


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARY)
def test_every_library_program_is_proved_at_short_lengths(name: str) -> None:
    program = weft.program(name)
    longest = program.definition.positions or 30
    for length in (1, 2, 3, 5, 8, 12, 20, 30):
        compiled = weft.compile(program, max_length=min(length, longest))
        assert proof_of(compiled).proved, length


def test_addition_is_proved_for_every_length() -> None:
    proof = proof_of(weft.compile(weft.program("addition")))
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


def test_heads_under_wrong_names_are_not_proved() -> None:
    """The answers are right, but what the card says about the heads is not."""
    compiled = weft.compile(weft.program("parity"))
    layout = compiled.model.layout
    assert layout.heads == (("parity_left",), ("done_left",), (), ())
    for heads in (("done_left",), ("parity_left",), (), ()), (("parity_left",),):
        named = Transformer(compiled.model.config, Layout(tuple(layout.values()), heads))
        named.load_state_dict(compiled.model.state_dict())
        proof = prove(named.requires_grad_(False), compiled.program, compiled.certificate)
        assert proof.verdict == "undecided"
        assert "names of heads" in proof.reason


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


FAILING = """
import weft


class Failing(weft.Program):
    tokens = 2
    x = weft.var(2, token=lambda t: t)
    output = x
    layers = 2

    def step(z):
        z.x = z.x + 1
"""


def test_states_in_which_the_program_fails_are_named() -> None:
    proof = proof_of(weft.compile(make(FAILING, "Failing")()))
    assert proof.proved
    (reason,) = proof.failing
    assert reason.startswith("x written outside 0..1, ")
    assert reason.endswith(":12")
    assert "excluded: states where the step fails (x written outside 0..1" in str(proof)


MIXING = """
import weft


class Mixing(weft.Program):
    tokens = 4
    value = weft.var(4, token=lambda t: t)
    one = weft.var(2, default=1)
    phase = weft.var(2, token=lambda t: t == 3)
    seen = weft.attend(one, one, value)
    out = weft.var(2)
    output = out
    layers = 3

    def step(z):
        if z.phase == 1:
            if z.seen != 3:
                z.out = 1
"""


def test_mixtures_that_round_up_leave_nothing_behind() -> None:
    """Three values with the weight fl(1/3) add up to more than 1, where only the guard is off."""
    compiled = weft.compile(make(MIXING, "Mixing")())
    proof = proof_of(compiled)
    assert proof.proved
    assert not proof.unrounded
    for length in range(2, 60):
        tokens = torch.tensor([[place % 3 for place in range(length)]])
        for plain in (True, False):
            stream = compiled.model(tokens, plain=plain).stream
            held = stream[..., compiled.model.layout["out"].dimensions]
            assert set(held.unique().tolist()) <= {0.0, 1.0}


def test_level_0_says_that_it_has_no_margin_for_mixtures() -> None:
    proof = proof_of(weft.compile(make(MIXING, "Mixing")(), level=0))
    assert proof.proved
    assert proof.unrounded == ("seen",)
    assert "rounding errors once a head has selected several positions (seen)" in str(proof)


def test_a_gate_without_a_margin_is_not_proved_with_rounding() -> None:
    compiled = weft.compile(make(MIXING, "Mixing")())
    feed_forward = compiled.model.layers[0].feed_forward
    feed_forward.weights[0][0] /= 2
    feed_forward.biases[0][0] = (feed_forward.biases[0][0] + 1) / 2
    proof = proof_of(compiled)
    assert proof.unrounded == ("seen",), "right in real numbers alone"


@pytest.mark.slow
def test_addition_at_level_0_is_proved_within_a_minute() -> None:
    proof = proof_of(weft.compile(weft.program("addition"), level=0))
    assert proof.proved
    assert proof.seconds < 60


def test_updates_that_are_not_the_step_are_noticed() -> None:
    """Compiler and verifier both start from the updates; Python executes the step itself."""
    program = make(MIXING, "Mixing")()
    other = make(MIXING.replace("z.out = 1", "z.out = 1 - z.out"), "Mixing")()
    vars(program)["updates"] = other.updates
    proof = proof_of(weft.compile(program))
    assert not proof.proved
    assert "the updates derived from the step are not the step: 'out'" in proof.reason
