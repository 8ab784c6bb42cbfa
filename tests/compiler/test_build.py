"""Compiled models equal the interpreter, every variable at every layer, and are small."""

from __future__ import annotations

import time

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings

import paper_listings as listings
import weft
from cases import CASES, Case
from random_programs import batches, programs
from small_programs import small, within
from weft.compiler.check import check, compare
from weft.compiler.execution import input_numbers, run_model
from weft.language.frontend import AlwaysFails
from weft.programs.subleq.program import Subleq


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_answers_are_right_and_every_variable_agrees_at_every_layer(case: Case, level: int) -> None:
    program = case.program()
    compiled = weft.compile(program, level=level)
    numbers = input_numbers(program, [program.encode(text) for text in case.inputs])
    expected = weft.run_batch(program, case.inputs)
    run = run_model(compiled.model, numbers)
    assert run.outputs == expected.outputs
    assert run.layers == list(expected.layers)
    report = check(compiled, samples=40, max_length=12)
    assert report.difference is None
    assert report.inputs > 20
    if (str(case), level) == ("addition", 0):
        assert compiled.hidden_units == 16_465  # one per rule


@pytest.mark.parametrize("activation", ["clipped", "relu"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_number_formats_and_plain_relu_agree_too(activation: str, dtype: str) -> None:
    compiled = weft.compile(weft.program("addition"), activation=activation, dtype=dtype)
    assert check(compiled, samples=30, max_length=15).difference is None


def test_categorical_parts_of_the_stream_are_exactly_zeros_and_ones() -> None:
    program = weft.program("addition")
    model = weft.compile(program).model
    streams: list[torch.Tensor] = []
    text = "9" * 30 + "+" + "1" * 30
    numbers = input_numbers(program, [program.encode(text)])
    run_model(model, numbers, watch=lambda layer, stage, rows, stream: streams.append(stream))
    heads = [model.layout[name] for name in program.heads]
    assert len(streams) == 2 * 32
    for stream in streams:
        assert set(stream.unique().tolist()) <= {0.0, 1.0}
        assert all((stream[..., slot.dimensions].sum(-1) <= 1).all() for slot in heads)


def test_a_changed_weight_is_found_by_check() -> None:
    compiled = weft.compile(weft.program("addition"))
    compiled.model.layers[0].feed_forward.biases[0] += 1.0
    report = check(compiled, samples=100, max_length=12)
    assert report.difference is not None
    assert report.difference.layer >= 1


few = settings(
    max_examples=25,
    derandomize=True,  # the same programs every time; the slow variant draws new ones
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


@few
@given(programs(), batches())
def test_random_programs_compile_to_what_the_interpreter_computes(program, inputs) -> None:
    agree(program, inputs)


@pytest.mark.slow
@settings(few, max_examples=2000, derandomize=False)
@given(programs(), batches())
def test_many_random_programs_compile_to_what_the_interpreter_computes(program, inputs) -> None:
    agree(program, inputs)


def agree(program: weft.Program, inputs: list[list[int]]) -> None:
    """All variable kinds, at both levels; inputs on which the program itself fails are left out."""
    inputs = [given for given in inputs if given]
    layers = 3 if program.layers is None and program.definition.halt is None else None
    try:
        expected = weft.run_batch(program, inputs, layers=layers, max_layers=6, trace=True)
    except weft.WeftError:
        assume(False)
    for level in (0, 2):
        with within(120):
            compiled = compiled_or_refused(program, level)
        if compiled is not None:
            assert compare(compiled.model, program, expected, layers) is None


@pytest.mark.parametrize(
    "step",
    [
        "z.b = (z.a if z.c else 1 // 0) % 3",
        "z.b = 1 // 0 if z.c and z.a else z.a",
        "z.b = int(z.a < (z.b if z.c else 1 % 0))",
    ],
)
@pytest.mark.parametrize("level", [0, 2])
def test_a_piece_that_always_fails_can_be_compiled_where_it_is_not_reached(
    step: str, level: int
) -> None:
    program = small(f"if z.a == 5:\n    {step}")
    assert check(weft.compile(program, level=level), samples=20, max_length=6).difference is None


REFUSED = ("too close", "depends on the head", "more than", "level 0 cannot test")


def compiled_or_refused(program: weft.Program, level: int) -> weft.Compiled | None:
    """The compiled program; None if the compiler says that it cannot be exact.

    A step that fails in every state is refused before it is compiled; `test_derived_updates` checks
    that it does.
    """
    longest = program.definition.positions or 12
    try:
        return weft.compile(program, level=level, max_length=longest)
    except AlwaysFails:
        assume(False)
    except weft.WeftError as error:
        if not any(words in str(error) for words in REFUSED):
            raise
    return None


def test_a_model_that_does_not_halt_in_time_is_a_difference_and_not_a_crash() -> None:
    class Patient(type(weft.program("parity"))):  # type: ignore[misc]
        max_layers = 64

    compiled = weft.compile(Patient())
    with torch.no_grad():
        compiled.model.layers[0].feed_forward.weights[-1].zero_()
    report = check(compiled, samples=4, max_length=4)
    assert report.difference is not None


LOOPS = """
z.a = 1
z.b = int(z.c < z.left)
for i in range(3):
    for j in range(3):
        if z.left >= z.b:
            continue
        if z.a > 4:
            z.b = 0
        elif z.a - z.c == (2, 0, 1)[z.a]:
            if z.b:
                continue
        n = 0
        while n < 2:
            n += 1
            if z.b:
                continue
            z.b = int(z.a * 2 != z.a)
            if z.c:
                continue
    if z.left == 2:
        return
"""


def test_ways_that_no_state_can_take_are_left_out_early() -> None:
    """Read as a tree, this step has more ways through it than can be counted."""
    program = small(LOOPS)
    with within(60):
        assert len(program.updates) < 200
        for level in (0, 2):
            weft.compile(program, level=level)


def test_a_variable_with_very_many_updates_is_compiled_as_a_whole(monkeypatch) -> None:
    monkeypatch.setattr("weft.language.updates.MAX_UPDATES", 1)
    program = small("if z.a == 0:\n    z.a = 2\nelif z.b < z.a:\n    z.a = z.c\nz.c = 1")
    assert [update.variable for update in program.updates if update.whole] == ["a"]
    assert check(weft.compile(program), samples=30).difference is None


def test_a_test_that_always_fails_never_holds() -> None:
    program = small("if z.a == 5 and 1 % 0:\n    z.b = 1\nz.a = (z.a + 1) % 3")
    assert check(weft.compile(program), samples=20).difference is None


# How small compiled models are: the figures that are promised


def test_parity_has_the_papers_seven_units_at_level_0_and_at_most_four_at_level_2() -> None:
    assert weft.compile(weft.program("parity"), level=0).hidden_units == 7
    assert weft.compile(weft.program("parity")).hidden_units <= 4


def test_sum_and_modulo_with_counts_up_to_20_has_31_rules_at_level_0() -> None:
    assert weft.compile(weft.program("parity-sum(ones=20)"), level=0).rules == 31


def test_addition_has_at_most_120_units_for_every_length() -> None:
    start = time.process_time()
    compiled = weft.compile(weft.program("addition"))
    assert time.process_time() - start < 2
    assert compiled.hidden_units <= 120
    assert compiled.max_length is None


@pytest.mark.slow
def test_addition_at_level_0_has_as_many_units_as_the_released_compiler_emits() -> None:
    assert weft.compile(listings.figures_12_13(), level=0).hidden_units == 16_466  # a phase more


def subleq_units(cells: int, values: int) -> int:
    return weft.compile(Subleq(cells, -(values // 2), values - values // 2 - 1)).hidden_units


def test_subleq_grows_with_the_number_of_values_and_is_compiled_quickly() -> None:
    start = time.process_time()
    assert subleq_units(8, 48) <= 4 * subleq_units(8, 16)
    assert time.process_time() - start < 15


@pytest.mark.slow
def test_subleq_with_many_values_grows_with_their_number() -> None:
    assert subleq_units(16, 128) <= 5 * subleq_units(16, 32)


def test_subleq_rules_grow_with_the_cube_of_the_number_of_values() -> None:
    rules = {n: len(Subleq(8, -(n // 2), n // 2 - 1).rules) for n in (16, 32, 64)}
    assert 5 < rules[32] / rules[16] < 9
    assert 5 < rules[64] / rules[32] < 9
