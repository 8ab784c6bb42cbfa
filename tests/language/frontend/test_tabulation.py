"""What the front end does not follow is tabulated over just what it reads, up to a limit."""

from __future__ import annotations

import pytest

import weft
from random_programs import make
from small_programs import assert_means_the_same, is_tabulated, small, within
from weft.language.expressions import reads

HELPERS = """
@functools.lru_cache(maxsize=None)
def cached(p, q):
    return max(p, q)


def count_down(n):
    return 0 if n <= 0 else 1 + count_down(n - 1)


def same(state, v):
    return v


def renaming(state):
    other = state
    other.a -= 1
    other.b = other.c


@functools.lru_cache(maxsize=None)
def climb(low, high):
    return high if low == high else climb(low + 1, high)


def lower(state):
    state.b -= 1
    return state.b > 0
"""

TABULATED = {
    "while": "while z.a > z.b:\n    z.a -= 1",
    "while with a counter": "n = 0\nwhile n < z.a:\n    n += 1\nz.b = n",
    "while with a local of its own": "while z.a:\n    t = z.a\n    z.a = t - 1",
    "while true": "while True:\n    if z.a == 2:\n        break\n    z.a += 1\nz.b = z.a",
    "while else": "while z.a:\n    z.a -= 1\n    if z.a == z.b:\n        break\nelse:\n    z.c = 1",
    "while with return": "while z.a:\n    z.a -= 1\n    if z.a == z.b:\n        return\nz.c = 1",
    "while with a helper": "while lower(z):\n    z.c = 1",
    "while with a helper that leaves the state alone": "while z.a and same(z, 1):\n    z.a -= 1",
    "while with a helper that renames the state": "while z.a:\n    renaming(z)",
    "while with computed names": "while z.c:\n    z['ab'[z.c]] = 0\n    z.c -= 1",
    "while over nothing of the state": "n = 3\nfor i in range(z.c * 0):\n    n = i\nz.b = n % 3",
    "handler of everything": (
        "n = z.c\nwhile n:\n    n -= 1\n    try:\n        z['ab'[z.c]] = 0\n"
        "    except:\n        z.b = 2"
    ),
    "loop over a range of the state": "for i in range(z.a):\n    z.b = i",
    "loop over a set": "for i in sorted(z.s):\n    if i == z.a:\n        z.c = 1\n        break",
    "filtered comprehension": "z.b = len([v for v in (z.a, z.b) if v])",
    "set comprehension": "z.b = len({v % 2 for v in (z.a, z.b, z.c)})",
    "dictionary comprehension": "z.b = {k: (k + z.b) % 3 for k in range(3)}[z.a]",
    "list": "z.b = [z.a, z.b][z.c]",
    "slice": "z.b = len((1, 2)[z.a :])",
    "formatted string": "z.b = len(f'{z.a}{z.b}')",
    "starred call": "z.b = max(*(z.a, z.b))",
    "key function": "z.b = min(z.a, z.b, key=lambda v: -v)",
    "try": "try:\n    z.b = 2 // z.a\nexcept ZeroDivisionError:\n    z.c = 1",
    "try reads a head of no consequence": (
        "try:\n    if z.left >= 0:\n        pass\nexcept Exception:\n    z.b = 0"
    ),
    "try with a local that is unbound": (
        "if z.c > 1:\n    t = 1\ntry:\n    z.b = t\nexcept NameError:\n    z.b = 0"
    ),
    "try reads a head": "try:\n    z.b = z.left\nexcept Exception:\n    z.b = 0",
    "try in a loop": (
        "for i in range(3):\n    try:\n        t = 2 // (z.a - i)\n"
        "    except ZeroDivisionError:\n        break\n    z.b = i"
    ),
    "finally after return": "try:\n    if z.a:\n        return\nfinally:\n    z.b = 1\nz.c = 1",
    "class pattern": "match z.a:\n    case int() as v if v:\n        z.b = v",
    "starred pattern": "match (z.a, z.b):\n    case [0, *rest]:\n        z.c = len(rest)",
    "an undefined head it does not read": "while z.c:\n    z.c = 0 if z.b else z.left // 3",
}
CALLED = {
    "builtin": "z.b = round(z.a * 0.6)",
    "cached helper": "z.b = cached(z.a, z.b)",
    "method": "z.b = z.a.bit_length()",
    "recursive helper that is endless for values that cannot meet": (
        "z.b = climb(2 * z.a, z.a + 2) - 2 if z.a < 2 else 0"
    ),
    "recursive helper": "z.b = count_down(z.a)",
    "sorted": "z.b = sorted((z.a, z.b, z.c))[1]",
    "function without source": "z.b = (2).__sub__(z.a)",
}


@pytest.mark.parametrize("name", TABULATED)
def test_what_is_not_followed_is_tabulated(name: str) -> None:
    program = small(TABULATED[name], HELPERS)
    assert_means_the_same(program)
    assert is_tabulated(program)


@pytest.mark.parametrize("name", CALLED)
def test_calls_without_readable_source_mean_what_python_means(name: str) -> None:
    assert_means_the_same(small(CALLED[name], HELPERS))


def test_a_table_depends_on_just_what_the_piece_reads() -> None:
    program = small("z.b = len([v for v in (z.a, 1) if v])")
    assert reads(program.updates.values["b"]) == ["a"]
    assert {name for rule in program.rules for name, _ in rule.guard} <= {"a"}


LARGE = """\
import weft


class Large(weft.Program):
    p = weft.var(100)
    q = weft.var(100)
    r = weft.var(100)
    output = p
    layers = 1

    def step(z):
        z.q = 0
        z.p = len([v for v in (z.p, z.q, z.r) if v])
        z.r = len([v for v in (z.p, z.q, z.r) if v])


class Larger(weft.Program):
    p = weft.var(100)
    q = weft.var(100)
    r = weft.var(100)
    output = p
    layers = 1

    def step(z):
        z.p = len({z.p, z.q, z.r})
"""


def test_a_table_that_is_too_large_is_an_error_that_names_all_of_it() -> None:
    with pytest.raises(weft.WeftError) as caught:
        make(LARGE, "Larger")().updates  # noqa: B018
    message = str(caught.value)
    assert "{z.p, z.q, z.r}" in message
    assert caught.value.where is not None
    written = LARGE.splitlines()[caught.value.where.line - 1]
    assert written.strip() == "z.p = len({z.p, z.q, z.r})"
    for name in "pqr":
        assert f"{name} (100 values)" in message
    assert "1,000,000 combinations" in message
    assert caught.value.subject.startswith("Larger")
    assert caught.value.remedy


def test_a_constant_is_not_counted_among_the_combinations() -> None:
    program = make(LARGE, "Large")()
    after = program.updates.apply({"p": 5, "q": 7, "r": 0})
    assert after == {"p": 1, "q": 0, "r": 1}


ENDLESS = """\
import weft


class Climb(weft.Program):
    low = weft.var(6)
    output = low
    layers = 1

    def step(z):
        low, high = z.low, z.low + 2
        while low != high:
            low += 1
        z.low = high - 2
"""


def test_a_loop_is_tabulated_only_where_its_inputs_can_meet() -> None:
    """`low` and `high` come from one variable: (5, 2), which never ends, cannot be."""
    program = make(ENDLESS, "Climb")()
    with within(5):
        for low in range(6):
            assert program.updates.apply({"low": low}) == {"low": low}
