"""The batched interpreter gives what the reference interpreter gives, bit for bit, errors included.

The oracle is `reference.run` on one input after the other: streams, layers, traces, fired rules,
and the text of the error of the first input that fails.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import weft
from random_programs import batches, few, many, programs
from small_programs import within
from weft.interpreter import reference
from weft.interpreter.batched import run_batch
from weft.language.tables import LIMIT

Outcome = list[weft.Run] | str


def one_by_one(program: weft.Program, inputs: list[list[int]], **given: Any) -> Outcome:
    """What the reference makes of the inputs; the text of the first error where there is one."""
    try:
        return [reference.run(program, x, index=i, **given) for i, x in enumerate(inputs)]
    except weft.WeftError as error:
        return text(error)


def text(error: weft.WeftError) -> str:
    """The whole message; without columns where CPython 3.11 itself is not sure of them.

    Once a step is warm, `LOAD_CONST` and `LOAD_FAST` become one instruction, and an unbound local
    is reported at the column of the first of the two: the same error differs from run to run.
    """
    return error.line if "UnboundLocalError" in error.line else str(error)


def together(program: weft.Program, inputs: list[list[int]], **given: Any) -> Outcome:
    """What the batched interpreter makes of them."""
    try:
        return list(run_batch(program, inputs, **given))
    except weft.WeftError as error:
        assume(f"more than {LIMIT:,}" not in str(error))
        return text(error)


@within(5)
def check_agreement(program: weft.Program, inputs: list[list[int]], **given: Any) -> None:
    expected, found = one_by_one(program, inputs, **given), together(program, inputs, **given)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert [run.outputs for run in found] == [run.outputs for run in expected]
    assert [repr(run.stream) for run in found] == [repr(run.stream) for run in expected]
    assert [run.layers for run in found] == [run.layers for run in expected]
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.tokens == theirs.tokens
        assert mine.trace == theirs.trace
        assert repr(mine.trace) == repr(theirs.trace)
        if mine.trace is not None and theirs.trace is not None:
            pairs = zip(mine.trace.layers, theirs.trace.layers, strict=True)
            assert all(one.fired == other.fired for one, other in pairs)


def limits(program: weft.Program, data: Any) -> dict[str, int]:
    """How long to run: until it halts, in few layers, or a number of layers."""
    if program.definition.halt is not None and data.draw(st.booleans()):
        return {"max_layers": data.draw(st.integers(0, 5))}
    return {"layers": data.draw(st.integers(0, 4))}


@settings(few, max_examples=25)
@given(programs(), batches(), st.data())
def test_batches_end_as_the_reference_does(
    program: weft.Program, inputs: list[list[int]], data: Any
) -> None:
    check_agreement(program, inputs, **limits(program, data))


@few
@given(programs(), batches(), st.data())
def test_batched_traces_are_those_of_the_reference(
    program: weft.Program, inputs: list[list[int]], data: Any
) -> None:
    check_agreement(program, inputs, trace=True, **limits(program, data))


@pytest.mark.slow
@many
@given(programs(), batches(), st.booleans(), st.data())
def test_many_batches_end_as_the_reference_does(
    program: weft.Program, inputs: list[list[int]], trace: bool, data: Any
) -> None:
    check_agreement(program, inputs, trace=trace, **limits(program, data))


@settings(few, max_examples=25)
@given(programs(), st.data())
def test_the_answer_for_an_input_does_not_depend_on_its_batch(
    program: weft.Program, data: Any
) -> None:
    inputs = data.draw(batches())
    given = limits(program, data)
    whole = together(program, inputs, **given)
    if isinstance(whole, str):
        return
    for run, tokens in zip(whole, inputs, strict=True):
        (alone,) = run_batch(program, [tokens], **given)
        assert alone.stream == run.stream
        assert alone.layers == run.layers
