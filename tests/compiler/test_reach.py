"""Only values that can occur are compiled: on any input, or on the inputs that are given."""

from __future__ import annotations

import weft
from weft.compiler.execution import input_numbers, run_model


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
