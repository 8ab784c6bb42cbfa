"""Runs as JSON: what is written is plain, documented and read back as the same run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

import weft
from cases import CASES, Case
from random_programs import batches, few, programs
from weft.interpreter.trace import Run, run_from_json


def round_trip(run: Run) -> Run:
    return run_from_json(run.program, json.loads(json.dumps(run.to_json(), allow_nan=False)))


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("trace", [False, True])
def test_a_run_is_read_back_as_it_was(case: Case, trace: bool) -> None:
    program = case.program()
    for text in case.inputs[:6]:
        run = weft.run(program, text, trace=trace)
        again = round_trip(run)
        assert repr(again) == repr(run)
        assert (again, again.result, again.outputs) == (run, run.result, run.outputs)
        if run.trace is not None and again.trace is not None:
            assert [x.fired for x in again.trace.layers] == [x.fired for x in run.trace.layers]


@settings(few, max_examples=15)
@given(programs(), batches())
def test_runs_of_random_programs_are_read_back(program: Any, inputs: list[list[int]]) -> None:
    try:
        runs = [weft.run(program, tokens, layers=2, trace=True) for tokens in inputs]
    except weft.WeftError:
        return
    for run in runs:
        assert repr(round_trip(run)) == repr(run)


def test_the_json_says_what_the_trace_says() -> None:
    values = weft.run(weft.program("parity"), "10", trace=True).to_json()
    assert values["version"] == 1
    assert values["input"] == ["s", "1", "0"]
    assert (values["outputs"], values["result"], values["layers"]) == ([0, 1, 1], 1, 2)
    assert values["trace"]["halted"] == [0, 1, 2]
    layer = values["trace"]["layers"][0]
    assert layer["attended"]["done_left"] == [None, 1, 0]
    assert layer["after"]["done"] == [1, 1, 0]
    assert layer["selected"]["done_left"] == [[], [0], [1]]
    assert layer["fired"] == [[], ["done_left = 1 => done: 0 -> 1"], []]


def changed(**values: Any) -> dict[str, Any]:
    return {**weft.run(weft.program("parity"), "10", trace=True).to_json(), **values}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "not an object"),
        ({"version": 1}, "has no 'program'"),
        (changed(version=2), "version 2; this Weft reads 1"),
        (changed(program="Addition"), "the run is of Addition"),
        (changed(input=["s", "1", "7"]), "cannot be read: KeyError: '7'"),
        (changed(stream={"parity": [0]}), "cannot be read: KeyError: 'done'"),
        (changed(trace={"start": 3}), "cannot be read: TypeError"),
        (
            changed(stream={name: [9] for name in weft.program("parity").variables}),
            "9 is not a value",
        ),
    ],
)
def test_what_is_not_a_run_of_the_program_is_refused(values: Any, message: str) -> None:
    with pytest.raises(weft.WeftError, match=message):
        run_from_json(weft.program("parity"), values)
