"""What a step may take and do with its state: attempts to get at the object behind it, refused."""

from __future__ import annotations

import pytest

import weft
from random_programs import make
from small_programs import assert_means_the_same, small
from weft.interpreter import reference
from weft.interpreter.batched import run_batch

SIGNATURES = [
    "z, *, n=1", "z, *args", "z, **given", "*z", "z=None", "self, z=None", "self, z, *, n=1",
    "z, /", "z, y", "*, z", "", "self, z, n", "program, z",
]  # fmt: skip

STEP = """\
import functools

import weft


class Small(weft.Program):
    tokens = 3
    a = weft.var(3, token=lambda t: t)
    output = a
    layers = 1

    {prefix}def step({signature}):
        {body}
"""


@pytest.mark.parametrize("signature", SIGNATURES)
def test_a_step_with_another_signature_is_refused(signature: str) -> None:
    with pytest.raises(weft.WeftError, match=r"step\(z\), or def step\(self, z\)") as caught:
        make(STEP.format(prefix="", signature=signature, body="pass"), "Small")
    assert caught.value.where is not None
    assert caught.value.where.line == 12


@pytest.mark.parametrize(("prefix", "body"), [("async ", "pass"), ("", "yield"), ("", "yield z")])
def test_a_step_that_a_call_does_not_execute_is_refused(prefix: str, body: str) -> None:
    with pytest.raises(weft.WeftError, match="generator or asynchronous") as caught:
        make(STEP.format(prefix=prefix, signature="z", body=body), "Small")
    assert caught.value.where is not None


def test_a_lambda_around_a_step_is_not_taken_for_the_step() -> None:
    source = STEP.format(prefix="", signature="z", body="z.a = 1")
    source = source.replace("    def step", "    @(lambda f: (lambda z: None))\n    def step")
    program = make(source, "Small")()
    assert reference.run(program, [2]).outputs == (2,)
    with pytest.raises(weft.WeftError, match="its source cannot be read"):
        run_batch(program, [[2]])


HELPERS = """
import copy
import operator

KEPT = []


class Thing:
    pass


def same(state):
    return state


def named(state):
    return str(state)


def keeps(state):
    KEPT.append(state)
    return 1


def listed(state):
    return [state]


def items(state):
    yield state.a


@functools.lru_cache(maxsize=None)
def cached(state):
    return state.a


def many(first, *rest, **named):
    return len(rest) + len(named)


def deeper(state):
    return named(state)
"""

ESCAPES = [
    *(f"t = {name}(z)" for name in (
        "str", "repr", "id", "hash", "bool", "type", "vars", "dir", "len", "list", "print",
        "callable", "Thing", "copy.copy", "same", "named", "keeps", "listed", "cached", "deeper",
    )),
    "t = f'{z}'", "t = f'{z!r}'", "t = '%s' % z", "t = '{}'.format(z)", "t = not z",
    "t = z is None", "t = z == z", "t = z in (1, 2)", "t = z and 1", "t = 1 if z else 0",
    "t = getattr(z, 'a')", "t = hasattr(z, 'a')", "t = isinstance(z, int)", "setattr(z, 'a', 1)",
    "t = (z,)[0].a", "t = [z][0].a", "t = {1: z}[1].a", "t = {z}", "t = [y.a for y in (z,)]",
    "t = sum([z.a for z in [z]])", "t = list(map(str, [z]))", "t = max(items(z))",
    "t = (lambda: z)().a", "t = (lambda s: s)(z).a", "t = max(z.a, z.b, key=lambda v: id(z))",
    "def f():\n    return z\nf().b = 1", "def f(s=z):\n    return str(s)\nt = f()",
    "f = lambda s: str(s)\nt = f(z)", "f = id\nt = f(z)", "for f in (id, hash):\n    t = f(z)",
    "q = z\nt = str(q)", "q = r = z\nt = id(r)", "t = id(q := z)", "q, r = z, 1", "q = (z, 1)",
    "KEPT.append(z)", "KEPT[:] = [z]", "KEPT[0] = z", "Thing.state = z", "global G\nG = z",
    "z.b = z", "return z", "for q in (z,):\n    q.b = 1", "for q in z:\n    pass", "z", "del z",
    "match z:\n    case _:\n        z.b = 1", "with z:\n    pass", "assert z", "raise z",
    "while z.a:\n    t = str(z)\n    z.a -= 1", "z.b = 1 if z.a else id(z) % 3",
    "try:\n    z.b = len(str(z)) % 3\nexcept Exception:\n    z.b = 2", "t = z()", "t = KEPT[z]",
    "t = dict(**z)", "t = (lambda *s: len(s))(z)", "t = (lambda **s: len(s))(s=z)",
    "def f(a, *s):\n    return len(s)\nt = f(1, z)", "t = many(1, z)", "t = many(1, z=z)",
    "t = z + 1", "t = -z", "t = z.a if z else 0",
]  # fmt: skip


@pytest.mark.parametrize("step", ESCAPES)
def test_a_state_that_escapes_is_refused_when_the_class_is_made(step: str) -> None:
    with pytest.raises(weft.WeftError, match="the state escapes") as caught:
        small(step, HELPERS)
    assert caught.value.subject == "Small.step"
    assert caught.value.where is not None
    assert caught.value.remedy


HIDDEN = [
    "t = operator.methodcaller('__str__')(z)",
    "t = {0: str}[0](z)",
    "t = (str, repr)[z.c](z)",
    "f = {0: hash}[0]\ntry:\n    t = f(z)\nexcept Exception:\n    z.b = 2",
    "t = {0: copy.copy}[0](z).a",
    "t = {0: bool}[0](z)",
    "t = {0: list}[0](z)",
]


@pytest.mark.parametrize("step", HIDDEN)
def test_an_escape_that_the_source_does_not_show_is_refused_by_both_interpreters(step: str) -> None:
    for runner in (lambda p: reference.run(p, [1]), lambda p: run_batch(p, [[1]])):
        with pytest.raises(weft.WeftError, match=r"the state escapes|may only compute") as caught:
            runner(small(step, HELPERS))
        assert not isinstance(caught.value, weft.StepError)
        assert caught.value.where is not None


def test_a_handler_of_the_step_does_not_hide_an_unknown_variable() -> None:
    program = small("try:\n    z['q' * 2] = 1\nexcept Exception:\n    z.b = 1")
    for runner in (lambda p: reference.run(p, [1]), lambda p: run_batch(p, [[1]])):
        with pytest.raises(weft.WeftError, match="there is no variable 'qq'"):
            runner(program)


def test_what_looks_at_objects_instead_of_values_has_no_table() -> None:
    for step in ("z.b = id(z.a) % 3", "t = locals()\nz.b = 1", "z.b = len(globals()) % 3"):
        with pytest.raises(weft.WeftError, match="looks at more than values"):
            small(step).updates  # noqa: B018


FINE = {
    "another name": "q = z\nq.b = q.a",
    "two names": "q = r = z\nq.b = r.a",
    "a name in an expression": "if (q := z).a:\n    q.b = 1",
    "either of two names": "q = z\nr = z if z.a else q\nr.b = 1",
    "a function of its own": "def f(s):\n    s.b = s.a\nf(z)",
    "a function that sees it": "def f():\n    z.b = z.a\nf()",
    "a default": "def f(s=z):\n    s.b = 1\nf()",
    "a lambda": "z.b = (lambda s: s.a)(z)",
    "a helper by keyword": "z.b = reading(state=z)",
    "helpers in a loop": "for f in (reading, reading):\n    z.b = f(z)",
    "either helper": "z.b = (reading if z.c else doubling)(z)",
    "a recursive helper": "z.b = downwards(z, 2)",
    "values as text": "z.b = len(f'{z.a}{z.c}')",
    "a hash of a value": "z.b = hash(z.a) % 3",
    "a name that is bound again": "z.b = z.a\nz = 1",
    "a name that is bound to itself": "k = 1\nw, w = divmod((k := k), 2)\nz.b = w",
}
READING = """
def reading(state):
    return state.a


def doubling(state):
    return state.a * 2 % 3


def downwards(state, n):
    return state.a if n == 0 else downwards(state, n - 1)
"""


@pytest.mark.parametrize("name", FINE)
def test_a_state_may_be_read_written_renamed_and_handed_on(name: str) -> None:
    assert_means_the_same(small(FINE[name], READING))
