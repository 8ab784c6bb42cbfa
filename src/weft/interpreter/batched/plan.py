"""A step as a list of NumPy table look-ups.

Every value is a code (see `language.tables`), so a step is a function of codes. An expression over
variables with few joint values becomes a look-up in one table; a larger one is composed of the
look-ups of its parts. Failure is a code too, so nothing is computed under a mask: failures on the
paths that a step takes are checked at the end.

    n   positions, of all sequences of a batch one after the other
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.language.expressions import (
    Apply,
    Choice,
    Constant,
    Expression,
    Read,
    Written,
    deep_recursion,
    reads,
    value_key,
)
from weft.language.program import Program
from weft.language.tables import Table, Tables, truth
from weft.language.updates import Store, Updates

Codes = NDArray[Any]
Columns = Mapping[str, Codes]

FUSED = 1 << 18
"""The largest table that several variables index together, in entries."""


def code_type(count: int) -> type[np.unsignedinteger[Any]]:
    """The smallest type that holds codes 0 to count - 1."""
    return np.uint8 if count <= 1 << 8 else np.uint16 if count <= 1 << 16 else np.uint32


class Evaluator:
    """Codes of expressions from codes of variables, node by node."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._entries: dict[int, Codes] = {}

    def codes(self, node: Expression, columns: Columns, memo: dict[int, Codes]) -> Codes:
        """The codes of an expression, in the shape that the columns broadcast to."""
        codes = memo.get(id(node))
        if codes is None:
            codes = memo[id(node)] = self._compute(node, columns, memo)
        return codes

    def _compute(self, node: Expression, columns: Columns, memo: dict[int, Codes]) -> Codes:
        match node:
            case Constant():
                return np.zeros((), np.uint8)
            case Read(variable=variable):
                return columns[variable]
            case Written(value=inner):
                return self.codes(inner, columns, memo)
            case Choice():
                return self._choice(node, columns, memo)
            case Apply():
                table = self.tables.of(node)
                given = [self.codes(source, columns, memo) for source in table.inputs]
                sizes = [self.tables.of(source).codes for source in table.inputs]
                return self.entries(node, table)[joint(given, sizes)]
        raise TypeError(node)

    def entries(self, node: Expression, table: Table) -> Codes:
        """The table of an applied function as an array."""
        entries = self._entries.get(id(node))
        if entries is None:
            entries = np.asarray(table.entries, dtype=code_type(max(table.codes, 1)))
            self._entries[id(node)] = entries
        return entries

    def _choice(self, node: Choice, columns: Columns, memo: dict[int, Codes]) -> Codes:
        parts = choice_parts(self.tables, node)
        held = parts.truths[self.codes(node.test, columns, memo)]
        then = parts.then[self.codes(node.then, columns, memo)]
        otherwise = parts.otherwise[self.codes(node.otherwise, columns, memo)]
        return parts.pick(held, then, otherwise)


@dataclass(frozen=True)
class ChoiceParts:
    """Tables that map both branches of a choice to common codes; a truth of 2 is a failure."""

    truths: Codes
    then: Codes
    otherwise: Codes
    failure: int

    def pick(self, held: Codes, then: Codes, otherwise: Codes) -> Codes:
        """The branch that the test picks."""
        picked = np.where(held == 1, then, otherwise)
        if self.failure >= 0:
            picked = np.where(held == 2, np.asarray(self.failure, picked.dtype), picked)
        return picked


def choice_parts(tables: Tables, node: Choice) -> ChoiceParts:
    """The tables of a choice."""
    table = tables.of(node)
    kind = code_type(table.codes + 1)

    places = {value_key(value): code for code, value in enumerate(table.values)}

    def mapping(side: Expression) -> Codes:
        own = tables.of(side)
        codes = [places.get(value_key(value), len(table.values)) for value in own.values]
        return np.asarray([*codes, *([len(table.values)] if own.fails else [])], dtype=kind)

    test = tables.of(node.test)
    outcomes = [truth(value) for value in test.values]
    truths = [2 if held is None else int(held) for held in outcomes] + [2] * test.fails
    failure = len(table.values) if 2 in truths else -1
    return ChoiceParts(
        np.asarray(truths, np.uint8), mapping(node.then), mapping(node.otherwise), failure
    )


def joint(codes: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """The place in a flat table of several codes, the last one fastest."""
    if not codes:
        return np.zeros((), np.intp)
    shape = np.broadcast_shapes(*(code.shape for code in codes))
    index = np.empty(shape, np.intp)
    index[...] = codes[0]
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        index *= size
        index += code
    return index


SHARED = 1 << 12
"""The largest table that is widened to reuse joint codes, in entries."""

Register = int
"""The index of an intermediate result."""


class StepPlan:
    """The instructions that compute a step for all positions at once."""

    def __init__(self, program: Program) -> None:
        updates = program.updates
        self.variables = program.variables
        self.tables = Tables(program.variables)
        self.evaluator = Evaluator(self.tables)
        self._instructions: list[Callable[[list[Codes], Columns], Codes]] = []
        self._registers: dict[int, Register] = {}
        self._indices: dict[tuple[str, ...], Register] = {}
        self.new: dict[str, Register] = {}
        self.failures: list[Register] = []
        with deep_recursion():
            for name in updates.written:
                self._plan_update(name, updates)
            self._plan_failures(updates)

    def _plan_update(self, name: str, updates: Updates) -> None:
        """Compute the variable's new codes; a value out of range is a failure."""
        variable = self.variables[name]
        stored = updates.make.apply(Store(variable), updates.values[name])
        table = self.tables.of(stored)
        codes = [variable.range.codes[value] for value in table.values]
        out_of_range = len(variable)
        lut = np.asarray(
            [*codes, *([out_of_range] if table.fails else [])], code_type(len(variable) + 1)
        )
        register = self._mapped(stored, lut)
        self.new[name] = register
        if table.fails:
            self.failures.append(self._add(lambda values, _: values[register] == out_of_range))

    def _plan_failures(self, updates: Updates) -> None:
        """Compute where an expression on the path of the step cannot be evaluated."""
        groups: list[tuple[set[str], list[Expression]]] = []
        for node in _failing(updates, self.tables):
            names = set(reads(node))
            for members, nodes in groups:
                if self._count(members | names) <= FUSED:
                    members |= names
                    nodes.append(node)
                    break
            else:
                groups.append((names, [node]))
        for members, nodes in groups:
            if self._count(members) <= FUSED:
                self.failures.append(self._fused_failures(sorted(members), nodes))
            else:
                for node in nodes:
                    self.failures.append(self._mapped(node, self._failure_lut(node)))

    def _fused_failures(self, names: list[str], nodes: list[Expression]) -> Register:
        grid, memo = self._grid(names), dict[int, Codes]()
        shape = [self._size(name) for name in names]
        fails = np.zeros(shape, bool)
        for node in nodes:
            codes = self.evaluator.codes(node, grid, memo)
            fails |= self._failure_lut(node)[codes]
        return self._lookup(names, fails)

    def _failure_lut(self, node: Expression) -> Codes:
        table = self.tables.of(node)
        lut = np.zeros(table.codes, bool)
        lut[len(table.values) :] = True
        return lut

    def _mapped(self, node: Expression, lut: Codes) -> Register:
        """A register with the codes of an expression, mapped through a table."""
        names = reads(node)
        if self._count(names) <= FUSED:
            shape = [self._size(name) for name in names]
            codes = np.broadcast_to(self.evaluator.codes(node, self._grid(names), {}), shape)
            return self._lookup(names, lut[codes])
        source = self._register(node)
        return self._add(lambda values, _: lut[values[source]])

    def _register(self, node: Expression) -> Register:
        """The register with the codes of an expression."""
        if isinstance(node, Written):
            return self._register(node.value)
        register = self._registers.get(id(node))
        if register is None:
            register = self._registers[id(node)] = self._plan_node(node)
        return register

    def _plan_node(self, node: Expression) -> Register:
        names = reads(node)
        if self._count(names) <= FUSED:
            table = self.tables.of(node)
            return self._mapped(node, np.arange(table.codes, dtype=code_type(max(table.codes, 1))))
        if isinstance(node, Choice):
            return self._plan_choice(node)
        assert isinstance(node, Apply)
        table = self.tables.of(node)
        sources = [self._register(source) for source in table.inputs]
        sizes = [self.tables.of(source).codes for source in table.inputs]
        entries = self.evaluator.entries(node, table)
        return self._add(lambda values, _: entries[joint([values[s] for s in sources], sizes)])

    def _plan_choice(self, node: Choice) -> Register:
        parts = choice_parts(self.tables, node)
        test = self._mapped(node.test, parts.truths)
        then, otherwise = (
            self._mapped(node.then, parts.then),
            self._mapped(node.otherwise, parts.otherwise),
        )
        return self._add(
            lambda values, _: parts.pick(values[test], values[then], values[otherwise])
        )

    def _lookup(self, names: Sequence[str], lut: Codes) -> Register:
        """A register that looks up the joint codes of variables, one axis of the table each."""
        if not names:
            return self._add(lambda _, columns: np.broadcast_to(lut, _length(columns)))
        wider = self._wider(set(names))
        if wider is not None:
            sizes = [self._size(name) if name in names else 1 for name in wider]
            places = [names.index(name) for name in wider if name in names]
            lut = np.broadcast_to(
                lut.transpose(places).reshape(sizes), [self._size(name) for name in wider]
            )
            names = wider
        flat = np.ascontiguousarray(lut).reshape(-1)
        index = self._index(tuple(names))
        return self._add(lambda values, _: flat.take(values[index]))

    def _wider(self, names: set[str]) -> tuple[str, ...] | None:
        """A superset of these variables whose joint codes are computed already, if it is small."""
        for known in self._indices:
            if names <= set(known) and self._count(known) <= SHARED:
                return known
        return None

    def _index(self, names: tuple[str, ...]) -> Register:
        """The joint codes of some variables, shared by all tables over them."""
        register = self._indices.get(names)
        if register is None:
            sizes = [self._size(name) for name in names]
            register = self._indices[names] = self._add(
                lambda _, columns: joint([columns[name] for name in names], sizes)
            )
        return register

    def _add(self, instruction: Callable[[list[Codes], Columns], Codes]) -> Register:
        self._instructions.append(instruction)
        return len(self._instructions) - 1

    def _size(self, name: str) -> int:
        variable = self.variables[name]
        return len(variable) + variable.is_head

    def _count(self, names: Sequence[str] | set[str]) -> int:
        return math.prod(self._size(name) for name in names)

    def _grid(self, names: Sequence[str]) -> dict[str, Codes]:
        """Every combination of codes, with one axis per variable."""
        grid = {}
        for axis, name in enumerate(names):
            shape = [1] * len(names)
            shape[axis] = self._size(name)
            grid[name] = np.arange(self._size(name), dtype=np.intp).reshape(shape)
        return grid

    def run(self, columns: Columns) -> tuple[dict[str, Codes], Codes | None]:
        """The new codes of the variables that change, and where the step fails (None: nowhere)."""
        values: list[Codes] = []
        for instruction in self._instructions:
            values.append(instruction(values, columns))
        fails: Codes | None = None
        for register in self.failures:
            if values[register].any():
                fails = values[register] if fails is None else fails | values[register]
        return {name: values[register] for name, register in self.new.items()}, fails


def _length(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _failing(updates: Updates, tables: Tables) -> Iterator[Expression]:
    """Expressions that fail exactly where the step fails while it computes a value."""
    make = updates.make
    nothing = make.constant(None)
    for effect in updates.effects:
        table = tables.of(effect.node)
        # A choice itself fails if it stands for a local name that was never assigned.
        if not (table.fails if isinstance(effect.node, Choice) else table.own):
            continue
        yield make.on_path(effect.path, effect.node, nothing)
