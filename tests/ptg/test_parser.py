from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import walk
from random_source import random_source

from weft.errors import WeftError
from weft.ptg.interpreter import run
from weft.ptg.language import GRAMMAR, PAPER, RICH, Language, Limits
from weft.ptg.parser import MAX_SIZE, parse
from weft.ptg.source import source_of
from weft.ptg.tracing import trace_text

LIMITS = Limits(steps=300, list_length=10_000, value=10**15)
LOOP = "cnt = 0; cond_l = cnt != 2; while cond_l:; >u = u + 1; >cnt = cnt + 1; >cond_l = cnt != 2"


def program(body: str) -> str:
    """A program of the given lines, separated by `; ` and indented by `>`."""
    rows = ["def f(u,cond_c,lst_s):", *(f">{row}" for row in body.split("; ")), ">return"]
    return "".join(f"{row}\n" for row in rows).replace(">", "\t")


def failure(source: str, language: Language = PAPER) -> WeftError:
    with pytest.raises(WeftError) as caught:
        parse(source, language)
    return caught.value


def place(error: WeftError) -> tuple[int, int]:
    assert error.where is not None
    assert error.where.column is not None
    return error.where.line, error.where.column + 1


MISTAKES = [
    # lines, line and column, rule, what
    ("u=u+1", (2, 3), "assignment", "' = ' is expected, not '='"),
    ("u  = 1", (2, 3), "assignment", "' = ' is expected, not ' '"),
    ("u = 1 ", (2, 7), "expression", "the line ends in blanks"),
    ("u = 1;u = 2", (2, 7), "expression", "';u = 2' is not expected"),
    ("u = -1", (2, 6), "operand", "a number is expected, not '-'"),
    ("u = -0", (2, 6), "operand", "a number is expected, not '-'"),
    ("u = 01", (2, 6), "number", "a number starts with 0"),
    ("u = 00", (2, 6), "number", "a number starts with 0"),
    ("u = 0x1", (2, 7), "expression", "'x1' is not expected"),
    ("u = 1_0", (2, 7), "expression", "'_0' is not expected"),
    ("u = 1.0", (2, 7), "expression", "'.0' is not expected"),
    ("u = 99999999999999999", (2, 6), "number", "a number is too long"),
    ("u = u + u", (2, 10), "sum", "a number is expected, not 'u'"),
    ("u = u + 0", (2, 10), "sum", "the number is 0"),
    ("u = u - 1 - 1", (2, 11), "expression", "' - 1' is not expected"),
    ("u = 1 + u", (2, 7), "expression", "' + u' is not expected"),
    ("u = u / 1", (2, 7), "expression", "' / 1' is not expected"),
    ("u += 1", (2, 3), "assignment", "' = ' is expected, not ' '"),
    ("u = len(u)", (2, 10), "expression", "a list is expected, not 'u'"),
    ("u = len(lst_s", (2, 15), "expression", "')' is expected, not the end of the line"),
    ("len = 1", (2, 2), "statement", "'len' does not begin a statement"),
    ("u = lst_s", (2, 11), "item", "'[' is expected, not the end of the line"),
    ("u = lst_s[-1]", (2, 12), "operand", "a number is expected, not '-'"),
    ("u = lst_s[0:1]", (2, 13), "item", "']' is expected, not ':'"),
    ("u = cond_c", (2, 6), "expression", "an integer variable is expected, not 'cond_c'"),
    ("u = True", (2, 6), "expression", "an integer variable is expected, not 'True'"),
    ("u = cnt", (2, 6), "expression", "cnt is a counter, which only the lines of its loop may use"),
    ("lst_s = lst_s", (2, 7), "append", "'.append(' or '.pop()' is expected, not ' '"),
    ("lst_s[0] = 1", (2, 7), "append", "'.append(' or '.pop()' is expected, not '['"),
    ("lst_s.pop(0)", (2, 12), "pop", "')' is expected, not '0'"),
    ("lst_s.append(cond_c)", (2, 15), "append", "an integer variable is expected, not 'cond_c'"),
    ("lst_s.append(-1)", (2, 15), "operand", "a number is expected, not '-'"),
    ("cond_c = True", (2, 11), "comparison", "an integer variable is expected, not 'True'"),
    ("cond_c = u < 1", (2, 12), "comparison", "' == ' or ' != ' is expected, not ' '"),
    ("cond_c = 1 == u", (2, 11), "comparison", "an integer variable is expected, not '1'"),
    ("cond_c = not cond_c", (2, 11), "comparison", "an integer variable is expected, not 'not'"),
    ("if u:; >u = 1", (2, 5), "if", "a Boolean variable is expected, not 'u'"),
    ("if cond_c: u = 1", (2, 12), "if", "' u = 1' is not expected"),
    ("if cond_c:; u = 1", (3, 2), "block", "an indented block is expected"),
    ("else:; >u = 1", (2, 2), "if", "there is no if directly before this else"),
    ("elif cond_c:; >u = 1", (2, 2), "statement", "'elif' does not begin a statement"),
    (">u = 1", (2, 2), "block", "the line is indented too deep"),
    ("  u = 1", (2, 2), "statement", "a blank stands before the statement"),
    ("\fu = 1", (2, 2), "statement", "a form feed stands before the statement"),
    ("\x0bu = 1", (2, 2), "statement", "the sign '\\x0b' stands before the statement"),
    ("u = 1; ; u = 2", (3, 2), "statement", "the line is empty"),
    ("u = 1\\; u = 2", (2, 7), "expression", "'\\\\' is not expected"),
    ("u = 1\r; u = 2\r\rx", (3, 7), "expression", "'\\r\\rx' is not expected"),
    ("u = \u0661", (2, 6), "operand", "a number is expected, not '\\u0661'"),
    ("\uff55 = 1", (2, 2), "statement", "'\\uff55' does not begin a statement"),
    ("u = \u0430", (2, 6), "expression", "an integer variable is expected, not '\\u0430'"),
    ("u = 1\u2028x = 2", (2, 7), "expression", "'\\u2028x = 2' is not expected"),
    ("u = 1\x00", (2, 7), "expression", "'\\x00' is not expected"),
    ("pass", (2, 2), "statement", "'pass' does not begin a statement"),
    ("import os", (2, 2), "statement", "'import' does not begin a statement"),
    ("break", (2, 2), "statement", "'break' does not begin a statement"),
    ("return", (3, 1), "program", "the program goes on after its return"),
    ("if cond_c:; >return", (3, 3), "program", "return is not the last line"),
    ("while True:; >u = 1", (2, 2), "loop", "the line before a loop must set its condition"),
    ("cnt = 1", (2, 2), "counted_loop", "'cnt = 0' is expected, not 'cnt'"),
    ("cnt = cnt + 1", (2, 2), "counted_loop", "'cnt = 0' is expected, not 'cnt'"),
    ("cnt_2 = 0", (2, 2), "counter", "the counter of this loop is cnt"),
    ("cnt = 0; u = 1", (3, 2), "counted_loop", "a Boolean variable is expected, not 'u'"),
    (LOOP.replace("while cond_l", "while cond_c"), (4, 8), "counted_loop",
     "the line before the loop sets cond_l, not cond_c"),
    (LOOP.replace(">u = u + 1", ">cnt = 0"), (5, 3), "counter",
     "the counter of this loop is cnt_2"),
    (LOOP.replace(">u = u + 1", ">u = cnt"), (5, 7), "expression",
     "cnt is a counter, which only the lines of its loop may use"),
    (LOOP.replace("cnt + 1", "cnt + 2"), (6, 3), "counted_loop",
     "'cnt = cnt + 1' is expected, not 'cnt'"),
    (LOOP.removesuffix("2") + "3", (7, 3), "counted_loop",
     "the condition is not set as before the loop"),
    (LOOP + "; >u = 1", (8, 3), "counted_loop", "the loop goes on after setting its condition"),
    (LOOP.removesuffix("; >cond_l = cnt != 2"), (7, 2), "counted_loop",
     "the line does not belong to the loop that begins above"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "where", "rule", "what"), MISTAKES)
def test_mistakes_are_reported_with_place_and_rule(
    body: str, where: tuple[int, int], rule: str, what: str
) -> None:
    error = failure(program(body))
    assert error.what == what
    assert place(error) == where
    assert f"Rule {rule}: {GRAMMAR[rule]}" in error.remedy
    assert len(error.line.splitlines()) == 1


HEADS = [
    ("", (1, 1), "'def f(' is expected, not the end of the program"),
    ("\n\n", (1, 1), "'def f(' is expected, not the end of the program"),
    ("\n" + program("u = 1"), (1, 1), "'def f(' is expected, not the end of the line"),
    ("\ufeff" + program("u = 1"), (1, 1), "'def f(' is expected, not '\\ufeff'"),
    ("def g():\n\treturn", (1, 1), "'def f(' is expected, not 'def'"),
    ("def f(a,a):\n\treturn", (1, 9), "there are two parameters a"),
    ("def f(a, b):\n\treturn", (1, 9), "a parameter is expected, not ' '"),
    ("def f(a,):\n\treturn", (1, 9), "a parameter is expected, not ')'"),
    ("def f(cnt):\n\treturn", (1, 7), "a parameter is expected, not 'cnt'"),
    ("def f(*a):\n\treturn", (1, 7), "a parameter is expected, not '*'"),
    ("def f(a=1):\n\treturn", (1, 8), "',' is expected, not '='"),
    ("def f(aa):\n\treturn", (1, 7), "a parameter is expected, not 'aa'"),
    ("def f() -> None:\n\treturn", (1, 7), "a parameter is expected, not ')'"),
    ("def f():\n\treturn 0", (2, 8), "' 0' is not expected"),
    ("def f():\n    return", (2, 1), "a blank stands before the statement"),
    ("def f():\n\t\treturn", (2, 3), "the line is not indented as deep as the program"),
    ("def f():\nreturn", (2, 1), "the line is not indented as deep as the program"),
    ("def f():", (2, 1), "the program does not end in return"),
    ("def f():\n\treturn\nf()", (3, 1), "the program goes on after its return"),
    ("def f():\n\treturn\n\t", (3, 1), "the program goes on after its return"),
]


@pytest.mark.parametrize(("source", "where", "what"), HEADS)
def test_mistakes_around_the_body(source: str, where: tuple[int, int], what: str) -> None:
    error = failure(source)
    assert error.what == what
    assert place(error) == where


SWITCHED_OFF = [
    ("u = 10", "literal=10"),
    ("cond_c = u == 12", "literal=12"),
    ("lst_s.append(10)", "literal=10"),
    ("u = lst_s[10]", "literal=10"),
    ("u = u + 2", "addend=2"),
    ("u = u - 17", "addend=17"),
    ("u = u * 3", "multiplication=true"),
    ("u = u * u", "multiplication=true"),
    ("u = lst_s[u]", "variable_index=true"),
    ("###", "comments=true"),
    ("if cond_c:; >u = 1; else:; >u = 2", "else_blocks=true"),
    ("cond_c = u == 1; while cond_c:; >u = 1; >cond_c = u == 1", "data_loops=true"),
    (LOOP.replace("!= 2", "!= 100"), "trips=100"),
    ("if cond_c:; >if cond_c:; >>u = 1", "depth=2"),
    (LOOP.replace(">u = u + 1", ">if cond_c:; >>u = 1"), "depth=2"),
]


@pytest.mark.parametrize(("body", "option"), SWITCHED_OFF)
def test_what_is_switched_off_is_refused_with_its_option(body: str, option: str) -> None:
    error = failure(program(body))
    assert error.remedy == f"Allow it with the option {option}"
    name, _, value = option.partition("=")
    values = {field.name: field.type for field in fields(Language)}
    assert name in values
    allowed = Language(**{name: True if value == "true" else int(value)})
    assert source_of(parse(program(body), allowed)) == program(body)


def test_no_option_allows_a_number_beyond_its_bound() -> None:
    assert "at most 9,999" in failure(program("u = 10000"), RICH).remedy
    deep = "".join(f"{'>' * depth}if cond_c:; " for depth in range(10)) + ">" * 10 + "u = 1"
    assert "at most 9" in failure(program(deep), RICH).remedy


MISTAKES_WITH_EVERYTHING_ON = [
    ("cond_c = u == 1; while cond_c:; >u = 1", (3, 2), "does not end by setting cond_c"),
    ("cond_c = u == 1; while cond_c:; >cond_c = u == 2", (3, 2), "does not end by setting cond_c"),
    ("cond_c = u == 1; while cond_c:; >cond_c = u == 1; >#", (3, 2), "does not end by setting"),
    ("cond_c = u == 1; u = 1; while cond_c:; >u = 1", (4, 2), "the line before a loop must set"),
    ("if cond_c:; >#", (2, 2), "the block is empty"),
    ("if cond_c:; >u = 1; else:; >#", (4, 2), "the block is empty"),
    ("if cond_c:; >u = 1; #; else:; >u = 2", (5, 2), "there is no if directly before this else"),
    ("# a comment", (2, 3), "' a comment' is not expected"),
    ("u = 1 # a comment", (2, 7), "' # a comment' is not expected"),
    ("cnt = 0; #; cond_l = cnt != 2", (3, 2), "a Boolean variable is expected, not '#'"),
]


@pytest.mark.parametrize(("body", "where", "what"), MISTAKES_WITH_EVERYTHING_ON)
def test_mistakes_with_every_option_on(body: str, where: tuple[int, int], what: str) -> None:
    error = failure(program(body), RICH)
    assert what in error.what
    assert place(error) == where


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("x = y", "y is never assigned"),
        ("cond_x = cond_y", "an integer variable is expected, not 'cond_y'"),
        ("if cond_y:; >u = 1", "cond_y is never assigned"),
        ("lst_t.pop()", "lst_t is not a parameter"),
        ("u = len(lst_t)", "lst_t is not a parameter"),
        ("f = f + 1; u = g", "g is never assigned"),
    ],
)
def test_names_must_be_bound_somewhere(body: str, what: str) -> None:
    assert failure(program(body)).what == what


def test_the_last_line_break_may_be_missing_and_line_breaks_may_be_those_of_windows() -> None:
    source = program("u = u + 1")
    parsed = parse(source)
    for variant in (source[:-1], source + "\n\n", source.replace("\n", "\r\n")):
        assert parse(variant) == parsed


def test_a_source_that_is_too_long_is_refused() -> None:
    assert "1,000,001 characters" in failure("x" * (MAX_SIZE + 1)).what


def test_a_deep_pyramid_of_tabs_ends_in_an_error() -> None:
    rows = [f"{chr(9) * (depth + 1)}if cond_c:" for depth in range(1000)]
    assert "depth=2" in failure("\n".join(["def f(cond_c):", *rows])).remedy


def test_the_message_shows_the_line_with_a_caret() -> None:
    assert str(failure(program("u = u + 2"))).splitlines()[1:] == [
        "     2 |  u = u + 2",
        "       |          ^",
    ]


SIGNS = "\t\n\r :=+-*()[]#,0123456789abcfnu_.wil!" + "\u0661\u00a0\x0c"


def check(source: str, inputs: dict[str, Any]) -> None:
    """Check that a source is refused with its place, or else has the same trace in CPython."""
    try:
        parsed = parse(source, RICH)
    except WeftError as error:
        refusal = error.where
    else:
        refusal = None
    if refusal is not None:
        return
    if set(parsed.parameters) != set(inputs):
        compile(source, "<program>", "exec")
        return
    expected = walk(source, inputs, LIMITS.steps)
    if expected.error:
        with pytest.raises(WeftError):
            run(parsed, inputs, LIMITS)
    else:
        assert trace_text(run(parsed, inputs, LIMITS)).splitlines() == expected.trace


@given(seed=st.integers(0, 400), edits=st.integers(1, 2))
def test_whatever_an_edited_program_becomes_it_is_refused_or_means_the_same_in_python(
    seed: int, edits: int
) -> None:
    source, inputs, _ = random_source(seed)
    rng = random.Random(f"{seed} {edits}")
    for _ in range(20):
        edited = source
        for _ in range(edits):
            at = rng.randrange(len(edited))
            size = rng.choice([0, 1, 1, 3])
            edited = edited[:at] + rng.choice(["", *SIGNS]) + edited[at + size :]
        check(edited, inputs)


@given(text=st.text(alphabet=SIGNS, max_size=40))
def test_any_text_is_a_program_or_an_error(text: str) -> None:
    check(f"def f(u):\n\t{text}\n\treturn\n", {"u": 1})
    check(text, {})
