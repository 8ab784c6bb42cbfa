"""A Boolean of a program as a machine that reads a word one symbol at a time.

A *configuration* is all that the rest of the word needs to know of what was read:

- For every linear combination of counts that some comparison tests, its value; not the counts
  themselves. `#[j <= i] Q_a(j) < #[j <= i] Q_b(j)` needs one number, the difference. Comparisons of
  conditional counts, `min` and `max` are split into cases first, so that each case tests one
  combination.
- For every Boolean that is read at an offset d, its last d values.
- The position, modulo the common period of the periodic predicates.

Two reductions make different configurations equal that no continuation tells apart:

- A combination that no symbol can decrease is capped once it has passed the thresholds of all its
  comparisons. These are then decided for good: larger values change nothing.
- What matters only to comparisons that are decided, or to operations that such comparisons
  decide, is forgotten. If `#[j <= i] bad(j) == 0` has become false, so has the conjunction that it
  is in, whatever the other operands are.

Both are sound for every continuation. The computation of a step on configurations in which
something was forgotten differs from the true one only in values on which nothing depends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.crasp.analysis.nodes import (
    Atom,
    Choice,
    Junction,
    Linear,
    Negation,
    NodeBuilder,
    Read,
    Threshold,
    Total,
    Value,
    conditions,
    linear_parts,
)
from weft.crasp.expressions import Constant, Position, Symbol
from weft.crasp.reference import OPERATORS
from weft.errors import WeftError

MAX_VALUE = 2**60
"""Integers stay below this, so that their sums fit into 64 bits."""

MAX_REDUCTIONS = 20_000
"""Beyond this many different sets of decided comparisons, nothing more is forgotten."""


@dataclass(frozen=True)
class Configurations:
    """A batch of configurations at one position.

    Attributes:
        forms: [configurations, forms], the values of the machine's forms.
        history: [configurations, reads], earlier values of nodes, as the machine lays them out.
    """

    forms: NDArray[np.int64]
    history: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.forms)

    def __getitem__(self, chosen: Any) -> Configurations:
        return Configurations(self.forms[chosen], self.history[chosen])


@dataclass(frozen=True)
class Reduction:
    """What some decided comparisons leave of a configuration.

    Attributes:
        forms: by form, whether it matters.
        caps: by form, from which value on larger ones make no difference.
        history: by column, whether it matters.
        position: whether the position matters.
        decided: whether the result is decided, so that nothing matters.
    """

    forms: NDArray[np.bool_]
    caps: NDArray[np.int64]
    history: NDArray[np.bool_]
    position: bool
    decided: bool


@dataclass(frozen=True)
class Decidable:
    """A comparison of a form that never decreases: it is decided once the form reaches a bound.

    Attributes:
        node: the threshold.
        form: the number of the form.
        bound: from this value on, the outcome is the same for ever.
        outcome: the result of the comparison then.
    """

    node: int
    form: int
    bound: int
    outcome: bool


class Machine:
    """Computes one node, the result, position by position.

    Attributes:
        alphabet: the symbols.
        forms: the combinations of counts that are compared.
        steps: by form, the least and the largest change at a symbol.
        columns: of the history: node and offset.
        period: of the positions.
    """

    def __init__(self, builder: NodeBuilder, result: int) -> None:
        self.alphabet = builder.alphabet
        self.result = result
        self._nodes = builder.nodes
        self._needed = self._closure()
        needed = [(number, self._nodes[number]) for number in self._needed]
        self._thresholds = {n: node for n, node in needed if isinstance(node, Threshold)}
        linear = [part for node in self._thresholds.values() for part in linear_parts(node.value)]
        self.forms = list(dict.fromkeys(part.form for part in linear if part.form is not None))
        self._form_number = {form: number for number, form in enumerate(self.forms)}
        depth: dict[int, int] = {}
        for _, node in needed:
            if isinstance(node, Read):
                depth[node.body] = max(depth.get(node.body, 0), node.offset)
        self.columns = [(body, k) for body, most in depth.items() for k in range(1, most + 1)]
        self._column = {place: number for number, place in enumerate(self.columns)}
        positions = [
            node.expression.predicate.period
            for _, node in needed
            if isinstance(node, Atom) and isinstance(node.expression, Position)
        ]
        self.period = lcm(*positions)
        self.steps = self._form_steps()
        self._decidable = self._find_decidable()
        self._nothing_decided = self._reduction({})
        self._reductions: dict[bytes, Reduction] = {}

    def inputs(self, number: int) -> Iterator[int]:
        """The nodes on which a node depends, at this position or at earlier ones."""
        match self._nodes[number]:
            case Negation(operand):
                yield operand
            case Junction(_, operands):
                yield from operands
            case Read(body, _):
                yield body
            case Threshold(_, value):
                yield from conditions(value)
                for part in linear_parts(value):
                    yield from (node for node, _ in (*part.counts, *part.bits))

    def _closure(self) -> list[int]:
        """The nodes on which the result depends, in order."""
        needed: set[int] = set()
        waiting = [self.result]
        while waiting:
            number = waiting.pop()
            if number not in needed:
                needed.add(number)
                waiting += self.inputs(number)
        return sorted(needed)

    def form_ranges(self, length: int) -> list[tuple[int, int]]:
        """By form, the least and the largest value in a configuration, up to a length."""
        caps = self._nothing_decided.caps.tolist()
        return [
            (min(0, length * low), min(max(0, length * high), cap))
            for (low, high), cap in zip(self.steps, caps, strict=True)
        ]

    def check_numbers(self, length: int) -> None:
        """Check that no integer leaves the range in which arithmetic is exact."""
        for node in self._thresholds.values():
            largest = 0
            for part in linear_parts(node.value):
                largest += sum(abs(c) for _, c in part.bits) + abs(part.constant)
                largest += length * sum(abs(c) for _, c in part.counts)
            if largest > MAX_VALUE:
                raise WeftError(
                    f"a comparison may meet numbers above 2^{MAX_VALUE.bit_length() - 1}",
                    remedy="Compare programs with smaller coefficients, or shorter words",
                )

    # One position after the other

    def start(self) -> Configurations:
        """The configuration at the begin symbol."""
        return Configurations(
            np.zeros((1, len(self.forms)), np.int64), np.zeros((1, len(self.columns)), np.bool_)
        )

    def result_at_begin(self) -> bool:
        """The result on the empty word."""
        return bool(self._evaluate(0, self.start(), at_begin=True)[0][self.result].all())

    def step(
        self, position: int, before: Configurations
    ) -> tuple[NDArray[np.bool_], Callable[[], Configurations]]:
        """Read each symbol of the alphabet at a position.

        Returns:
            The result for every configuration and symbol, [configurations, symbols], and a function
            that returns the configurations after them, in the same order, flattened.
        """
        values, forms = self._evaluate(position, before, at_begin=False)
        shape = (len(before), len(self.alphabet))

        def after() -> Configurations:
            new_forms = np.empty((*shape, len(self.forms)), np.int64)
            for number in range(len(self.forms)):
                new_forms[..., number] = forms[number]
            history = np.empty((*shape, len(self.columns)), np.bool_)
            for number, (body, offset) in enumerate(self.columns):
                if offset == 1:
                    history[..., number] = values[body]
                else:
                    history[..., number] = before.history[:, self._column[body, offset - 1], None]
            flat = shape[0] * shape[1]
            return Configurations(
                new_forms.reshape(flat, len(self.forms)), history.reshape(flat, len(self.columns))
            )

        return np.broadcast_to(values[self.result], shape), after

    def _evaluate(
        self, position: int, before: Configurations, *, at_begin: bool
    ) -> tuple[dict[int, NDArray[np.bool_]], dict[int, NDArray[np.int64]]]:
        """The values of nodes and forms, which broadcast to [configurations, symbols]."""
        values: dict[int, NDArray[np.bool_]] = {}
        forms: dict[int, NDArray[np.int64]] = {}
        symbols = np.eye(len(self.alphabet), dtype=np.bool_)[:, None] & (not at_begin)

        def form_value(number: int) -> NDArray[np.int64]:
            if number not in forms:
                total = before.forms[:, number, None]
                if not at_begin:
                    for body, coefficient in self.forms[number]:
                        total = total + coefficient * values[body]
                forms[number] = total
            return forms[number]

        def integer(value: Value) -> NDArray[np.int64]:
            match value:
                case Linear(_, bits, constant):
                    total = np.full((1, 1), constant)
                    if value.form is not None:
                        total = total + value.scale * form_value(self._form_number[value.form])
                    for bit, coefficient in bits:
                        total = total + coefficient * values[bit]
                    return total
                case Choice(condition, then, otherwise):
                    return np.where(values[condition], integer(then), integer(otherwise))
                case Total(summands):
                    parts = [sign * integer(summand) for summand, sign in summands]
                    return reduce(np.add, parts)

        for number in self._needed:
            match self._nodes[number]:
                case Atom(Symbol(symbol)):
                    values[number] = symbols[self.alphabet.index(symbol)]
                case Atom(Constant(value)):
                    values[number] = np.full((1, 1), value)
                case Atom(Position(predicate)):
                    values[number] = np.full((1, 1), predicate.holds(position))
                case Negation(operand):
                    values[number] = ~values[operand]
                case Junction(conjunction, operands):
                    function = np.logical_and if conjunction else np.logical_or
                    values[number] = reduce(function, (values[operand] for operand in operands))
                case Read(body, offset):
                    values[number] = before.history[:, self._column[body, offset], None]
                case Threshold(operator, value):
                    values[number] = np.asarray(OPERATORS[operator](integer(value), 0))
        for number in range(len(self.forms)):
            form_value(number)
        return values, forms

    # What is decided for good

    def _form_steps(self) -> list[tuple[int, int]]:
        """By form, the least and the largest change at a symbol, whatever came before."""
        changes: list[list[int]] = [[] for _ in self.forms]
        for symbol in self.alphabet:
            known = self._constants({}, symbol)
            for number, form in enumerate(self.forms):
                ends = [[c * b for b in ((known[n],) if n in known else (0, 1))] for n, c in form]
                changes[number].append(sum(map(min, ends)))
                changes[number].append(sum(map(max, ends)))
        return [(min(each), max(each)) for each in changes]

    def _constants(self, decided: Mapping[int, bool], symbol: str = "") -> dict[int, bool]:
        """The nodes whose values follow from some thresholds and, if given, from the symbol."""
        known: dict[int, bool] = {}
        for number in self._needed:
            match self._nodes[number]:
                case Atom(Symbol(tested)) if symbol:
                    known[number] = tested == symbol
                case Atom(Constant(value)):
                    known[number] = value
                case Negation(operand) if operand in known:
                    known[number] = not known[operand]
                case Junction(conjunction, operands):
                    if any(known.get(operand) is (not conjunction) for operand in operands):
                        known[number] = not conjunction
                    elif all(operand in known for operand in operands):
                        known[number] = conjunction
                case Threshold() if number in decided:
                    known[number] = decided[number]
        return known

    def _find_decidable(self) -> list[Decidable]:
        """The comparisons of forms that never decrease."""
        decidable: list[Decidable] = []
        for number, node in self._thresholds.items():
            value = node.value
            if not isinstance(value, Linear) or value.form is None:
                continue
            form = self._form_number[value.form]
            if self.steps[form][0] < 0:
                continue
            direction = 1 if value.scale > 0 else -1
            ends = [min(0, direction * coefficient) for _, coefficient in value.bits]
            least = direction * value.constant + sum(ends)  # without the form, in this direction
            outcome = bool(OPERATORS[node.operator](direction, 0))
            enough = int(bool(OPERATORS[node.operator](0, 0)) != outcome)  # 0 may decide, too
            bound = max(0, -((least - enough) // abs(value.scale)))
            decidable.append(Decidable(number, form, bound, outcome))
        return decidable

    def reduce(
        self, after: Configurations, position: int
    ) -> tuple[Configurations, NDArray[np.int64], NDArray[np.bool_]]:
        """Cap and forget what no longer matters.

        Returns:
            The configurations; the position modulo the period, or 0 where it does not matter; and
            which configurations matter: after the others, the result is the same for ever.
        """
        reductions, which = self._reductions_of(after)
        if len(reductions) == 1:
            which = np.zeros(1, np.intp)  # one row, which broadcasts
        caps = np.stack([reduction.caps for reduction in reductions])[which]
        kept_forms = np.stack([reduction.forms for reduction in reductions])[which]
        kept_history = np.stack([reduction.history for reduction in reductions])[which]
        positions = np.array([reduction.position for reduction in reductions])[which]
        matters = np.array([not reduction.decided for reduction in reductions])[which]
        return (
            Configurations(
                np.minimum(after.forms, caps) * kept_forms, after.history & kept_history
            ),
            np.broadcast_to(positions * (position % self.period), len(after)),
            np.broadcast_to(matters, len(after)),
        )

    def _reductions_of(self, after: Configurations) -> tuple[list[Reduction], NDArray[np.intp]]:
        """Reductions, and by configuration the number of its own."""
        columns = [each.form for each in self._decidable]
        if not columns:
            return [self._nothing_decided], np.zeros(len(after), np.intp)
        reached = after.forms[:, columns] >= np.array([each.bound for each in self._decidable])
        packed = np.ascontiguousarray(np.packbits(reached, axis=1))
        rows = packed.view(f"S{packed.shape[1]}")[:, 0]  # compared as bytes
        _, first, which = np.unique(rows, return_index=True, return_inverse=True)
        return [self._reduction_if(reached[index]) for index in first], which

    def _reduction_if(self, reached: NDArray[np.bool_]) -> Reduction:
        """The reduction if some decidable comparisons are decided."""
        key = reached.tobytes()
        if key not in self._reductions:
            if len(self._reductions) == MAX_REDUCTIONS:
                return self._nothing_decided
            pairs = zip(self._decidable, reached.tolist(), strict=True)
            decided = {each.node: each.outcome for each, done in pairs if done}
            self._reductions[key] = self._reduction(decided)
        return self._reductions[key]

    def _reduction(self, decided: Mapping[int, bool]) -> Reduction:
        """What matters to the result, if some comparisons are decided for good."""
        known = self._constants(decided)
        used: set[int] = set()
        waiting = [self.result]
        while waiting:
            number = waiting.pop()
            if number in used:
                continue
            used.add(number)
            node = self._nodes[number]
            if number not in known:
                waiting += self.inputs(number)
            elif isinstance(node, Negation):
                waiting.append(node.operand)
            elif isinstance(node, Junction) and known[number] is not node.conjunction:
                waiting.append(next(o for o in node.operands if known.get(o) is known[number]))
            elif isinstance(node, Junction):
                waiting += node.operands
        return self._reduction_to(used, self.result in known)

    def _reduction_to(self, used: set[int], decided: bool) -> Reduction:
        """The reduction that keeps what some nodes read."""
        bounds = {each.node: each.bound for each in self._decidable}
        caps = np.zeros(len(self.forms), np.int64)
        forms = np.zeros(len(self.forms), np.bool_)
        history = np.zeros(len(self.columns), np.bool_)
        position = False
        for number in used:
            match self._nodes[number]:
                case Threshold(_, value):
                    for part in linear_parts(value):
                        if part.form is not None:
                            form = self._form_number[part.form]
                            forms[form] = True
                            bound = bounds.get(number, MAX_VALUE)
                            caps[form] = max(caps[form], min(bound, MAX_VALUE))
                case Read(body, offset):
                    for k in range(1, offset + 1):
                        history[self._column[body, k]] = True
                case Atom(Position()):
                    position = True
        return Reduction(forms, caps, history, position, decided)
