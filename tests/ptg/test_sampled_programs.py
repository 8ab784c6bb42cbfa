"""What the sampler draws means the same to CPython: programs, inputs, traces and final states."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import Any

import pytest
from oracles import execute, line_events, walk

from weft.ptg.interpreter import run
from weft.ptg.parser import parse
from weft.ptg.source import source_of
from weft.ptg.tracing import document
from weft.tasks import task
from weft.tasks.program_traces import ProgramTraces

RICH = {
    "depth": 2,
    "else_blocks": True,
    "data_loops": True,
    "addend": 9,
    "multiplication": True,
    "variable_index": True,
    "comments": True,
}
VARIANTS: list[dict[str, Any]] = [
    {},
    {"random_labels": True},
    {"step_index": True},
    {"reversed_digits": True},
    {"answer": True},
    {"level": "characters"},
    RICH,
]


def parts(text: str) -> tuple[str, dict[str, Any], list[str]]:
    """The source, the inputs and the lines of the trace, read from the text of a document alone."""
    document_, trace = text.removeprefix("<start>").split("<trace>")
    *rows, call, rest = document_.split("\n")
    assert rest == ""
    source = "".join(f"{re.sub('^L[0-9]+ ', '', row)}\n" for row in rows)
    expression = ast.parse(call, mode="eval").body
    assert isinstance(expression, ast.Call)
    inputs = {str(word.arg): ast.literal_eval(word.value) for word in expression.keywords}
    assert trace.endswith("\n")
    return source, inputs, trace.splitlines()


def check(made: ProgramTraces, row: list[int], events: bool) -> None:
    """Compare a row with CPython, and with our own interpreter and writer of documents."""
    source, inputs, trace = parts(made.decode([token for token in row if token]))
    form = replace(made.form, first_label=made.first_label(row))
    program = parse(source, made.language)
    assert source_of(program) == source
    own = run(program, inputs)
    written = document(program, inputs, own, form)
    assert written.target.splitlines() == trace
    if made.form.answer:
        final = execute(source, inputs).final
        assert dict(line.split(":") for line in trace) == {
            name: repr(value).replace(" ", "") for name, value in final.items()
        }
        return
    expected = walk(source, inputs, 5000)
    assert not expected.error
    assert expected.final == execute(source, inputs).final
    assert relabelled(expected.trace, form.first_label, form.step_index) == trace
    if events:
        assert line_events(source, inputs) == expected.trace


def relabelled(trace: list[str], first: int, index: bool) -> list[str]:
    """The lines of a trace with other labels and, perhaps, step numbers."""
    result = []
    for number, line in enumerate(trace, 1):
        label, rest = line.split(",", 1)
        line = f"L{int(label[1:]) - 1 + first},{rest}"
        result.append(f"{number} {line}" if index else line)
    return result


def check_split(made: ProgramTraces, split: str, size: int) -> int:
    batch = made.test_set(split, size)
    for number, row in enumerate(batch.tokens):
        check(made, row.tolist(), events=number % 4 == 0)
    return len(batch.tokens)


def make(**parameters: Any) -> ProgramTraces:
    made = task("program-traces", **parameters)
    assert isinstance(made, ProgramTraces)
    return made


def test_test_sets_have_the_traces_of_cpython() -> None:
    made = make()
    counts = {split: check_split(made, split, 25) for split in made.splits}
    assert sum(counts.values()) == 25 * len(made.splits) >= 200


@pytest.mark.parametrize("options", VARIANTS[1:], ids=lambda options: next(iter(options)))
def test_formats_and_richer_languages_have_the_traces_of_cpython(options: dict[str, Any]) -> None:
    if options.get("reversed_digits"):
        check_reversed(make(**options), 30)
    else:
        assert check_split(make(**options), "train", 30) == 30


def check_reversed(made: ProgramTraces, size: int) -> None:
    """With its digits turned around, a document is one of the plain format."""
    batch = made.test_set("train", size)
    for row in batch.tokens:
        text = made.decode([token for token in row.tolist() if token])
        check_text(turn(text))


def turn(text: str) -> str:
    """Every number but line labels and the 2 of `cnt_2` with its digits turned around."""
    return re.sub(r"(?<![L\w])\d+", lambda found: found[0][::-1], text)


def check_text(text: str) -> None:
    source, inputs, trace = parts(text)
    assert walk(source, inputs, 5000).trace == trace


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"tier": "paper"}, RICH], ids=["small", "paper", "rich"])
def test_thousands_of_samples_have_the_traces_of_cpython(options: dict[str, Any]) -> None:
    made = make(**options)
    for split in made.splits:
        check_split(made, split, 1000)
