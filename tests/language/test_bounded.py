"""Steps that never end or never succeed: an error with the line in both interpreters, and soon."""

from __future__ import annotations

import copy
import copyreg
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

import weft
from random_programs import make
from small_programs import assert_means_the_same, small, within
from weft.interpreter import reference
from weft.interpreter.batched import run_batch
from weft.language.bounded import (
    ROUNDS,
    EndlessLoop,
    call_bounded,
    check_can_end,
    reachable,
    reaches_loop,
)
from weft.language.frontend import AlwaysFails

HELPERS = """
import itertools


def forever(v):
    while True:
        pass


def long(v):
    n = 0
    while n < 10**12:
        n += 1
    return 0


def swallowing(v):
    try:
        forever(v)
    except BaseException:
        return 1


def ones():
    while True:
        yield 1


def counting():
    return sum(itertools.count())


@functools.lru_cache(maxsize=None)
def cached(v):
    return forever(v)


class Ever:
    def __getitem__(self, place):
        return 0
"""
ENDLESS = {
    "while true": "while True:\n    pass",
    "while true, one line": "while True: pass",
    "writing": "while True:\n    z.b = 1",
    "a helper": "z.b = forever(z.a)",
    "a helper with the state": "forever(z)",
    "a helper that would take very long": "z.b = long(z.a)",
    "a helper that catches everything": "z.b = swallowing(z.a)",
    "a cached helper": "z.b = cached(z.a)",
    "helpers in a list": "z.b = [forever, long][z.c](z.a)",
    "a partial helper": "z.b = functools.partial(forever)(z.a)",
    "a key": "z.b = max(1, 2, key=forever)",
    "a class": "for i in Ever():\n    pass",
    "a generator in a builtin": "z.b = sum(ones())",
    "a generator in a loop": "for i in ones():\n    pass",
    "a generator of a generator": "z.b = max(i for i in ones())",
    "a long range": "for i in range(10**12):\n    pass",
    "handlers": "while True:\n    try:\n        pass\n    except Exception:\n        pass",
    "a comprehension": "z.b = [i for i in range(10**12)][0]",
    "a handler of everything outside": (
        "try:\n    while True:\n        pass\nexcept BaseException:\n    z.b = 1"
    ),
}


def errors(step: str, helpers: str = HELPERS) -> list[weft.WeftError]:
    """What both interpreters, compiler and rules say of a step."""
    found = []
    for action in (
        lambda p: reference.run(p, [0, 1]),
        lambda p: run_batch(p, [[0, 1]]),
        lambda p: p.rules,
    ):
        with pytest.raises(weft.WeftError) as caught:
            action(small(step, helpers))
        found.append(caught.value)
    return found


@pytest.mark.parametrize("name", ENDLESS)
def test_a_loop_that_never_ends_is_an_error_with_its_line(name: str) -> None:
    with within(60):
        one, other, rules = errors(ENDLESS[name])
    for error in (one, other):
        assert isinstance(error, weft.StepError)
        assert f"a loop does not end within {ROUNDS:,} rounds" in error.what
        assert error.where is not None
    assert one.where.line == other.where.line  # type: ignore[union-attr]
    assert isinstance(rules, AlwaysFails)


def test_a_loop_that_never_ends_in_some_states_is_an_error_in_those() -> None:
    program = small("if z.a == 2:\n    while True:\n        pass\nz.b = 1")
    assert run_batch(program, [[0, 1]]).outputs == [reference.run(program, [0, 1]).outputs]
    for runner in (lambda: reference.run(program, [0, 2]), lambda: run_batch(program, [[0, 2]])):
        with pytest.raises(weft.StepError, match="a loop does not end") as caught:
            runner()
        assert (caught.value.layer, caught.value.position) == (1, 1)


MANY = """\
import weft


class Many(weft.Program):
    tokens = 100
    a = weft.var(100, token=lambda t: t)
    b = weft.var(100)
    output = a
    layers = 1

    def step(z):
        while z.a != z.b + 1:
            pass
        z.b = 0
"""


@pytest.mark.slow
def test_a_loop_that_never_ends_in_very_many_states_is_given_up_with_its_line() -> None:
    with within(120), pytest.raises(weft.WeftError, match="a loop does not end") as caught:
        make(MANY, "Many")().updates  # noqa: B018
    assert caught.value.where is not None
    assert caught.value.where.line == 12


REFUSED = {
    "an endless iterator in a builtin": "z.b = sum(itertools.count())",
    "in a helper": "z.b = counting()",
    "repeated for ever": "z.b = max(itertools.repeat(1))",
    "a cycle": "for i in itertools.cycle((0, 1)):\n    pass",
    "by another name": "c = itertools.count\nz.b = next(c())",
    "until something that never comes": "z.b = list(iter(int, 1))[0]",
    "a handler of everything in a loop": (
        "while True:\n    try:\n        forever(z.a)\n    except BaseException:\n        pass"
    ),
    "a bare handler in a loop": (
        "while z.a:\n    try:\n        forever(1)\n    except:\n        pass"
    ),
    "a jump out of finally": (
        "while True:\n    try:\n        forever(1)\n    finally:\n        continue"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_loop_that_could_not_be_ended_is_refused_before_it_runs(name: str) -> None:
    with within(10):
        for error in errors(REFUSED[name]):
            assert not isinstance(error, weft.StepError)
            assert error.subject == "Small.step"
            assert error.where is not None
            assert error.remedy


def test_iterators_with_an_end_are_fine() -> None:
    program = small("n = 0\nfor i in itertools.repeat(1, 3):\n    n += i\nz.b = n - 1", HELPERS)
    assert_means_the_same(program)


def test_loops_of_many_rounds_that_end_mean_the_same() -> None:
    """Rounds are counted anew where a loop is entered again."""
    for rounds in (ROUNDS, ROUNDS + 2):
        for loop in (f"while n < {rounds}:\n        n += 1", f"while n < {rounds}: n += 1"):
            program = small(f"for _ in (1, 2):\n    n = z.c * 0\n    {loop}\nz.b = 1")
            ends = rounds <= ROUNDS
            assert _ends(lambda p: reference.run(p, [0], layers=1), program) is ends
            assert _ends(lambda p: run_batch(p, [[0]], layers=1), program) is ends


def _ends(runner: Callable[[weft.Program], Any], program: weft.Program) -> bool:
    try:
        runner(program)
    except weft.WeftError as error:
        return "does not end" not in error.what
    return True


FAILING = {
    "raise": ("raise ValueError('no')", r"`raise ValueError\('no'\)` is reached"),
    "assert": ("assert False", "AssertionError"),
    "division": ("z.b = 1 // 0", "ZeroDivisionError: integer division or modulo by zero"),
    "range": ("z.b = 7", "'b' is written outside its range: 7 is not in 0..2"),
    "range by the state": ("z.a = 3 + z.a", "'a' is written outside its range"),
    "name": ("z.b = nowhere", "NameError|nowhere"),
    "kind": ("z.b = None", "None is not a whole number"),
    "either side": ("if z.a:\n    raise ValueError\nz.b = 8", "'b' is written|`raise"),
    "all values": ("if z.a < 5:\n    raise ValueError", "`raise"),
    "recursion": ("z.b = again(z.a)", "RecursionError"),
    "exit": ("raise SystemExit", "`raise"),
    "head": ("z.b = z.left + 5", "'b' is written outside its range"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_step_that_never_succeeds_is_an_error_with_its_line(name: str) -> None:
    step, why = FAILING[name]
    one, other, rules = errors(step, "def again(n):\n    return again(n + 1)")
    assert isinstance(one, weft.StepError)
    assert isinstance(other, weft.StepError)
    assert one.where is not None
    assert rules.what.startswith("the step fails in every state: ")
    assert isinstance(rules, AlwaysFails)
    assert rules.where is not None
    assert re.search(why, rules.what), rules.what


def test_a_step_that_succeeds_in_one_state_of_many_is_not_refused() -> None:
    source = MANY.replace("while z.a != z.b + 1:\n            pass", "assert z.a == 99 == z.b")
    program = make(source, "Many")()
    assert program.updates.apply({"a": 99, "b": 99}) == {"a": 99, "b": 0}


def test_programs_that_never_come_to_a_layer_run() -> None:
    program = small("raise ValueError")
    assert run_batch(program, [[0, 1]], layers=0)[0].outputs == (0, 1)


def test_code_without_loops_is_not_traced() -> None:
    def plain(v: int) -> int:
        return v + 1

    def looping(v: int) -> int:
        for _ in range(v):
            v += plain(0)
        return v

    assert not reaches_loop(plain)
    assert reaches_loop(looping)
    assert not weft.program("addition")._step_has_loop


def test_tracing_ends_with_the_call_and_leaves_other_tracers_alone() -> None:
    def endless() -> None:
        while True:
            pass

    with pytest.raises(EndlessLoop):
        call_bounded(endless)
    assert sys.gettrace() is None
    seen = []

    def tracer(frame: Any, event: str, argument: Any) -> None:
        seen.append(event)

    sys.settrace(tracer)
    try:
        call_bounded(lambda: None)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)
    assert seen


def swallows(value: object) -> object:
    """Something that another package registers, with a loop that catches everything."""
    while True:
        try:
            return repr(value)
        except BaseException:
            continue


def test_what_other_packages_register_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """`copy.copy` looks functions up in a table that any package may add to."""
    monkeypatch.setitem(copyreg.dispatch_table, complex, swallows)

    def step(z):
        z.a = copy.copy(z.a)

    assert swallows not in reachable([step])
    check_can_end("Copies", step)
