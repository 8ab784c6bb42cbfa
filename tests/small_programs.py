"""A small program around a given step, and the comparison of its derivation with Python.

Everything is compared over all states, undefined heads included: `reference.step` executes the step
as the Python that it is, `updates` and `rules` are what the front end made of it.
"""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import weft
from random_programs import all_states, make
from weft.interpreter import reference
from weft.interpreter.batched import run_batch
from weft.language.expressions import Apply, walk

FRAME = """\
import functools

import weft

{helpers}


class Small(weft.Program):
    tokens = 3
    a = weft.var(3, token=lambda t: t)
    b = weft.var(3)
    c = weft.var(2)
    x = weft.number([0, 0.5, 1])
    s = weft.subset(3, [set(), {{0}}, {{1, 2}}])
    left = weft.relative(a, -1)
    output = a
    layers = 2

    def step(z):
{step}
"""


def small(step: str, helpers: str = "") -> weft.Program:
    """The program with this step: `a`, `b` of 3 values, `c` of 2, a number, a set and a head."""
    body = textwrap.indent(textwrap.dedent(step).strip("\n"), " " * 8)
    source = FRAME.format(helpers=textwrap.dedent(helpers), step=body)
    return make(source, "Small")()  # type: ignore[no-any-return]


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail, rather than hang, if something takes longer in processor time."""

    def stop(*_: Any) -> None:
        raise TooSlow(f"not done within {seconds} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class TooSlow(BaseException):
    """Not an `Exception`: code under test must not take it for a failing step."""


def executed(program: weft.Program, state: dict[str, Any]) -> dict[str, Any] | str:
    """The state after the step, executed as Python; "fails" where it does."""
    try:
        return reference.step(program, state)
    except reference.StepFailure:
        return "fails"


def updated(program: weft.Program, state: dict[str, Any]) -> dict[str, Any] | str:
    """The state after the derived updates; "fails" where they cannot be applied."""
    try:
        return program.updates.apply(state)
    except Exception:
        return "fails"


def assert_means_the_same(program: weft.Program) -> None:
    """Step, updates and rules agree in every state, and both interpreters on short inputs."""
    for state in all_states(program):
        after = executed(program, state)
        assert updated(program, state) == after, state
        if after != "fails":
            assert program.rules.apply(state) == after, state
    for given in ([0], [1, 2], [2, 0], [1, 1]):
        assert _result(run_batch, program, [given]) == _result(_one_by_one, program, [given])


def _one_by_one(program: weft.Program, inputs: list[list[int]]) -> list[weft.Run]:
    return [reference.run(program, given, index=i) for i, given in enumerate(inputs)]


def _result(runner: Any, program: weft.Program, inputs: list[list[int]]) -> Any:
    try:
        return [run.stream for run in runner(program, inputs)]
    except Exception as error:
        return str(error)


def is_tabulated(program: weft.Program) -> bool:
    """Whether some piece of the step was executed as it stands instead of being followed."""
    updates = program.updates
    roots = [*updates.values.values(), *(effect.node for effect in updates.effects)]
    return any(isinstance(node, Apply) and node.lazy for node in walk(*roots))
