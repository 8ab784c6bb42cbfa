"""The residual stream of a compiled C-RASP program: what has a dimension, and where it is read.

A Boolean is one dimension, 0 or 1. A count is one dimension that holds C(i) / (i + 1) at position
i. Besides the lines of the program, the stream holds

    constant    1 everywhere
    begin       1 at the begin symbol
    Q_a         1 if the symbol is a
    one         1 / (i + 1), the average of `begin`
    # P         a counting that is not a line itself
    Q_a(i - 2)  a local read of symbols; symbols that no test distinguishes share a dimension
    P(i - 2)    a local read of a function of counts
    i mod 3 = 1 a residue of the position; residues that no test distinguishes share a dimension

Of the classes of symbols or residues that are distinguished, the one that contains "no symbol", or
residue 0, has no dimension: it is what remains.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from weft.crasp.limit.glue import Circuit, Conjunction, Gate
from weft.crasp.limit.intervals import Node
from weft.crasp.limit.normal_form import Form, Guarded, Linear, Residue, Shifted, TokenAt
from weft.crasp.limit.schedule import Bit, Schedule

DimensionKind = Literal["boolean", "count"]


@dataclass
class Affine:
    """A linear function of the stream, by dimension, plus a constant."""

    weights: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0

    def add(self, other: Affine, times: float = 1.0) -> None:
        """Add a multiple of another one."""
        for dimension, weight in other.weights.items():
            self.weights[dimension] = self.weights.get(dimension, 0.0) + times * weight
        self.constant += times * other.constant


@dataclass(frozen=True)
class Dimension:
    """A dimension of the stream."""

    name: str
    kind: DimensionKind


class Stream:
    """The dimensions of a schedule's stream.

    Attributes:
        dimensions: name and kind of each.
        lines: the dimension of each line of the program; lines that are always equal share one.
    """

    def __init__(self, schedule: Schedule, circuits: Sequence[Circuit]) -> None:
        self.schedule, self.form = schedule, schedule.form
        self.dimensions: list[Dimension] = []
        self.lines: dict[str, int] = {}
        self._places: dict[Hashable, int] = {}
        self._taken: set[str] = set()
        self._circuits = circuits
        self._add_tokens()
        self._add_lines()
        self._add_computed()
        self._add_counts()
        self._add_reads()

    # Which dimensions there are

    def _add(self, key: Hashable, name: str, kind: DimensionKind) -> int:
        if key not in self._places:
            while name in self._taken or (
                name in self.form.program.kinds and name not in self.lines
            ):
                name += "'"
            self._taken.add(name)
            self._places[key] = len(self.dimensions)
            self.dimensions.append(Dimension(name, kind))
        return self._places[key]

    def _add_tokens(self) -> None:
        self._add("constant", "constant", "boolean")
        self._add("begin", "begin", "boolean")
        for place, symbol in enumerate(self.form.program.alphabet, 1):
            self._add(("symbol", place), f"Q_{symbol}", "boolean")
        if self.needs_one:
            self._add("one", "one", "count")

    def _add_lines(self) -> None:
        for name, kind in self.form.program.kinds.items():
            self.lines[name] = -1  # its name is its own
            if kind == "Boolean":
                key: Hashable = ("bit", self.form.booleans[name])
                self.lines[name] = self._add(key, name, "boolean")
            else:
                single = self._single_counting(self.form.counts[name])
                key = ("line", name) if single is None else ("counting", single)
                self.lines[name] = self._add(key, name, "count")

    def _single_counting(self, summands: tuple[Guarded, ...]) -> int | None:
        """The counting that a count line is; None if it is something else."""
        if len(summands) == 1 and summands[0].guard == self.form.diagrams.true:
            linear = summands[0].linear
            if len(linear.terms) == 1 and not linear.constant:
                counting, coefficient = next(iter(linear.countings.items()))
                return counting if coefficient == 1 else None
        return None

    def _add_computed(self) -> None:
        for plan in self.schedule.layers:
            for computed in plan.booleans:
                name = self.form.describe(computed.node)
                self._add(("bit", computed.node), name, "boolean")

    def _add_counts(self) -> None:
        for form in self.forms:
            if self._line_of(form) is None:
                for counting, _ in form.terms:
                    self._add(("counting", counting), self.form.counted(counting), "count")
        for circuit in self._circuits:
            for unit in circuit.first:
                if isinstance(unit, Gate):
                    for counting in unit.linear.countings:
                        self._add(("counting", counting), self.form.counted(counting), "count")

    def _add_reads(self) -> None:
        for plan in self.schedule.layers:
            for offset, variables in plan.reads.items():
                for variable in variables:
                    if isinstance(variable, Shifted):
                        text = self.form.describe(variable.node)
                        text = f"({text})" if " " in text else text
                        self._add(variable, f"{text}(i - {offset})", "boolean")
                    else:
                        for values in self.classes(variable)[1:]:
                            name = " or ".join(self._token(v) for v in values)
                            name = "any symbol" if len(values) == self._symbols else name
                            self._add((variable, values), f"{name}(i - {offset})", "boolean")
        for residue in self.residues:
            for values in self.classes(residue)[1:]:
                name = " or ".join(map(str, values))
                self._add((residue, values), f"i mod {residue.period} = {name}", "boolean")

    def _token(self, value: int) -> str:
        return f"Q_{self.form.program.alphabet[value - 1]}"

    @property
    def _symbols(self) -> int:
        return len(self.form.program.alphabet)

    # What the schedule uses

    @cached_property
    def forms(self) -> tuple[Form, ...]:
        """The forms that units compare."""
        variables = {
            unit.form: None
            for circuit in self._circuits
            for unit in circuit.first
            if isinstance(unit, Conjunction) and unit.form is not None
        }
        return tuple(variables)

    @cached_property
    def needs_one(self) -> bool:
        """Whether anything needs the dimension `one`."""
        gates = (unit for circuit in self._circuits for unit in circuit.first)
        return bool(self.forms) or any(
            unit.linear.constant for unit in gates if isinstance(unit, Gate)
        )

    @cached_property
    def residues(self) -> tuple[Residue, ...]:
        """The residues that functions depend on."""
        variables = {
            variable: None
            for node in self.schedule.functions()
            for variable in self.form.diagrams.support(node)
            if isinstance(variable, Residue)
        }
        return tuple(variables)

    def classes(self, variable: TokenAt | Residue) -> tuple[tuple[int, ...], ...]:
        """The values of a variable, in classes that no function tells apart; that of 0 is first."""
        if variable not in self._classes:
            self._classes[variable] = self._find_classes(variable)
        return self._classes[variable]

    @cached_property
    def _classes(self) -> dict[Any, tuple[tuple[int, ...], ...]]:
        return {}

    def _find_classes(self, variable: TokenAt | Residue) -> tuple[tuple[int, ...], ...]:
        size = self._symbols + 1 if isinstance(variable, TokenAt) else variable.period
        signatures: list[list[Node]] = [[] for _ in range(size)]
        diagrams = self.form.diagrams
        seen: set[Node] = set()
        waiting = list(self.schedule.functions())
        while waiting:
            node = waiting.pop()
            step = diagrams.step(node)
            if step is None or node in seen:
                continue
            seen.add(node)
            waiting.extend(step.children)
            if step.variable == variable:
                for value in range(size):
                    signatures[value].append(step.children[bisect_right(step.cuts, value)])
        groups: dict[tuple[Node, ...], list[int]] = {}
        for value, signature in enumerate(signatures):
            groups.setdefault(tuple(signature), []).append(value)
        return tuple(tuple(group) for group in groups.values())

    # Reading the stream

    def place(self, key: Hashable) -> int:
        """The dimension of something that has one."""
        return self._places[key]

    def has(self, key: Hashable) -> bool:
        """Whether something has a dimension."""
        return key in self._places

    def _dimension(self, key: Hashable, weight: float = 1.0) -> Affine:
        return Affine({self._places[key]: weight})

    def literal(self, variable: Any, values: frozenset[int]) -> Affine:
        """1 if a variable takes one of some values, otherwise 0."""
        if isinstance(variable, (Bit, Shifted)):
            key = ("bit", variable.node) if isinstance(variable, Bit) else variable
            total = self._dimension(key)
            return total if 1 in values else self._complement(total)
        total = Affine()
        inside = 0 not in values
        if isinstance(variable, TokenAt) and not variable.offset:
            for place in range(1, self._symbols + 1):
                if (place in values) == inside:
                    total.add(self._dimension(("symbol", place)))
        else:
            for group in self.classes(variable)[1:]:
                if (group[0] in values) == inside:
                    total.add(self._dimension((variable, group)))
        return total if inside else self._complement(total)

    def _complement(self, total: Affine) -> Affine:
        result = Affine(constant=1.0)
        result.add(total, -1.0)
        return result

    def _line_of(self, form: Form) -> tuple[str, int, int] | None:
        """A count line that is a form up to its sign and a constant: line, sign and constant."""
        for name, summands in self.form.counts.items():
            if len(summands) == 1 and summands[0].guard == self.form.diagrams.true:
                linear = summands[0].linear
                for sign in (1, -1):
                    if linear.terms == tuple((k, sign * c) for k, c in form.terms):
                        return name, sign, linear.constant
        return None

    def form_value(self, form: Form) -> Affine:
        """A form, divided by i + 1."""
        known = self._line_of(form)
        if known is None:
            return self.linear_value(Linear(form.terms))
        name, sign, constant = known
        total = Affine({self.lines[name]: float(sign)})
        if constant:
            total.add(self._dimension("one", -float(sign * constant)))
        return total

    def linear_value(self, linear: Linear) -> Affine:
        """A linear combination, divided by i + 1."""
        total = Affine()
        for counting, coefficient in linear.countings.items():
            total.add(self._dimension(("counting", counting), float(coefficient)))
        if linear.constant:
            total.add(self._dimension("one", float(linear.constant)))
        return total

    def counted_value(self, node: Node) -> Affine:
        """A function as heads count or read it: 0 at the begin symbol. It has no constant."""
        form, diagrams = self.form, self.form.diagrams
        step = diagrams.step(node)
        if step is None:
            total = self._dimension("constant")
        elif form.layer(node):
            total = self._dimension(("bit", node))
        else:
            size = self._symbols + 1 if isinstance(step.variable, TokenAt) else step.variable.period
            holds = [value for value in range(size) if diagrams.evaluate_single(node, value)]
            if isinstance(step.variable, TokenAt):
                return self.symbols(holds)
            total = self.literal(step.variable, frozenset(holds))
            total.add(self._dimension("constant", total.constant))
            total.constant = 0.0
        if form.at_begin(node):
            total.add(self._dimension("begin", -1.0))
        return total

    def symbols(self, values: Iterable[int]) -> Affine:
        """1 if the symbol is one of some; never at the begin symbol."""
        total = Affine()
        for place in values:
            if place:
                total.add(self._dimension(("symbol", place)))
        return total
