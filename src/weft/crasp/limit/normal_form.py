"""The normal form of a C-RASP program: what has to be counted, and functions of the counts.

Every Boolean of a program becomes a function, in canonical form (`weft.crasp.limit.intervals`), of

    TokenAt(d)     the symbol at position i - d, or none before position 1; d = 0 is this position
    Residue(m)     the position modulo m
    Shifted(P, d)  whether P holds at i - d, for a P that depends on counts
    Form(...)      a linear combination of counts, which is tested for being at least an integer

so equal sub-expressions are one function. Counts are linear combinations of countings; conditionals
and local counts split them into cases, and a minimum is split when it is compared:

    min(C, D) >= E    C >= E and D >= E            (P ? C : D) >= E    (P ? C >= E : D >= E)

A local read of a function without counts reads symbols and residues further to the left, which
takes no further layer; `previous previous Q_a` is `TokenAt(2)`.

Layers: a function is computed by the feed-forward of layer `layer(P)`; one of the symbol alone, or
of the position alone, is part of the embedding, layer 0. Heads of a layer read what earlier layers
computed, so the countings and local reads of P are available from layer `layer(P) + 1` on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
from weft.crasp.limit.intervals import Diagrams, Node, TooLarge
from weft.crasp.program import CraspProgram
from weft.errors import WeftError

MAX_PERIOD = 1 << 16
"""The largest period: tables of positions have a row for each residue."""
MAX_OFFSET = 1 << 12
"""The largest offset: heads have a bias for each distance up to it."""
MAX_JOINT_PERIOD = 64
"""Periods are treated as one if their least common multiple is at most this."""


@dataclass(frozen=True)
class TokenAt:
    """The symbol at position i - offset: 0 for none, otherwise its place in the alphabet plus 1."""

    offset: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Symbols are tested first, so that a function is split by symbol."""
        return (0, self.offset)

    @property
    def level(self) -> int:
        """The layer from whose attention on it is in the stream."""
        return min(self.offset, 1)


@dataclass(frozen=True)
class Residue:
    """The position modulo a period."""

    period: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Residues are tested after symbols."""
        return (1, self.period)

    @property
    def level(self) -> int:
        """It is part of the embedding."""
        return 0


@dataclass(frozen=True)
class Shifted:
    """Whether a function holds at position i - offset, and i - offset is at least 1."""

    node: Node
    offset: int
    level: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Bits are tested after residues."""
        return (2, self.level, self.node, self.offset)


@dataclass(frozen=True)
class Form:
    """A linear combination of countings, by their numbers; the first coefficient is positive."""

    terms: tuple[tuple[int, int], ...]
    level: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Forms are tested last, the ones that are available latest before the others."""
        return (3, -self.level, self.terms)


@dataclass(frozen=True)
class Extreme:
    """A minimum or maximum of counts, inside a linear combination."""

    smallest: bool
    operands: tuple[Node, ...]


Atom = int | Extreme
"""A counting, by its number, or a minimum or maximum."""


@dataclass(frozen=True)
class Linear:
    """A linear combination of countings, plus an integer."""

    terms: tuple[tuple[Atom, int], ...] = ()
    constant: int = 0

    def plus(self, other: Linear, times: int = 1) -> Linear:
        """This one plus `times` the other."""
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + times * coefficient
        kept = ((atom, coefficient) for atom, coefficient in total.items() if coefficient)
        return Linear(tuple(sorted(kept, key=_atom_key)), self.constant + times * other.constant)

    @property
    def countings(self) -> dict[int, int]:
        """The coefficients of countings; there must be no minimum or maximum."""
        return {atom: coefficient for atom, coefficient in self.terms if isinstance(atom, int)}


def _atom_key(term: tuple[Atom, int]) -> tuple[Any, ...]:
    atom = term[0]
    return (0, atom) if isinstance(atom, int) else (1, atom.smallest, atom.operands)


@dataclass(frozen=True)
class Guarded:
    """A summand of a count: `linear` where `guard` holds, otherwise 0."""

    guard: Node
    linear: Linear


@dataclass(frozen=True, eq=False)
class NormalForm:
    """A program in normal form.

    Attributes:
        program: the program.
        diagrams: all functions.
        bodies: what is counted, by the number of the counting.
        booleans: the functions of the Boolean lines.
        counts: the count lines, as sums.
    """

    program: CraspProgram
    diagrams: Diagrams
    bodies: tuple[Node, ...]
    booleans: Mapping[str, Node]
    counts: Mapping[str, tuple[Guarded, ...]]

    def layer(self, node: Node) -> int:
        """The layer whose feed-forward computes a function; 0 for the embedding."""
        return layer_of(self.diagrams, node)

    def level(self, counting: int) -> int:
        """The layer from whose attention on a counting is in the stream."""
        return self.layer(self.bodies[counting]) + 1

    def at_begin(self, node: Node) -> bool:
        """The value of a function at the begin symbol, which is the same for all words."""
        return bool(self.diagrams.evaluate(node, lambda variable: 0))

    @cached_property
    def _names(self) -> dict[Node, str]:
        return {self.booleans[name]: name for name in reversed(list(self.booleans))}

    @cached_property
    def _descriptions(self) -> dict[Node, str]:
        return dict(self._names)

    def describe(self, node: Node) -> str:
        """A function as text: the name of its line, or its cases."""
        if node not in self._descriptions:
            self._descriptions[node] = self._described(node)
        return self._descriptions[node]

    def _described(self, node: Node) -> str:
        if self.diagrams.step(node) is None:
            return str(self.diagrams.value(node)).lower()
        negated = self.diagrams.negate(node)
        if negated in self._names:
            return f"not {self._names[negated]}"
        if self.diagrams.count_paths(node, 9) > 8:
            return f"function {node}"
        cuts = self.diagrams.cuts(node)
        cases = [
            " and ".join(self._literal(v, cuts[v], numbers) for v, numbers in path.items())
            for path in self.diagrams.paths(node)
        ]
        return " or ".join(f"({case})" if len(cases) > 1 else case for case in cases)

    def describe_linear(self, linear: Linear) -> str:
        """A linear combination as text."""
        parts = []
        for counting, coefficient in linear.countings.items():
            times = "" if abs(coefficient) == 1 else f"{abs(coefficient)} "
            parts.append(("- " if coefficient < 0 else "+ ") + times + self.counted(counting))
        if linear.constant or not parts:
            parts.append(("- " if linear.constant < 0 else "+ ") + str(abs(linear.constant)))
        return " ".join(parts).removeprefix("+ ")

    def counted(self, counting: int) -> str:
        """A counting as text."""
        body = self.describe(self.bodies[counting])
        return f"# ({body})" if " " in body else f"# {body}"

    def _literal(self, variable: Any, cuts: tuple[int, ...], numbers: frozenset[int]) -> str:
        """A test of a variable as text."""
        if isinstance(variable, Form):
            form = self.describe_linear(Linear(variable.terms))
            bounds = interval_bounds(cuts, numbers)
            return " or ".join(_bounds_text(form, low, high) for low, high in bounds)
        if isinstance(variable, Residue):
            residues = values_of(cuts, numbers, variable.period)
            return f"MOD({variable.period}, {{{', '.join(map(str, residues))}}})"
        at = f"(i - {variable.offset})" if variable.offset else ""
        if isinstance(variable, Shifted):
            positive = f"({self.describe(variable.node)}){at}"
            return positive if 1 in numbers else f"not {positive}"
        alphabet = self.program.alphabet
        tokens = values_of(cuts, numbers, len(alphabet) + 1)
        nothing = "none" if variable.offset else "begin"
        names = [nothing if not token else f"Q_{alphabet[token - 1]}" for token in tokens]
        if len(names) * 2 > len(alphabet) + 1:
            others = [token for token in range(len(alphabet) + 1) if token not in tokens]
            names = [nothing if not token else f"Q_{alphabet[token - 1]}" for token in others]
            return " and ".join(f"not {name}{at}" for name in names)
        text = " or ".join(f"{name}{at}" for name in names)
        return f"({text})" if len(names) > 1 else text


def values_of(cuts: tuple[int, ...], numbers: Iterable[int], size: int) -> list[int]:
    """The values from 0 to `size` - 1 in some of the intervals between cuts."""
    edges = (0, *cuts, size)
    return [v for number in sorted(numbers) for v in range(edges[number], edges[number + 1])]


def interval_bounds(
    cuts: tuple[int, ...], numbers: frozenset[int]
) -> list[tuple[int | None, int | None]]:
    """Maximal runs of intervals: from the first bound on, below the second; None if unbounded."""
    runs: list[tuple[int | None, int | None]] = []
    for number in sorted(numbers):
        low = cuts[number - 1] if number else None
        high = cuts[number] if number < len(cuts) else None
        if runs and low is not None and runs[-1][1] == low:
            runs[-1] = (runs[-1][0], high)
        else:
            runs.append((low, high))
    return runs


def _bounds_text(form: str, low: int | None, high: int | None) -> str:
    if low is not None and high == low + 1:
        return f"{form} == {low}"
    tests = ([f"{form} >= {low}"] if low is not None else []) + (
        [f"{form} < {high}"] if high is not None else []
    )
    return " and ".join(tests)


def layer_of(diagrams: Diagrams, node: Node) -> int:
    """The layer whose feed-forward computes a function; 0 for the embedding."""
    support = diagrams.support(node)
    levels: list[int] = [variable.level for variable in support]
    if not any(levels):
        return int(len(support) > 1)
    return max(levels)


def has_form(diagrams: Diagrams, node: Node) -> bool:
    """Whether a function depends on counts directly."""
    return any(isinstance(variable, Form) for variable in diagrams.support(node))


def normal_form(program: CraspProgram) -> NormalForm:
    """The normal form of a program.

    Raises:
        WeftError: if a Boolean function or the cases of a count are too many.

    Example:
        >>> from weft.crasp import Comparison, Counting, CraspProgram, Line, Symbol
        >>> zeros, ones = Counting(Symbol("0")), Counting(Symbol("1"))
        >>> majority = CraspProgram(("0", "1"), (Line("more", Comparison("<", zeros, ones)),))
        >>> form = normal_form(majority)
        >>> [form.describe(body) for body in form.bodies], form.layer(form.booleans["more"])
        (['Q_0', 'Q_1'], 1)
    """
    _check_predicates(program)
    builder = _Builder(program)
    for line in program.lines:
        try:
            builder.define(line.name, line.expression)
        except TooLarge as error:
            raise WeftError(
                f"'{line.name}': {error.what}", subject=program.name, remedy=error.remedy
            ) from None
    return NormalForm(
        program,
        builder.diagrams,
        tuple(builder.bodies),
        builder.booleans,
        builder.counts,
    )


def _check_predicates(program: CraspProgram) -> None:
    """Refuse periods and offsets that no table could hold."""
    period = max((predicate.period for predicate in program.periodics), default=1)
    if period > MAX_PERIOD:
        raise WeftError(
            "it has a period that is too large for a table of positions",
            subject=program.name,
            remedy=f"Use periods up to {MAX_PERIOD:,}",
        )
    offset = max((offset for local in program.locals for offset in local.offsets), default=0)
    if offset > MAX_OFFSET:
        raise WeftError(
            "it reads positions too far back",
            subject=program.name,
            remedy=f"Use offsets up to {MAX_OFFSET:,}",
        )


class _Builder:
    """Functions of the lines so far."""

    def __init__(self, program: CraspProgram) -> None:
        self.program = program
        self.diagrams = Diagrams()
        self.bodies: list[Node] = []
        self.booleans: dict[str, Node] = {}
        self.counts: dict[str, tuple[Guarded, ...]] = {}
        self._values: dict[str, Node] = {}  # of count lines, for comparisons
        self._numbers: dict[Node, int] = {}
        self._symbols = {symbol: place for place, symbol in enumerate(program.alphabet, 1)}
        self._expressions: dict[Expression, Node] = {}
        self._moves: dict[tuple[Node, int], Node] = {}
        joint = math.lcm(*(p.period for p in program.periodics)) if program.periodics else 1
        self._joint = joint if joint <= MAX_JOINT_PERIOD else None

    def define(self, name: str, expression: Expression) -> None:
        """Add a line."""
        if self.program.kinds[name] == "Boolean":
            self.booleans[name] = self.boolean(expression)
        else:
            self._values[name] = self.count(expression)
            self.counts[name] = self._merged(self.summands(expression))

    # Booleans

    def boolean(self, expression: Expression) -> Node:
        """The function of a Boolean expression."""
        if expression not in self._expressions:
            self._expressions[expression] = self._boolean(expression)
        return self._expressions[expression]

    def _boolean(self, expression: Expression) -> Node:
        diagrams = self.diagrams
        match expression:
            case Symbol(symbol):
                place = self._symbols[symbol]
                if place == len(self._symbols):
                    return diagrams.at_least(TokenAt(0), place)
                return diagrams.within(TokenAt(0), place, place + 1)
            case Constant(value):
                return diagrams.true if value else diagrams.false
            case Position(predicate):
                period = self._joint or predicate.period
                return self._residues(period, lambda r: r % predicate.period in predicate.residues)
            case Not(operand):
                return diagrams.negate(self.boolean(operand))
            case And(operands):
                return diagrams.both(*map(self.boolean, operands))
            case Or(operands):
                return diagrams.either(*map(self.boolean, operands))
            case Comparison(operator, left, right):
                return self._compared(operator, self.count(left), self.count(right))
            case Exists(body, local):
                if local is not None:
                    return diagrams.either(*self._reads(body, local))
                return self._compared(">=", self.count(Counting(body)), self._integer(1))
            case Previous(body):
                return self.shift(self.boolean(body), 1)
            case Name(name):
                return self.booleans[name]
        raise TypeError(expression)

    def _residues(self, period: int, holds: Callable[[int], bool]) -> Node:
        parts = tuple(self.diagrams.leaf(holds(residue)) for residue in range(period))
        return self.diagrams.select(Residue(period), tuple(range(1, period)), parts)

    def shift(self, node: Node, offset: int) -> Node:
        """Whether a function holds at position i - offset, and that is at least 1."""
        if node == self.diagrams.false:
            return node
        if offset and has_form(self.diagrams, node):
            read = Shifted(node, offset, layer_of(self.diagrams, node) + 1)
            return self.diagrams.at_least(read, 1)
        inside = self.diagrams.at_least(TokenAt(offset), 1)
        return self.diagrams.both(inside, self._moved(node, offset))

    def _moved(self, node: Node, offset: int) -> Node:
        """A function without counts, of what lies further to the left."""
        if (node, offset) not in self._moves:
            self._moves[node, offset] = self._move(node, offset)
        return self._moves[node, offset]

    def _move(self, node: Node, offset: int) -> Node:
        step = self.diagrams.step(node)
        if step is None or not offset:
            return node
        parts = tuple(self._moved(child, offset) for child in step.children)
        variable, cuts = step.variable, step.cuts
        if isinstance(variable, TokenAt):
            return self.diagrams.select(TokenAt(variable.offset + offset), cuts, parts)
        if isinstance(variable, Shifted):
            further = Shifted(variable.node, variable.offset + offset, variable.level)
            return self.diagrams.select(further, cuts, parts)
        period = variable.period
        by_value = [parts[sum(cut <= value for cut in cuts)] for value in range(period)]
        turned = tuple(by_value[(value - offset) % period] for value in range(period))
        return self.diagrams.select(variable, tuple(range(1, period)), turned)

    def _reads(self, body: Expression, local: Local) -> list[Node]:
        node = self.boolean(body)
        return [self.shift(node, offset) for offset in local.offsets]

    # Counts, in cases: functions whose leaves are linear combinations

    def count(self, expression: Expression) -> Node:
        """The cases of a count."""
        if expression not in self._expressions:
            self._expressions[expression] = self._count(expression)
        return self._expressions[expression]

    def _count(self, expression: Expression) -> Node:
        match expression:
            case Counting(body, None):
                number = self._counting(self.boolean(body))
                terms = () if number is None else ((number, 1),)
                return self.diagrams.leaf(Linear(terms))
            case Counting(body, local):
                total = self._integer(0)
                for read in self._reads(body, local):  # type: ignore[arg-type]
                    bit = self.diagrams.choose(read, self._integer(1), self._integer(0))
                    total = self._sum(total, bit)
                return total
            case Integer(value):
                return self._integer(value)
            case Add(left, right):
                return self._sum(self.count(left), self.count(right))
            case Subtract(left, right):
                return self._sum(self.count(left), self.count(right), -1)
            case Conditional(condition, then, otherwise):
                test = self.boolean(condition)
                return self.diagrams.choose(test, self.count(then), self.count(otherwise))
            case Minimum(operands) | Maximum(operands):
                distinct = tuple(dict.fromkeys(map(self.count, operands)))
                if len(distinct) == 1:
                    return distinct[0]
                extreme = Extreme(isinstance(expression, Minimum), distinct)
                return self.diagrams.leaf(Linear(((extreme, 1),)))
            case Name(name):
                return self._values[name]
        raise TypeError(expression)

    def _counting(self, body: Node) -> int | None:
        """The number of a counting; None if it is always 0."""
        if body == self.diagrams.false:
            return None
        if body not in self._numbers:
            self._numbers[body] = len(self.bodies)
            self.bodies.append(body)
        return self._numbers[body]

    def _integer(self, value: int) -> Node:
        return self.diagrams.leaf(Linear((), value))

    def _sum(self, left: Node, right: Node, times: int = 1) -> Node:
        return self.diagrams.combine(
            f"plus {times} times", lambda a, b: a.plus(b, times), left, right
        )

    # Comparisons

    def _compared(self, operator: str, left: Node, right: Node) -> Node:
        diagrams = self.diagrams
        match operator:
            case ">=":
                return self._at_least_zero(self._sum(left, right, -1))
            case "<=":
                return self._at_least_zero(self._sum(right, left, -1))
            case ">":
                return diagrams.negate(self._compared("<=", left, right))
            case "<":
                return diagrams.negate(self._compared(">=", left, right))
            case "==":
                return diagrams.both(
                    self._compared(">=", left, right), self._compared("<=", left, right)
                )
        return diagrams.negate(self._compared("==", left, right))

    def _at_least_zero(self, cases: Node) -> Node:
        return self.diagrams.replace_leaves("at least 0", cases, self._linear_at_least_zero)

    def _linear_at_least_zero(self, linear: Linear) -> Node:
        for atom, coefficient in linear.terms:
            if isinstance(atom, Extreme):
                rest = self.diagrams.leaf(linear.plus(Linear(((atom, 1),)), -coefficient))
                tests = [
                    self._at_least_zero(self._sum(rest, operand, coefficient))
                    for operand in atom.operands
                ]
                every = atom.smallest == (coefficient > 0)
                return self.diagrams.both(*tests) if every else self.diagrams.either(*tests)
        return self._inequality(linear)

    def _inequality(self, linear: Linear) -> Node:
        """Whether a linear combination of countings is at least 0."""
        countings = linear.countings
        if not countings:
            return self.diagrams.leaf(linear.constant >= 0)
        divisor = math.gcd(*countings.values())
        sign = 1 if next(iter(countings.values())) > 0 else -1
        terms = tuple((number, sign * c // divisor) for number, c in countings.items())
        level = 1 + max(layer_of(self.diagrams, self.bodies[number]) for number in countings)
        form = Form(terms, level)
        lowest = 0 if all(coefficient > 0 for _, coefficient in terms) else None
        if sign > 0:
            return self._form_at_least(form, -(linear.constant // divisor), lowest)
        at_most = linear.constant // divisor  # form <= at_most
        return self.diagrams.negate(self._form_at_least(form, at_most + 1, lowest))

    def _form_at_least(self, form: Form, cut: int, lowest: int | None) -> Node:
        if lowest is not None and cut <= lowest:
            return self.diagrams.true
        return self.diagrams.at_least(form, cut)

    # Count lines, as sums

    def summands(self, expression: Expression) -> list[Guarded]:
        """A count as a sum of guarded linear combinations."""
        match expression:
            case Counting(body, Local() as local):
                return [Guarded(read, Linear((), 1)) for read in self._reads(body, local)]
            case Counting() | Integer():
                linear = self.diagrams.value(self.count(expression))
                return [Guarded(self.diagrams.true, linear)]
            case Add(left, right):
                return [*self.summands(left), *self.summands(right)]
            case Subtract(left, right):
                negative = (Guarded(s.guard, Linear().plus(s.linear, -1)) for s in
                            self.summands(right))  # fmt: skip
                return [*self.summands(left), *negative]
            case Conditional(condition, then, otherwise):
                test = self.boolean(condition)
                return [
                    *self._guard(test, then),
                    *self._guard(self.diagrams.negate(test), otherwise),
                ]
            case Minimum(operands) | Maximum(operands):
                smallest = isinstance(expression, Minimum)
                counts = [self.count(operand) for operand in operands]
                return [
                    summand
                    for place, operand in enumerate(operands)
                    for summand in self._guard(self._is_extreme(place, counts, smallest), operand)
                ]
            case Name(name):
                return list(self.counts[name])
        raise TypeError(expression)

    def _guard(self, guard: Node, expression: Expression) -> list[Guarded]:
        return [
            Guarded(self.diagrams.both(guard, summand.guard), summand.linear)
            for summand in self.summands(expression)
        ]

    def _is_extreme(self, place: int, counts: list[Node], smallest: bool) -> Node:
        """Whether one of some counts is the first that is the smallest, or the largest."""
        tests = []
        for other, count in enumerate(counts):
            if other != place:
                larger, smaller = (count, counts[place]) if smallest else (counts[place], count)
                operator = ">=" if other > place else ">"
                tests.append(self._compared(operator, larger, smaller))
        return self.diagrams.both(*tests)

    def _merged(self, summands: list[Guarded]) -> tuple[Guarded, ...]:
        """Summands with the same guard added up."""
        totals: dict[Node, Linear] = {}
        for summand in summands:
            totals[summand.guard] = totals.get(summand.guard, Linear()).plus(summand.linear)
        return tuple(
            Guarded(guard, linear)
            for guard, linear in totals.items()
            if guard != self.diagrams.false and linear != Linear()
        )
