"""Every case of the table, in both interpreters."""

from __future__ import annotations

import pytest

import weft
from cases import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_reference_interpreter_gives_the_right_answers(case: Case) -> None:
    program = case.program()
    for text in case.inputs:
        assert weft.run(program, text).result == case.expected(text), text


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_batched_interpreter_gives_the_right_answers(case: Case) -> None:
    results = weft.run_batch(case.program(), case.inputs).results
    assert results == [case.expected(text) for text in case.inputs]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_both_interpreters_record_the_same_traces(case: Case) -> None:
    program = case.program()
    inputs = case.inputs[:12]
    batch = weft.run_batch(program, inputs, trace=True)
    for text, run in zip(inputs, batch, strict=True):
        alone = weft.run(program, text, trace=True)
        assert run == alone
        assert run.trace is not None
        assert alone.trace is not None
        fired = [layer.fired for layer in alone.trace.layers]
        assert [layer.fired for layer in run.trace.layers] == fired


@pytest.mark.parametrize("case", CASES, ids=str)
def test_derived_rules_and_updates_do_what_the_step_does(case: Case) -> None:
    program = case.program()
    run = weft.run(program, case.inputs[-1], trace=True)
    assert run.trace is not None
    for layer in run.trace.layers:
        for position in range(layer.attended.positions):
            state = layer.attended.at(position)
            if any(isinstance(value, float) for value in state.values()):
                continue  # numbers between buckets: rules speak of buckets
            after = layer.after.at(position)
            kept = {name: after[name] for name in after if name not in program.heads}
            for found in (program.updates.apply(state), program.rules.apply(state)):
                assert {name: found[name] for name in kept} == kept
