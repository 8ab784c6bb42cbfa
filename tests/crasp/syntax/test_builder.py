"""The Python API gives the expressions that its text says, and refuses mistakes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import odd_programs, programs

from weft.crasp import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    CraspBuilder,
    CraspProgram,
    Exists,
    Expression,
    Integer,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Or,
    Position,
    Previous,
    Subtract,
    Symbol,
    all_of,
    any_of,
    check_local,
    check_periodic,
    count,
    exists,
    if_else,
    library,
    local,
    maximum,
    minimum,
    mod,
    parse,
    periodic,
    position,
    previous,
    run,
    symbol,
)
from weft.crasp.syntax.builder import Value
from weft.errors import WeftError

A, B = symbol("a"), symbol("b")


def built(expression: Expression, lines: CraspBuilder) -> Any:
    """The value that the operators give for an expression, written as a user would."""

    def of(inside: Expression) -> Any:
        return built(inside, lines)

    match expression:
        case Symbol(name):
            return symbol(name)
        case Constant(value) | Integer(value):
            return value
        case Position(predicate):
            if predicate.name:
                return position(predicate)
            return mod(predicate.period, predicate.residues)
        case Name(name):
            return lines[name]
        case Not(operand):
            value = of(operand)
            return ~value if isinstance(value, Value) else Ellipsis
        case And(operands):
            return all_of(map(of, operands))
        case Or(operands):
            return any_of(map(of, operands))
        case Exists(body, offsets):
            return exists(of(body), offsets)
        case Previous(body):
            return previous(of(body))
        case Counting(body, offsets):
            return count(of(body), offsets)
        case Conditional(condition, then, otherwise):
            return if_else(of(condition), of(then), of(otherwise))
        case Minimum(operands):
            return minimum(*map(of, operands))
        case Maximum(operands):
            return maximum(*map(of, operands))
        case Add(left, right):
            return of(left) + of(right)
        case Subtract(left, right):
            return of(left) - of(right)
        case Comparison(operator, left, right):
            return COMPARE[operator](of(left), of(right))
    raise AssertionError(expression)


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
}


def constants_only(expression: Expression) -> bool:
    """Whether Python would compute a part itself, or turn a comparison around."""
    match expression:
        case Not(Constant()):
            return True
        case Comparison(_, Integer(), _) | Add(Integer(), _) | Subtract(Integer(), Integer()):
            return True
    from weft.crasp.expressions import operands

    return any(map(constants_only, operands(expression)))


@settings(max_examples=100, deadline=None)
@given(programs(depth=2) | odd_programs(depth=2))
def test_programs_built_by_operators_are_equal(program: CraspProgram) -> None:
    builder = CraspBuilder(program.alphabet, program.name, program.about)
    for line in program.lines:
        if constants_only(line.expression):
            builder[line.name] = Value(line.expression)  # type: ignore[assignment]
        else:
            builder[line.name] = built(line.expression, builder)
    assert builder.build() == program
    assert parse(str(builder)) == program
    for line in program.lines:
        assert f":= {Value(line.expression)!r}" in str(builder) or "\n  " in str(builder)


def test_dyck_1_as_in_the_library() -> None:
    dyck = CraspBuilder("()", "dyck-1", library.load("dyck-1").about)
    opening, closing = dyck.symbols
    dyck.bad = count(opening) < count(closing)
    dyck.accept = (count(dyck.bad) == 0) & (count(opening) == count(closing))
    assert dyck.build() == library.load("dyck-1")
    assert [run(dyck.build(), word).accepted for word in ("", "(())", ")(")] == [True, True, False]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (A & B & A, "Q_a and Q_b and Q_a"),
        (A & (B & A), "Q_a and (Q_b and Q_a)"),
        (A | B | A, "Q_a or Q_b or Q_a"),
        (True & A, "true and Q_a"),
        (False | A, "false or Q_a"),
        (~A & B, "not Q_a and Q_b"),
        (1 + count(A), "1 + #[j <= i] Q_a(j)"),
        (1 - count(A), "1 - #[j <= i] Q_a(j)"),
        (-count(A), "0 - #[j <= i] Q_a(j)"),
        (3 < count(A), "#[j <= i] Q_a(j) > 3"),  # noqa: SIM300
        (count(A) >= np.int64(2), "#[j <= i] Q_a(j) >= 2"),
        (sum([count(A), count(B)]), "#[j <= i] Q_a(j) + #[j <= i] Q_b(j)"),
        (count(True), "#[j <= i] true"),
        (exists(A, offsets=range(2)), "exists[j <= i, j in i - {0, 1}] Q_a(j)"),
        (count(A, offsets=local((2, 1), "near")), "#[j <= i, near(i, j)] Q_a(j)"),
        (count(A, check_local(lambda i, j: i == j)), "#[j <= i, j == i] Q_a(j)"),
        (position(periodic(2, 1, "odd")), "odd"),
        (position(check_periodic(lambda i: i % 3 == 0)), "MOD(3, 0)"),
        (all_of([]), "true"),
        (any_of([]), "false"),
        (any_of([A]), "Q_a"),
    ],
)
def test_values_print_as_text(value: Value, written: str) -> None:
    assert repr(value) == written


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda: A and B, "Q_a has no truth value in Python"),
        (lambda: not A, "Use & for and"),
        (lambda: 1 < count(A) < 3, "split a < b < c"),
        (lambda: A + B, "Q_a is a Boolean, which has no order and no arithmetic. Count it"),
        (lambda: A == B, "Q_a is a Boolean, which has no order"),
        (lambda: 1 + A, "Q_a is a Boolean"),
        (lambda: count(A) & B, "#[j <= i] Q_a(j) is a count, not a Boolean. Compare it"),
        (lambda: ~count(A), "is a count, not a Boolean"),
        (lambda: A & count(A), "the count #[j <= i] Q_a(j) stands where a Boolean is needed"),
        (lambda: count(A) < B, "the Boolean Q_b stands where a count is needed"),
        (lambda: count(count(A)), "stands where a Boolean is needed"),
        (lambda: count("a"), "'a' is neither a Boolean nor a count"),
        (lambda: count(1), "the count 1 stands where a Boolean is needed"),
        (lambda: count(A) + 1.5, "1.5 is neither a Boolean nor a count"),
        (lambda: if_else(count(A), 1, 0), "stands where a Boolean is needed"),
        (lambda: minimum(count(A)), "at least two counts"),
        (lambda: mod(0, 0), "a period cannot be 0"),
        (lambda: mod(3, 3), "are not ascending numbers from 0 to 2"),
        (lambda: count(A, offsets=-1), "the offsets (-1,)"),
        (lambda: position(Local((1,))), "is not a periodic predicate"),  # type: ignore[arg-type]
    ],
)
def test_mistakes_are_refused_where_they_are_made(mistake: Callable[[], Any], said: str) -> None:
    with pytest.raises(WeftError) as caught:
        mistake()
    assert said in str(caught.value)


def test_lines_are_defined_once_and_before_they_are_used() -> None:
    builder = CraspBuilder("ab", name="p")
    builder.bad = A & B
    with pytest.raises(WeftError, match="p: 'bad' is defined twice"):
        builder.bad = A
    with pytest.raises(WeftError, match=r"p: 'bda' is not defined\. Did you mean 'bad'"):
        builder.bda  # noqa: B018
    with pytest.raises(WeftError, match="'build' cannot be the name of a line here"):
        builder.build = A  # type: ignore[method-assign, assignment]
    other = CraspBuilder("ab")
    with pytest.raises(WeftError, match="'bad' is not defined"):
        other.accept = ~builder.bad
    assert not hasattr(builder, "later")
    builder["build"] = builder.bad
    builder.allow("a", builder["build"])
    assert [line.name for line in builder.build().lines] == ["bad", "build", "NEXT_a"]
    assert repr(builder) == "<C-RASP builder p: bad, build, NEXT_a>"


def test_unknown_symbols_are_refused_when_the_program_is_built() -> None:
    builder = CraspBuilder("ab")
    builder.accept = symbol("c")
    with pytest.raises(WeftError, match=r"'c' is not in the alphabet\. Known: a, b"):
        builder.build()
