"""The reference interpreter: what a C-RASP program means, one position at a time.

It is the definition of the language, and slow: a count looks at all positions up to its own.
`weft.crasp.batched` computes the same for many words at once.

Position 0 is the begin symbol. No symbol stands there, it is never counted, and `previous` looks at
it as at nothing; everything else is computed there as anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq, ge, gt, le, lt, ne

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
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.program import CraspProgram

OPERATORS = {"<": lt, "<=": le, "==": eq, "!=": ne, ">=": ge, ">": gt}


@dataclass(frozen=True)
class CraspRun:
    """The values of all lines on one word.

    Attributes:
        word: the symbols.
        values: by line, a value for the begin symbol and one per position.
        accepted: whether the last Boolean line holds at the last position.
    """

    word: tuple[str, ...]
    values: Mapping[str, tuple[int, ...]]
    accepted: bool


def run(program: CraspProgram, word: str | Sequence[str]) -> CraspRun:
    """Run a program on a word.

    Example:
        >>> from weft.crasp import Comparison, Counting, CraspProgram, Line, Symbol
        >>> zeros, ones = Counting(Symbol("0")), Counting(Symbol("1"))
        >>> majority = CraspProgram(("0", "1"), (Line("more", Comparison("<", zeros, ones)),))
        >>> run(majority, "0110").values["more"], run(majority, "011").accepted
        ((False, False, False, True, False), True)
    """
    symbols = program.read_word(word)
    values: dict[str, tuple[int, ...]] = {}
    for line in program.lines:
        values[line.name] = tuple(
            evaluate(line.expression, i, symbols, values) for i in range(len(symbols) + 1)
        )
    return CraspRun(symbols, values, bool(values[program.accepting][-1]))


def allowed_next(program: CraspProgram, result: CraspRun) -> tuple[tuple[str, ...], ...]:
    """The symbols a whose line `NEXT_a` holds, at the begin symbol and at each position.

    Example:
        >>> from weft.crasp import Not, CraspProgram, Line, Symbol
        >>> a = Symbol("a")
        >>> alternate = CraspProgram(("a", "b"), (Line("NEXT_a", Not(a)), Line("NEXT_b", a)))
        >>> allowed_next(alternate, run(alternate, "ab"))
        (('a',), ('b',), ('a',))
    """
    lines = program.next_symbols
    symbols = [symbol for symbol in program.alphabet if symbol in lines]
    return tuple(
        tuple(symbol for symbol in symbols if result.values[lines[symbol]][i])
        for i in range(len(result.word) + 1)
    )


def evaluate(
    expression: Expression, i: int, word: tuple[str, ...], values: Mapping[str, tuple[int, ...]]
) -> int:
    """The value of an expression at position i; Booleans are True and False."""

    def at(inside: Expression, position: int = i) -> int:
        return evaluate(inside, position, word, values)

    def counted(body: Expression, local: Local | None) -> int:
        positions = range(i + 1) if local is None else [i - d for d in local.offsets]
        return sum(at(body, j) for j in positions if j >= 1)

    match expression:
        case Symbol(symbol):
            return i >= 1 and word[i - 1] == symbol
        case Constant(value) | Integer(value):
            return value
        case Position(predicate):
            return predicate.holds(i)
        case Not(operand):
            return not at(operand)
        case And(operands):
            return all(at(operand) for operand in operands)
        case Or(operands):
            return any(at(operand) for operand in operands)
        case Comparison(operator, left, right):
            return bool(OPERATORS[operator](at(left), at(right)))
        case Exists(body, local):
            return counted(body, local) >= 1
        case Previous(body):
            return i >= 2 and at(body, i - 1)
        case Counting(body, local):
            return counted(body, local)
        case Conditional(condition, then, otherwise):
            return at(then) if at(condition) else at(otherwise)
        case Add(left, right):
            return at(left) + at(right)
        case Subtract(left, right):
            return at(left) - at(right)
        case Minimum(operands):
            return min(at(operand) for operand in operands)
        case Maximum(operands):
            return max(at(operand) for operand in operands)
        case Name(name):
            return values[name][i]
