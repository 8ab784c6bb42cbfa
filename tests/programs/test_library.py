"""Every library program does its task: in both interpreters, and in weights of both levels."""

from __future__ import annotations

from typing import Any

import pytest

import weft
from weft.compiler.check import check
from weft.interpreter.inputs import inputs_by_length
from weft.programs import LIBRARY, Entry

entries = pytest.mark.parametrize("entry", LIBRARY.values(), ids=LIBRARY)


def samples(entry: Entry, count: int) -> tuple[weft.Program, list[Any]]:
    """The program, its example and inputs on which it does not fail, the short ones first."""
    program = entry.load()()
    drawn, _ = inputs_by_length(program, count, entry.longest, seed=3, layers=None)
    return program, [program.encode(entry.example), *drawn]


@entries
def test_it_says_what_it_does(entry: Entry) -> None:
    program = entry.load()()
    assert len(entry.summary) > 20
    assert entry.summary.endswith((".", ":"))
    assert program.has_task


@entries
def test_both_interpreters_do_its_task(entry: Entry) -> None:
    program, inputs = samples(entry, 40)
    expected = [program.task(tokens) for tokens in inputs]
    assert weft.run_batch(program, inputs).results == expected
    assert [weft.run(program, tokens).result for tokens in inputs[:4]] == expected[:4]
    assert len({repr(result) for result in expected}) > 1, "samples with one answer show nothing"


LARGE = ("scan", "addition", "trace-machine")
"""Level 0 is slow for these; others stand for them otherwise."""


@pytest.mark.parametrize(
    ("entry", "level"),
    [
        pytest.param(
            entry,
            level,
            id=f"{entry.name}-{level}",
            marks=[pytest.mark.slow] if level == 0 and entry.name in LARGE else [],
        )
        for entry in LIBRARY.values()
        for level in (0, 2)
    ],
)
def test_its_weights_agree_on_every_variable_at_every_layer(entry: Entry, level: int) -> None:
    compiled = weft.compile(entry.load()(), level=level)
    samples = 4 if entry.name == "scan" else 12
    assert check(compiled, samples=samples, max_length=entry.longest).difference is None
