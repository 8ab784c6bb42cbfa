"""C-RASP programs as text, in canonical form: `parse(text(program)) == program`.

Counts are written with their indices, `#[j <= i] Q_a(j)`: the index is `i` outside all counts, then
`j`, `k` and so on, one letter per nested count. Everything inside a count says its index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.program import NEXT, CraspProgram

WIDTH = 88
"""A longer definition is broken at `and` or `or`."""

WORD = re.compile(r"\w+")
TITLE = re.compile(r"[\w.+*-]+")
INDICES = "ijklmnopqrstuvwxyz"

# How tightly an expression binds. An operand that binds less than its place needs parentheses.
CONDITIONAL, OR, AND, NOT, COMPARISON, SUM, TERM = range(7)


def text(program: CraspProgram) -> str:
    """A program as text, which parses back to an equal program.

    Example:
        >>> from weft.crasp import CraspProgram, Line, Previous, Symbol
        >>> from weft.crasp.syntax.text import text
        >>> print(text(CraspProgram(("a", "b"), (Line("accept", Previous(Symbol("a"))),))), end="")
        alphabet a b
        accept := previous Q_a
    """
    definitions = (_definition(line.name, line.expression) for line in program.lines)
    return "\n".join([*_header(program), *definitions]) + "\n"


def expression_text(expression: Expression) -> str:
    """An expression as text, at index `i`.

    Example:
        >>> from weft.crasp import Comparison, Counting, Integer, Symbol
        >>> expression_text(Comparison(">=", Counting(Symbol("a")), Integer(2)))
        '#[j <= i] Q_a(j) >= 2'
    """
    return _show(expression, 0)


def name_text(name: str) -> str:
    """The name of a line as text; the symbol of `NEXT_a` is in quotes if it must be."""
    return f"{NEXT}{symbol_text(name.removeprefix(NEXT))}" if name.startswith(NEXT) else name


def symbol_text(symbol: str) -> str:
    """A symbol as text: in quotes unless it has letters, digits and underscores only."""
    return symbol if WORD.fullmatch(symbol) else _quoted(symbol)


def _quoted(given: str) -> str:
    escaped = given.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _header(program: CraspProgram) -> Iterable[str]:
    """Everything before the first definition."""
    if program.about:
        yield from (f"// {line}" if line else "//" for line in program.about.split("\n"))
    if program.name:
        bare = TITLE.fullmatch(program.name)
        yield f"program {program.name if bare else _quoted(program.name)}"
    yield f"alphabet {' '.join(map(symbol_text, program.alphabet))}"
    for periodic in program.periodics:
        if periodic.name:
            yield f"periodic {periodic.name} := {_mod(periodic)}"
    for local in program.locals:
        if local.name:
            yield f"local {local.name} := {_set(local.offsets)}"


def _definition(name: str, expression: Expression) -> str:
    line = f"{name_text(name)} := {_show(expression, 0)}"
    if len(line) <= WIDTH or not isinstance(expression, (And, Or)):
        return line
    word = "and" if isinstance(expression, And) else "or"
    binding = NOT if word == "and" else AND
    first, *rest = (_show(operand, 0, binding) for operand in expression.operands)
    return "\n".join([f"{name_text(name)} := {first}", *(f"  {word} {other}" for other in rest)])


def _index(depth: int) -> str:
    """The index inside so many counts."""
    return INDICES[depth] if depth < len(INDICES) else f"i{depth}"


def _mod(predicate: Periodic) -> str:
    residues = predicate.residues
    shown = str(residues[0]) if len(residues) == 1 else _set(residues)
    return f"MOD({predicate.period}, {shown})"


def _set(numbers: tuple[int, ...]) -> str:
    return f"{{{', '.join(map(str, numbers))}}}"


def _guard(local: Local | None, depth: int) -> str:
    """What stands in the square brackets of a count that is inside so many others."""
    i, j = _index(depth), _index(depth + 1)
    if local is None:
        return f"[{j} <= {i}]"
    if local.name:
        return f"[{j} <= {i}, {local.name}({i}, {j})]"
    if len(local.offsets) != 1:
        return f"[{j} <= {i}, {j} in {i} - {_set(local.offsets)}]"
    offset = f" - {local.offsets[0]}" if local.offsets[0] else ""
    return f"[{j} <= {i}, {j} == {i}{offset}]"


def _show(expression: Expression, depth: int, place: int = CONDITIONAL) -> str:
    """An expression inside so many counts, in a place that needs some binding."""
    written, binding = _written(expression, depth)
    return written if binding >= place else f"({written})"


def _written(expression: Expression, depth: int) -> tuple[str, int]:
    """An expression without parentheses around it, and how tightly it binds."""
    at = f"({_index(depth)})" if depth else ""

    def joined(separator: str, parts: Iterable[Expression], place: int) -> str:
        return separator.join(_show(part, depth, place) for part in parts)

    match expression:
        case Symbol(symbol):
            return f"Q_{symbol_text(symbol)}{at}", TERM
        case Name(name):
            return f"{name_text(name)}{at}", TERM
        case Constant(value):
            return str(value).lower(), TERM
        case Integer(value):
            return str(value), TERM
        case Position(predicate):
            return f"{predicate.name or _mod(predicate)}{at}", TERM
        case Not(operand):
            return f"not {_show(operand, depth, NOT)}", NOT
        case And(operands):
            return joined(" and ", operands, NOT), AND
        case Or(operands):
            return joined(" or ", operands, AND), OR
        case Comparison(operator, left, right):
            shown = joined(f" {operator} ", (left, right), SUM)
            return shown, COMPARISON
        case Exists(body, local):
            return f"exists{_guard(local, depth)} {_show(body, depth + 1, TERM)}", TERM
        case Previous(body):
            return f"previous {_show(body, depth, TERM)}", TERM
        case Counting(body, local):
            return f"#{_guard(local, depth)} {_show(body, depth + 1, TERM)}", TERM
        case Conditional(condition, then, otherwise):
            tests, values = _show(condition, depth, OR), _show(then, depth, SUM)
            return f"{tests} ? {values} : {_show(otherwise, depth)}", CONDITIONAL
        case Add(left, right):
            return f"{_show(left, depth, SUM)} + {_show(right, depth, TERM)}", SUM
        case Subtract(left, right):
            return f"{_show(left, depth, SUM)} - {_show(right, depth, TERM)}", SUM
        case Minimum(operands):
            return f"min({joined(', ', operands, CONDITIONAL)})", TERM
        case Maximum(operands):
            return f"max({joined(', ', operands, CONDITIONAL)})", TERM
