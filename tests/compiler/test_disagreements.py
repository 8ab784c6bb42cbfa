"""Where interpreters and weights of other compilers silently disagree: it cannot happen here.

One test for each case that is known of ALTA's and Tracr's released code.
"""

from __future__ import annotations

import pytest
import torch

import weft
from weft.compiler.execution import input_numbers, run_model


def outputs(program: weft.Program, inputs: list[list[object]], **options: object) -> list[object]:
    model = weft.compile(program, **options).model
    return list(run_model(model, input_numbers(program, inputs)).outputs)


def test_sum_and_modulo_is_right_for_every_count_of_ones() -> None:
    program = weft.program("parity-sum(ones=98)")
    inputs = [["s", *[1] * ones] for ones in range(99)]
    found = outputs(program, inputs, max_length=99)
    assert [row[-1] for row in found] == [ones % 2 for ones in range(99)]


def test_a_length_that_a_number_format_cannot_hold_is_refused_with_the_longest_that_it_can() -> (
    None
):
    with pytest.raises(weft.WeftError, match=r"Compile for at most|wider number format"):
        weft.compile(weft.program("parity-sum(ones=40)"), max_length=41, dtype="bfloat16")


class LooksLeft(weft.Program):
    """Marks what stands behind a one; the first position has no left neighbour."""

    tokens = [0, 1]
    bit = weft.var(2, token=lambda t: t)
    first = weft.var(2, position=lambda i: i == 0)
    left = weft.relative(bit, -1)
    behind = weft.var(2)
    output = behind
    layers, positions = 1, 8

    def step(z):
        if not z.first and z.left == 1:
            z.behind = 1


def test_a_head_that_selects_nothing_gives_nothing() -> None:
    program = LooksLeft()
    model = weft.compile(program).model
    seen = {}
    watch = lambda layer, stage, rows, stream: seen.setdefault(stage, stream)  # noqa: E731
    run_model(model, [[1, 1, 0, 1]], watch=watch)
    left = seen["attended"][0, :, model.layout["left"].dimensions]
    assert left.tolist() == [[0, 0], [0, 1], [0, 1], [1, 0]]


def test_heads_see_the_stream_as_it_stood_before_the_layer() -> None:
    with pytest.raises(weft.WeftError, match="output of another head"):

        class Chained(weft.Program):
            tokens = [0, 1]
            bit = weft.var(2, token=lambda t: t)
            one = weft.relative(bit, -1)
            two = weft.relative(one, -1)
            output = bit


class Overflows(weft.Program):
    """Adds one until it no longer fits."""

    tokens = [0, 1, 2]
    count = weft.var(3, token=lambda t: t)
    other = weft.var(2)
    output = count
    layers = 1

    def step(z):
        z.count = z.count + 1


def test_a_write_outside_the_range_is_an_error_and_never_reaches_a_neighbour() -> None:
    with pytest.raises(weft.StepError, match="outside its range"):
        weft.run(Overflows, [2])
    model = weft.compile(Overflows()).model
    stream = run_model(model, [[2]]).stream[0, 0]
    assert "other" not in model.layout  # nothing reads it
    assert stream[model.layout["count"].dimensions].sum() <= 1


def test_a_number_as_output_is_refused() -> None:
    with pytest.raises(weft.WeftError, match="must be categorical"):

        class Numeric(weft.Program):
            tokens = [0, 1]
            share = weft.number([0, 1], token=lambda t: t)
            output = share


def test_two_initialisers_are_refused() -> None:
    with pytest.raises(weft.WeftError, match="token and position"):

        class Both(weft.Program):
            tokens = [0, 1]
            bit = weft.var(2, token=lambda t: t, position=lambda i: 0)
            output = bit


def test_a_position_beyond_the_table_is_an_error_in_program_and_model() -> None:
    program = LooksLeft()
    with pytest.raises(weft.WeftError, match="9 tokens"):
        weft.run(program, [0] * 9)
    with pytest.raises(weft.WeftError, match="9 tokens"):
        weft.compile(program).model(torch.zeros(1, 9, dtype=torch.long))


def test_a_program_halts_in_weights_as_in_the_interpreter() -> None:
    program = weft.program("parity")
    texts = ["1", "10110", "111111111"]
    numbers = input_numbers(program, [program.encode(text) for text in texts])
    run = run_model(weft.compile(program).model, numbers)
    assert run.layers == list(weft.run_batch(program, texts).layers) == [1, 5, 9]


class Mean(weft.Program):
    """The share of ones among all, in twelfths: means that are not of the form 1/n."""

    tokens = [0, 1]
    one = weft.number([0, 1], token=lambda t: t)
    all = weft.var(1)
    share = weft.attend(all, all, one, output=weft.number([k / 12 for k in range(13)]))
    twelfths = weft.var(13)
    output = twelfths
    layers = 2

    def step(z):
        z.twelfths = round(12 * z.share)


def test_means_of_every_kind_are_read_as_the_interpreter_reads_them() -> None:
    program = Mean()
    inputs = [[1] * ones + [0] * (n - ones) for n in range(1, 13) for ones in range(n + 1)]
    assert outputs(program, inputs, max_length=12) == weft.run_batch(program, inputs).outputs


class SelectsSeveral(weft.Program):
    """A head that finds the one marked letter, read only where a single letter is marked."""

    tokens = ["a", "B", "C"]
    layers = 2
    letter = weft.var(3, token="aBC".index)
    marked = weft.var(2, token=lambda t: t != "a")
    one = weft.var(2, default=1)
    share = weft.number([0, 1], token=lambda t: t != "a")
    all = weft.var(1)
    found = weft.attend(one, marked, letter)
    mean = weft.attend(all, all, share, output=weft.number([k / 12 for k in range(13)]))
    copied = weft.var(3)
    output = copied

    def step(z):
        if z.mean == 0.25:  # one of four
            z.copied = z.found


def test_what_a_head_mixes_where_it_selects_several_is_never_used() -> None:
    program = SelectsSeveral()
    inputs = [list(text) for text in ("aaBa", "BCaa", "BBaa", "CaCa", "aaaC", "aaaa", "BCBC")]
    expected = weft.run_batch(program, inputs).outputs
    assert expected[0] == (1, 1, 1, 1)
    assert expected[1] == (0, 0, 0, 0)
    for level in (0, 2):
        assert outputs(program, inputs, max_length=4, level=level) == expected


def test_reading_a_head_that_selected_several_is_an_error() -> None:
    class Reads(SelectsSeveral):
        def step(z):
            z.copied = z.found

    with pytest.raises(weft.StepError, match="2 positions were selected, not one"):
        weft.run(Reads, "BCaa")
