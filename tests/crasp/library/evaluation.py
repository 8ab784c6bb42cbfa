"""All lines of a program on many words of one length at once, for exhaustive tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.crasp import expressions as ex
from weft.crasp.program import CraspProgram
from weft.crasp.reference import OPERATORS

Array = np.ndarray[Any, Any]


def all_words(alphabet: tuple[str, ...], length: int) -> Array:
    """Every word of a length, one per row, as numbers of symbols."""
    grid = np.indices((len(alphabet),) * length, dtype=np.int8)
    return grid.reshape(length, -1).T


def values(program: CraspProgram, words: Array) -> dict[str, Array]:
    """The values of each line: a row per word, a column per position, the begin symbol first."""
    result: dict[str, Array] = {}
    for line in program.lines:
        result[line.name] = _value(line.expression, program, words, result)
    return result


def _value(
    expression: ex.Expression, program: CraspProgram, words: Array, known: Mapping[str, Array]
) -> Array:
    size = (words.shape[0], words.shape[1] + 1)

    def at(inside: ex.Expression) -> Array:
        return _value(inside, program, words, known)

    def shifted(body: Array, offset: int) -> Array:
        result = np.zeros_like(body)
        result[:, offset:] = body[:, : size[1] - offset]
        return result

    def counted(body: ex.Expression, local: ex.Local | None) -> Array:
        true = at(body).astype(np.int32)
        true[:, 0] = 0
        if local is None:
            return true.cumsum(1)
        total = np.zeros(size, np.int32)
        for offset in local.offsets:
            total += shifted(true, offset)
        return total

    match expression:
        case ex.Symbol(symbol):
            result = np.zeros(size, bool)
            result[:, 1:] = words == program.alphabet.index(symbol)
            return result
        case ex.Constant(value) | ex.Integer(value):
            return np.full(size, value)
        case ex.Position(predicate):
            return np.broadcast_to([predicate.holds(i) for i in range(size[1])], size)
        case ex.Not(operand):
            return ~at(operand)
        case ex.And(operands):
            return np.logical_and.reduce([at(operand) for operand in operands])
        case ex.Or(operands):
            return np.logical_or.reduce([at(operand) for operand in operands])
        case ex.Comparison(operator, left, right):
            return OPERATORS[operator](at(left), at(right))
        case ex.Exists(body, local):
            return counted(body, local) >= 1
        case ex.Previous(body):
            return counted(body, ex.Local((1,))) >= 1
        case ex.Counting(body, local):
            return counted(body, local)
        case ex.Add(left, right):
            return at(left) + at(right)
        case ex.Subtract(left, right):
            return at(left) - at(right)
        case ex.Name(name):
            return known[name]
    raise AssertionError(expression)
