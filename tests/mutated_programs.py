"""C-RASP programs with one part changed, from a seed."""

import random
from collections.abc import Iterator
from dataclasses import replace

from weft.crasp import CraspProgram, Line
from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
    operands,
    with_operands,
)
from weft.errors import WeftError


def changes(part: Expression, alphabet: tuple[str, ...]) -> list[Expression]:
    """What may stand in the place of an expression."""
    match part:
        case Symbol(symbol):
            others: list[Expression] = [Symbol(other) for other in alphabet if other != symbol]
            return [*others, Constant(True), Previous(part)]
        case Constant(value):
            return [Constant(not value)]
        case Integer(value):
            return [Integer(value + 1), Integer(value - 1)]
        case Position(Periodic(period, residues)):
            moved = tuple(sorted((r + 1) % period for r in residues))
            return [Position(Periodic(period, moved)), Constant(True)]
        case Not(inside):
            return [inside]
        case And(inside):
            return [Or(inside), inside[0], inside[-1]]
        case Or(inside):
            return [And(inside), inside[0], inside[-1]]
        case Comparison(_, left, right):
            operators = ("<", "<=", "==", "!=", ">=", ">")
            return [Comparison(each, left, right) for each in operators if each != part.operator]
        case Exists(body, None):
            return [body, Exists(body, Local((0, 1)))]
        case Counting(body, None):
            return [Counting(Not(body)), Counting(body, Local((0, 1, 2)))]
        case Add(left, right):
            return [Subtract(left, right), left]
        case Subtract(left, right):
            return [Subtract(right, left), Add(left, right), left]
        case Previous(body):
            return [body, Previous(part)]
    return []


def mutated(expression: Expression, alphabet: tuple[str, ...]) -> Iterator[Expression]:
    """An expression with each change of each of its parts."""
    yield from changes(expression, alphabet)
    inside = operands(expression)
    for place, operand in enumerate(inside):
        for changed in mutated(operand, alphabet):
            yield with_operands(expression, [*inside[:place], changed, *inside[place + 1 :]])


def mutations(program: CraspProgram) -> list[CraspProgram]:
    """All programs with one part of one line changed."""
    found = []
    for place, line in enumerate(program.lines):
        for changed in mutated(line.expression, program.alphabet):
            lines = (*program.lines[:place], Line(line.name, changed), *program.lines[place + 1 :])
            try:
                found.append(replace(program, lines=lines))
            except WeftError:  # the kind of the line has changed
                continue
    return found


def some_mutations(program: CraspProgram, rng: random.Random, count: int) -> list[CraspProgram]:
    """Some of them, drawn at random."""
    every = mutations(program)
    return rng.sample(every, min(count, len(every)))
