"""Three-valued evaluation of a C-RASP program at one position.

Booleans are true, false or unknown, and a form is an interval. What is known is right for every
word that agrees with what is given: if nothing is unknown, the values are those of the reference
interpreter.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from weft.theory.length.checker.normal_form import (
    ConstantNode,
    JunctionNode,
    Linear,
    Node,
    NormalForm,
    NotNode,
    PositionNode,
    ReadNode,
    SymbolNode,
    TestNode,
    TooLarge,
)

OVERHEAD = 10
"""What an evaluation costs beside its nodes, in nodes."""

FALSE, TRUE, UNKNOWN = 0, 1, 2
Interval = tuple[float, float]
"""The least and the largest value; both are integers or infinite."""
ANYTHING: Interval = (-inf, inf)


class Evaluator:
    """Three-valued evaluation of a program at one position.

    Args:
        normal: the program.
        work: how many nodes it may evaluate; `TooLarge` is raised beyond.
    """

    def __init__(self, normal: NormalForm, work: int) -> None:
        self.normal = normal
        self.work = work
        self._column = {place: number for number, place in enumerate(normal.columns)}

    def values(
        self, forms: Sequence[Interval], history: Sequence[int], position: int, letter: int | None
    ) -> list[int]:
        """The value of every node; `letter` None stands for the begin symbol."""
        values: list[int] = []
        self._evaluate(values, {}, forms, history, position, letter, len(self.normal.nodes))
        return values

    def _evaluate(
        self,
        values: list[int],
        assumed: dict[int, int],
        forms: Sequence[Interval],
        history: Sequence[int],
        position: int,
        letter: int | None,
        stop: int,
    ) -> None:
        """Append the values of the nodes up to `stop`; without assumptions, split cases."""
        nodes = self.normal.nodes
        self.work -= stop - len(values) + OVERHEAD
        if self.work < 0:
            raise TooLarge("the proof takes too many steps")
        for number in range(len(values), stop):
            if number in assumed:
                values.append(assumed[number])
                continue
            value = self._node(nodes[number], values, forms, history, position, letter)
            if value == UNKNOWN and not assumed and isinstance(nodes[number], JunctionNode):
                value = self._split(number, values, forms, history, position, letter)
            values.append(value)

    def _split(
        self,
        number: int,
        values: list[int],
        forms: Sequence[Interval],
        history: Sequence[int],
        position: int,
        letter: int | None,
    ) -> int:
        """The value of a junction if it is the same for both values of an unknown operand."""
        node = self.normal.nodes[number]
        assert isinstance(node, JunctionNode)
        decisive = FALSE if node.conjunction else TRUE
        for operand in node.operands:
            if values[operand] != UNKNOWN:
                continue
            # If the operand has the decisive value, so has the junction: assume the other one.
            trial = values[:operand]
            assumed = {operand: TRUE if node.conjunction else FALSE}
            self._evaluate(trial, assumed, forms, history, position, letter, number + 1)
            if trial[number] == decisive:
                return decisive
        return UNKNOWN

    def _node(
        self,
        node: Node,
        values: Sequence[int],
        forms: Sequence[Interval],
        history: Sequence[int],
        position: int,
        letter: int | None,
    ) -> int:
        match node:
            case SymbolNode(tested):
                return int(letter == tested)
            case ConstantNode(value):
                return int(value)
            case PositionNode(predicate):
                return int(predicate.holds(position))
            case NotNode(operand):
                known = values[operand]
                return UNKNOWN if known == UNKNOWN else 1 - known
            case JunctionNode(conjunction, operands):
                inside = [values[operand] for operand in operands]
                if (not conjunction) in inside:
                    return int(not conjunction)
                return UNKNOWN if UNKNOWN in inside else int(conjunction)
            case ReadNode(body, offset):
                if letter is None:
                    return FALSE
                return values[body] if offset == 0 else history[self._column[body, offset]]
            case TestNode(operator, cases):
                results = set()
                for case in cases:
                    met = [values[guard] in (int(wanted), UNKNOWN) for guard, wanted in case.guards]
                    if all(met):
                        low, high = self._interval(case.value, values, forms, letter)
                        results.add(compared(operator, low, high))
                return results.pop() if len(results) == 1 else UNKNOWN

    def _interval(
        self, linear: Linear, values: Sequence[int], forms: Sequence[Interval], letter: int | None
    ) -> Interval:
        low: float = linear.constant
        high: float = linear.constant
        for bit, coefficient in linear.bits:
            least, most = step(values[bit], coefficient)
            low, high = low + least, high + most
        if linear.form >= 0:
            ends = self.form_after(linear.form, forms[linear.form], values, letter)
            low += min(linear.scale * end for end in ends)
            high += max(linear.scale * end for end in ends)
        return low, high

    def form_after(
        self, number: int, before: Interval, values: Sequence[int], letter: int | None
    ) -> Interval:
        """The interval of a form after this position."""
        low, high = before
        if letter is not None and before != ANYTHING:
            for body, coefficient in self.normal.forms[number]:
                least, most = step(values[body], coefficient)
                low, high = low + least, high + most
        return low, high

    def history_after(self, history: Sequence[int], values: Sequence[int]) -> tuple[int, ...]:
        """The earlier values that the next position reads."""
        return tuple(
            values[body] if offset == 1 else history[self._column[body, offset - 1]]
            for body, offset in self.normal.columns
        )


def step(value: int, coefficient: int) -> tuple[int, int]:
    """The least and the largest of coefficient times a Boolean."""
    if value != UNKNOWN:
        return coefficient * value, coefficient * value
    return min(0, coefficient), max(0, coefficient)


def compared(operator: str, low: float, high: float) -> int:
    """Whether every number of an interval, or none, satisfies a comparison with 0."""
    match operator:
        case "<":
            return TRUE if high < 0 else FALSE if low >= 0 else UNKNOWN
        case "<=":
            return TRUE if high <= 0 else FALSE if low > 0 else UNKNOWN
        case ">":
            return TRUE if low > 0 else FALSE if high <= 0 else UNKNOWN
        case ">=":
            return TRUE if low >= 0 else FALSE if high < 0 else UNKNOWN
        case "==":
            return TRUE if low == high == 0 else FALSE if low > 0 or high < 0 else UNKNOWN
        case "!=":
            return FALSE if low == high == 0 else TRUE if low > 0 or high < 0 else UNKNOWN
    raise AssertionError(operator)
