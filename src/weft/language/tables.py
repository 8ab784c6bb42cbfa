"""The finite tables behind expressions.

Every expression takes finitely many values, because every variable does. A `Table` lists them and
says which one an expression has, given the codes of its inputs. If an
expression can fail, code `len(values)` stands for failure.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.errors import WeftError
from weft.language.expressions import (
    FAILED,
    Apply,
    Choice,
    Constant,
    Expression,
    Read,
    Written,
    evaluate,
    read_nodes,
    reads,
    show,
    value_key,
)
from weft.language.program import Variable
from weft.language.ranges import UNDEFINED

LIMIT = 1 << 18
"""The largest number of combinations of values over which an expression is tabulated."""


@dataclass(frozen=True, eq=False)
class Table:
    """The values of an expression.

    Attributes:
        values: the values that it can have, as Python objects.
        fails: whether it can fail; it then has one code more than values.
        own: whether it can fail although all of its inputs have a value.
        inputs: the expressions whose codes index `entries`, the last one fastest.
        entries: the code for each combination; empty if the node has no inputs.
    """

    values: tuple[Any, ...]
    fails: bool
    own: bool = False
    inputs: tuple[Expression, ...] = ()
    entries: Sequence[int] = ()

    @property
    def codes(self) -> int:
        """How many codes there are, failure included."""
        return len(self.values) + self.fails


class _Collector:
    """Collects values in the order of their first appearance and numbers them."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._codes: dict[Any, int] = {}

    def code(self, value: Any) -> int:
        key = value_key(value)
        code = self._codes.get(key)
        if code is None:
            code = self._codes[key] = len(self.values)
            self.values.append(value)
        return code


class Tables:
    """The tables of the expressions of one program, each computed once."""

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self.variables = variables
        self._tables: dict[int, Table] = {}
        self._kept: list[Expression] = []

    def of(self, node: Expression) -> Table:
        """The table of an expression."""
        table = self._tables.get(id(node))
        if table is None:
            table = self._tables[id(node)] = self._make(node)
            self._kept.append(node)  # an id means something only while its object lives
        return table

    def _make(self, node: Expression) -> Table:
        match node:
            case Constant(value=value):
                return Table((value,), fails=False)
            case Read(variable=variable):
                declared = self.variables[variable]
                return Table(declared.range.values, fails=declared.is_head, own=declared.is_head)
            case Written(value=inner):
                return self.of(inner)
            case Choice():
                return self._choice(node)
            case Apply():
                return self._apply(node)
        raise TypeError(node)

    def _choice(self, node: Choice) -> Table:
        test, then, otherwise = self.of(node.test), self.of(node.then), self.of(node.otherwise)
        truths = {truth(value) for value in test.values}
        sides = [side for side, taken in ((then, True), (otherwise, False)) if taken in truths]
        collector = _Collector()
        for side in sides:
            for value in side.values:
                collector.code(value)
        fails = test.fails or None in truths or any(side.fails for side in sides)
        return Table(tuple(collector.values), fails, own=None in truths)

    def _apply(self, node: Apply) -> Table:
        tables = [self.of(argument) for argument in node.arguments]
        if math.prod(table.codes for table in tables) <= LIMIT:
            return self._tabulate(node, node.arguments)
        variables = tuple(read_nodes(node))
        count = math.prod(self.of(variable).codes for variable in variables)
        if count > LIMIT:
            raise self.too_large(node, count)
        return self._tabulate(node, variables)

    def _tabulate(self, node: Apply, inputs: tuple[Expression, ...]) -> Table:
        """Compute the node for every combination of its inputs' values."""
        by_argument = inputs is node.arguments
        names = [i.variable for i in inputs if isinstance(i, Read)]
        collector = _Collector()
        entries = array("i")
        own = fails = False
        for values in itertools.product(*(self._codes_as_values(i) for i in inputs)):
            given_up = any(value is FAILED for value in values)
            try:
                if given_up and by_argument and not node.lazy:
                    raise ArithmeticError
                if by_argument:
                    result = node.function(*values)
                else:
                    state = [UNDEFINED if v is FAILED else v for v in values]
                    result = evaluate(node, dict(zip(names, state, strict=True)))
            except Exception:
                fails = True
                own = own or node.lazy or not given_up or not by_argument
                entries.append(-1)
            else:
                entries.append(collector.code(result))
        count = len(collector.values)
        final = array("i", (count if code < 0 else code for code in entries))
        return Table(tuple(collector.values), fails, own, inputs, final)

    def _codes_as_values(self, node: Expression) -> Iterator[Any]:
        table = self.of(node)
        yield from table.values
        if table.fails:
            yield FAILED

    def too_large(self, node: Expression, count: int) -> WeftError:
        """The error for an expression with more combinations than can be tabulated."""
        names = reads(node)
        sizes = ", ".join(f"{name} ({len(self.variables[name])} values)" for name in names)
        return WeftError(
            f"`{show(node)}` would be tabulated over {sizes}: {count:,} combinations, more than "
            f"{LIMIT:,}",
            where=node.where if isinstance(node, Apply) else None,
            remedy="Compute it in smaller pieces, with a test or a variable of few values between",
        )


def truth(value: Any) -> bool | None:
    """The truth value of an object; None if `bool()` raises."""
    try:
        return bool(value)
    except Exception:
        return None


def passing_values(test: Expression, held: bool, variable: Variable) -> list[Any]:
    """The values of a variable at which a test that reads it alone has an outcome."""
    passing = []
    for value in variable.range.values:
        try:
            if truth(evaluate(test, {variable.name: value})) is held:
                passing.append(value)
        except Exception:
            continue  # the test fails there
    return passing
