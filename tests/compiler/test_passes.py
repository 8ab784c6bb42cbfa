"""What each pass leaves out, and that the rest still computes the program."""

from __future__ import annotations

import pytest
import torch

import weft
from weft.compiler.check import check
from weft.compiler.run import input_numbers, run_model
from weft.models import Transformer, TransformerConfig
from weft.weights.cubes import minimise


class Wasteful(weft.Program):
    """The left neighbour's bit, with variables and heads that nobody needs."""

    tokens = [0, 1]
    positions, layers = 6, 1
    bit = weft.var(2, token=lambda t: t)
    first = weft.var(2, position=lambda i: i == 0)
    unused = weft.var(5)
    left = weft.relative(bit, -1)
    again = weft.relative(bit, -1)
    idle = weft.relative(unused, 1)
    copied = weft.var(4)
    output = copied

    def step(z):
        if not z.first:
            z.copied = z.left + 2 * z.again
        z.unused = (z.unused + 1) % 5


def test_dead_variables_and_heads_are_left_out_and_equal_heads_merged() -> None:
    compiled = weft.compile(Wasteful())
    layout = compiled.model.layout
    assert not {"unused", "idle"} & set(layout)
    assert layout["again"].dimensions == layout["left"].dimensions
    assert check(compiled, samples=40, max_length=6).difference is None
    notes = dict(compiled.notes)
    assert "unused" in notes["dead variables"]
    assert "again into left" in notes["equal heads"]


def test_reachability_leaves_out_values_that_cannot_occur() -> None:
    notes = dict(weft.compile(weft.program("addition")).notes)
    assert "carry 3 of 10" in notes["reachability"]


def test_a_model_for_some_inputs_is_smaller_and_right_on_them() -> None:
    program = weft.program("addition")
    texts = ["12+34", "11+22", "40+50"]
    compiled = weft.compile(program, inputs=texts)
    assert compiled.hidden_units < weft.compile(program).hidden_units
    assert compiled.for_inputs == 3
    run = run_model(compiled.model, input_numbers(program, map(program.encode, texts)))
    assert run.outputs == weft.run_batch(program, texts).outputs


def test_cubes_that_differ_in_one_variable_are_merged() -> None:
    one, two = frozenset([1]), frozenset([2])
    cubes = [{"a": one, "b": one}, {"a": two, "b": one}, {"a": one, "b": two}]
    merged = minimise(cubes)
    states = {(a, b) for cube in merged for a in cube["a"] for b in cube["b"]}
    assert states == {(1, 1), (2, 1), (1, 2)}
    assert len(merged) == 2


@pytest.mark.parametrize("halting", ["sequence", "position"])
def test_halting_by_sequence_or_by_position(halting: str) -> None:
    """A model that adds one to dimension 0 a layer; dimension 1 says where it has halted."""
    config = TransformerConfig(
        vocabulary=2,
        outputs=2,
        width=2,
        heads=1,
        key_width=1,
        value_width=1,
        hidden=(1,),
        halt=1,
        halting=halting,
        loops=3,
    )
    model = Transformer(config).requires_grad_(False)
    model.embedding[1, 1] = 1.0  # token 1 has halted from the start
    model.layers[0].feed_forward.biases[0][0] = 1.0
    model.layers[0].feed_forward.weights[1][0, 0] = 1.0
    out = model(torch.tensor([[0, 1], [1, 1]]))
    assert out.layers.tolist() == [3, 0]
    frozen = 0.0 if halting == "position" else 3.0
    assert out.stream[0, :, 0].tolist() == [3.0, frozen]
    assert out.stream[1, :, 0].tolist() == [0.0, 0.0]


def test_padding_changes_nothing() -> None:
    program = weft.program("addition")
    model = weft.compile(program).model
    texts = ["1+2", "12345+67890"]
    together = run_model(model, input_numbers(program, map(program.encode, texts)))
    for text, outputs in zip(texts, together.outputs, strict=True):
        alone = run_model(model, input_numbers(program, [program.encode(text)]))
        assert alone.outputs == [outputs]


TABLE = ((0, 1, 2), (2, 2, 0), (0, 0, 0))


class Sums(weft.Program):
    """A bit of a number by its place, which changes seven times along a sum and is two cubes."""

    tokens, layers = 8, 1
    left = weft.var(2, token=lambda t: t >> 2 & 1)
    cell = weft.var(2, token=lambda t: t >> 1 & 1)
    right = weft.var(2, token=lambda t: t & 1)
    output = cell

    def step(z):
        z.cell = 110 >> (4 * z.left + 2 * z.cell + z.right) & 1


class Tables(weft.Program):
    """A comparison of an entry of a table, which holds in one place."""

    tokens, layers = 9, 1
    row = weft.var(3, token=lambda t: t // 3)
    column = weft.var(3, token=lambda t: t % 3)
    found = weft.var(2)
    output = found

    def step(z):
        if TABLE[z.row][z.column] == 1:
            z.found = 1


@pytest.mark.parametrize(("program", "most"), [(Sums, 3), (Tables, 1)])
def test_cubes_are_taken_where_they_are_fewer_than_thresholds(program, most) -> None:
    compiled = weft.compile(program())
    assert compiled.hidden_units <= most
    assert check(compiled, samples=20, max_length=5).difference is None
