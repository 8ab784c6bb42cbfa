"""`weft check`: which inputs it draws, and what it says of failures and differences."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import weft
from weft.compiler.check import check, compare_interpreters
from weft.interpreter.batched.plan import StepPlan
from weft.interpreter.failures import InterpretersDisagree
from weft.interpreter.inputs import inputs_by_length
from weft.programs import LIBRARY


class Overflows(weft.Program):
    """Adds one, which fits from 0 alone."""

    tokens = 2
    x = weft.var(2, token=lambda t: t)
    output = x
    layers = 1

    def step(z):
        z.x = z.x + 1


class Never(weft.Program):
    """Does not halt."""

    tokens = 2
    x = weft.var(2, token=lambda t: t)
    done = weft.var(2)
    output = x
    halt = done == 1
    max_layers = 30

    def step(z):
        z.x = 1 - z.x


class Sometimes(Never):
    """Halts only where every token is a one."""

    done = weft.var(2, token=lambda t: t)
    halt = done == 1


class LongSamples(weft.Program):
    """Its samples have more tokens than asked for."""

    tokens = 2
    x = weft.var(2, token=lambda t: t)
    output = x
    layers = 1

    def step(z):
        z.x = 1 - z.x

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        return [rng.randrange(2) for _ in range(length + rng.randrange(4, 9))]


@pytest.mark.parametrize("name", LIBRARY)
@pytest.mark.parametrize("longest", [15, 20])
def test_samples_never_exceed_the_longest_input(name: str, longest: int) -> None:
    program = weft.program(name)
    if program.definition.positions is not None:
        longest = min(longest, program.definition.positions)
    if name == "subleq":
        longest = 60
    inputs, failures = inputs_by_length(program, 20, longest, seed=1, layers=None)
    assert not failures
    assert inputs
    assert max(map(len, inputs)) <= longest


def test_samples_that_are_longer_than_asked_are_drawn_again() -> None:
    inputs, failures = inputs_by_length(LongSamples(), 50, 12, seed=0, layers=None)
    assert len(inputs) == 50
    assert not failures
    assert max(map(len, inputs)) <= 12
    with pytest.raises(weft.WeftError, match="no input of at most 4 tokens"):
        inputs_by_length(LongSamples(), 50, 4, seed=0, layers=None)


def test_a_model_is_checked_up_to_the_length_that_it_was_compiled_for() -> None:
    compiled = weft.compile(weft.program("parity-sum"), max_length=6)
    report = check(compiled, samples=20, max_length=20)
    assert (report.inputs, report.difference) == (20, None)


def test_failures_of_the_program_are_counted_and_the_shortest_is_shown() -> None:
    report = check(weft.compile(Overflows()), samples=60, max_length=6)
    assert report.difference is None
    assert report.inputs + len(report.failures) == report.tried == 60
    assert report.failures[0].tokens == (1,)
    assert "input '1', layer 1, position 0: 'x' is written outside" in report.failures[0].reason
    assert not report.never_halts


def test_a_program_that_never_halts_is_said_to() -> None:
    report = check(weft.compile(Never()), samples=100, max_length=6)
    assert report.never_halts
    assert report.inputs == 0
    assert report.tried < 100, "it is given up soon"
    assert "it has not halted after 30 layers" in report.failures[0].reason
    assert check(weft.compile(Never()), samples=10, max_length=6, layers=3).inputs == 10


def test_inputs_that_do_not_halt_are_failures_among_those_that_do() -> None:
    report = check(weft.compile(Sometimes()), samples=40, max_length=3)
    assert report.inputs
    assert report.failures
    assert not report.never_halts
    assert all("has not halted" in failure.reason for failure in report.failures)
    assert all(0 in failure.tokens for failure in report.failures)


@pytest.fixture
def broken_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batched interpreter that makes a mistake from the third position on."""
    right = StepPlan.run

    def wrong(self: StepPlan, columns: Any) -> Any:
        new, failed = right(self, columns)
        new["x"] = np.where(np.arange(len(columns["x"])) >= 2, 0, new["x"])
        return new, failed

    monkeypatch.setattr(StepPlan, "run", wrong)


@pytest.mark.usefixtures("broken_batches")
def test_interpreters_that_disagree_are_a_report_with_the_smallest_input() -> None:
    program = LongSamples()
    assert compare_interpreters(program, [0, 0]) is None
    compiled = weft.compile(program)
    report = check(compiled, samples=60, max_length=14)
    difference = report.difference
    assert difference is not None
    assert difference.source == "batched interpreter"
    assert (difference.layer, difference.variable) == (1, "x")
    assert (difference.expected, difference.found) == (1, 0)
    assert difference.position >= 2
    shorter = [
        t for t in inputs_by_length(program, 60, 14, 0, None)[0] if len(t) < len(difference.tokens)
    ]
    assert all(compare_interpreters(program, tokens) is None for tokens in shorter)


def test_an_error_of_one_interpreter_alone_is_a_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = StepPlan.run

    def failing(self: StepPlan, columns: Any) -> Any:
        return right(self, columns)[0], columns["x"] == 1

    monkeypatch.setattr(StepPlan, "run", failing)
    with pytest.raises(InterpretersDisagree, match="the reference interpreter does not"):
        weft.run_batch(LongSamples, [[1]])
    difference = compare_interpreters(LongSamples(), [1])
    assert difference is not None
    assert difference.variable == "the error"
    assert difference.expected == "no error"
