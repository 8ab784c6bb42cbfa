"""Every wrong declaration is a `WeftError` that names the class, the line and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import weft
from random_programs import make

BASIS = "a = weft.var(2)\noutput = a\nlayers = 1"
HELPERS = "import weft\n\n\ndef put(state):\n    state.h = 1\n\n\n"
FIRST = HELPERS.count("\n") + 2
"""The line of the first declaration."""


@dataclass(frozen=True)
class Wrong:
    """The body of a class, what its error must say, and the line, counted from the first one."""

    body: str
    says: tuple[str, ...]
    line: int | None = None  # the last one, if left out


def after_basis(body: str, *says: str, line: int | None = None) -> Wrong:
    return Wrong(f"{BASIS}\n{body}", says, line)


NUMBER = "n = weft.number([0, 1])\n"
SET = "s = weft.subset(2, [{0}], default={0})\n"
THREE = "b = weft.var(3)\n"
HEAD = "h = weft.relative(a, -1)\n"

MISTAKES = {
    # unknown names
    "unknown value": after_basis('h = weft.relative("aa", -1)', "'aa'", "did you mean 'a'"),
    "unknown query": after_basis('h = weft.attend("q", a, a)', "query", "'q'"),
    "unknown key": after_basis('h = weft.attend(a, "q", a)', "key", "'q'"),
    "no variable at all": after_basis("h = weft.relative(3, -1)", "3"),
    "variable of another class": after_basis("h = weft.relative(weft.var(2), -1)", "outside"),
    "unknown in step": after_basis("def step(z):\n    z.a = z.aa", "'aa'", "Did you mean 'a'"),
    "unknown item in step": after_basis('def step(z):\n    z["aa"] = 1', "'aa'"),
    "unknown output": Wrong('a = weft.var(2)\nlayers = 1\noutput = "aa"', ("'aa'",)),
    "no output": Wrong("a = weft.var(2)\nlayers = 1", ("no output",), 0),
    "output is no variable": Wrong("a = weft.var(2)\nlayers = 1\noutput = 3", ("3",)),
    # wrong kinds
    "query is a number": after_basis(NUMBER + "h = weft.attend(n, a, a)", "query 'n'", "a number"),
    "key is a number": after_basis(NUMBER + "h = weft.attend(a, n, a)", "key 'n'", "a number"),
    "key is a set": after_basis(SET + "h = weft.attend(a, s, a)", "key 's'", "a set"),
    "value is a set": after_basis(SET + "h = weft.attend(a, a, s)", "value 's'", "a set"),
    "output is a number": Wrong("n = weft.number([0, 1])\noutput = n", ("a number",), 0),
    "output is a head": Wrong(f"a = weft.var(2)\n{HEAD}output = h", ("'h'", "head"), 1),
    "halt on a number": after_basis(NUMBER + "halt = n == 1", "'n'", line=3),
    "halt on a head": after_basis(HEAD + "halt = h == 1", "halt"),
    "halt is no condition": after_basis("halt = 1", "condition"),
    "halt is a variable": after_basis("halt = a", "condition"),
    "halt with unequal": after_basis("halt = a != 1", "condition"),
    "initialiser is no function": Wrong("a = weft.var(2, token=1)\noutput = a", ("token=", "1"), 0),
    "offset is no number": after_basis('h = weft.relative(a, "left")', "left"),
    "offset is a fraction": after_basis("h = weft.relative(a, 0.5)", "0.5"),
    "offsets are no list": after_basis("h = weft.attend(a, a, a, relative=-1)", "-1"),
    # ranges
    "size 0": after_basis("b = weft.var(0)", "0"),
    "size is no number": after_basis('b = weft.var("2")', "'2'"),
    "buckets are no list": after_basis("n = weft.number(3)", "3"),
    "buckets are no numbers": after_basis('n = weft.number(["x"])', "x"),
    "no buckets": after_basis("n = weft.number([])", "bucket"),
    "an infinite bucket": after_basis("n = weft.number([float('inf')])", "finite"),
    "no sets": after_basis("s = weft.subset(2, [])", "set"),
    "sets are no sets": after_basis("s = weft.subset(2, [0, 1])", "set"),
    "set outside its range": after_basis("s = weft.subset(2, [{2}])", "{2}", "0..1"),
    "sizes differ": after_basis(THREE + "h = weft.attend(a, b, a)", "'a'", "2", "'b'", "3"),
    "set and key differ": after_basis(
        "s = weft.subset(3, [{0}], default={0})\nh = weft.attend(s, a, a)", "'s'", "3", "2"
    ),
    "output of another kind": after_basis(
        "h = weft.relative(a, 1, output=weft.number([0]))", "kind"
    ),
    "output too small": after_basis("h = weft.attend(a, a, a, output=weft.var(1))", "2", "1"),
    "output is a variable": after_basis(THREE + "h = weft.relative(a, 1, output=b)", "output="),
    "halt outside the range": after_basis("halt = a == 2", "'a'", "2", "0..1", line=0),
    # names
    "two heads on one output": after_basis(HEAD + "h = weft.relative(a, 1)", "twice"),
    "a head on a variable": after_basis('a = weft.relative("a", 1)', "twice"),
    "one variable under two names": after_basis("b = a", "a", "b"),
    "a word of the language": after_basis("rules = weft.var(2)", "'rules'"),
    # writes to heads
    "write to a head": after_basis(HEAD + "def step(z):\n    z.h = 1", "'h'", "head"),
    "write to an item": after_basis(HEAD + 'def step(z):\n    z["h"] = 1', "'h'", "head"),
    "augmented write to a head": after_basis(HEAD + "def step(z):\n    z.h += 1", "'h'", "head"),
    "unpacking into a head": after_basis(HEAD + "def step(z):\n    z.h, t = 1, 2", "'h'", "head"),
    # initial values
    "token outside": Wrong(
        "tokens = 3\na = weft.var(2, token=lambda t: t)\noutput = a", ("2", "0..1"), 1
    ),
    "named token outside": Wrong(
        'tokens = ["x", "y"]\na = weft.var(2, token=lambda t: 2 * (t == "y"))\noutput = a',
        ("'y'", "2", "0..1"),
        1,
    ),
    "token fails": Wrong(
        'tokens = ["x"]\na = weft.var(2, token=lambda t: t + 1)\noutput = a', ("'x'",), 1
    ),
    "position outside": Wrong(
        "positions = 3\na = weft.var(2, position=lambda i: i)\noutput = a", ("2", "0..1"), 1
    ),
    "default outside": after_basis("b = weft.var(2, default=2)", "2", "0..1"),
    "no bucket at 0": after_basis("n = weft.number([1, 2])", "0", "1, 2"),
    "no empty set": after_basis("s = weft.subset(2, [{1}])", "{1}"),
    "two initial values": after_basis(
        "b = weft.var(2, default=1, token=lambda t: 0)", "token", "default"
    ),
    # heads that read heads
    "query is a head": after_basis(HEAD + "g = weft.attend(h, a, a)", "query 'h'", "Copy it into"),
    "key is a head": after_basis(HEAD + "g = weft.attend(a, h, a)", "key 'h'", "Copy it into"),
    "value is a head": after_basis(HEAD + "g = weft.relative(h, -1)", "value 'h'", "Copy it into"),
    # the rest of a class
    "no tokens": Wrong(f"tokens = []\n{BASIS}", ("tokens",), 0),
    "tokens are no list": Wrong(f"tokens = 1.5\n{BASIS}", ("tokens", "1.5"), 0),
    "a token twice": Wrong(f'tokens = ["x", "x"]\n{BASIS}', ("'x'", "twice"), 0),
    "positions are no number": Wrong(f'positions = "x"\n{BASIS}', ("positions",), 0),
    "layers are no number": Wrong('a = weft.var(2)\noutput = a\nlayers = "x"', ("layers",)),
    "layers below 0": Wrong("a = weft.var(2)\noutput = a\nlayers = -1", ("layers",)),
    "step is no function": after_basis("step = 3", "step"),
    "step takes no state": after_basis("def step():\n    pass", "step", line=3),
}


def error_of(body: str) -> weft.WeftError:
    indented = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    with pytest.raises(weft.WeftError) as caught:
        make(f"{HELPERS}class Faulty(weft.Program):\n{indented}", "Faulty")
    return caught.value


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_when_the_class_is_made(name: str) -> None:
    mistake = MISTAKES[name]
    error = error_of(mistake.body)
    for words in mistake.says:
        assert words in error.line
    assert error.remedy
    assert "object at 0x" not in error.line


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_names_the_class(name: str) -> None:
    assert error_of(MISTAKES[name].body).subject.split(".")[0] == "Faulty"


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_names_the_line(name: str) -> None:
    mistake = MISTAKES[name]
    error = error_of(mistake.body)
    last = mistake.body.strip("\n").count("\n")
    assert error.where is not None
    assert error.where.line - FIRST == (last if mistake.line is None else mistake.line)
    assert "^" in str(error)


def test_a_write_to_a_head_is_found_in_a_helper() -> None:
    error = error_of(f"{BASIS}\n{HEAD}def step(z):\n    put(z)")
    assert "'h'" in error.line
    assert error.where is not None
    assert error.where.line == 5


def test_a_program_with_parameters_is_checked_when_it_is_called() -> None:
    class Wide(weft.Program):
        def __init__(self, size: int) -> None:
            self.a = weft.var(size, default=3)
            self.output = self.a

    assert Wide(4).variables["a"].default == 3
    with pytest.raises(weft.WeftError, match=r"Wide\.a: it cannot start as 3"):
        Wide(3)


def test_what_is_right_is_accepted() -> None:
    program = make(
        f"{HELPERS}class Faulty(weft.Program):\n    a = weft.var(2)\n    output = a\n", "Faulty"
    )()
    assert list(program.variables) == ["a"]
    assert program.updates.written == ()
