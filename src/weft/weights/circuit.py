"""A feed-forward as a circuit of clipped-ReLU units, before it is laid out in matrices.

A unit computes min(max(x, 0), 1) of a sum x, with integer coefficients, of `Form`s and of other
units. A form is a sum of functions of single variables, which costs nothing if they are one-hot. A
unit acts by writes: each adds a multiple of the encoding of a value to a variable's slot.

Integers below 2^24 are exact in float32, and so is all of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.language.program import Variable

Scalar = int | float


@dataclass(frozen=True)
class Form:
    """A sum of functions of categorical variables: for each variable, a summand per code.

    An undefined head contributes 0, since its slot is all zero.
    """

    terms: tuple[tuple[str, tuple[int, ...]], ...]

    def bounds(self, variables: Mapping[str, Variable]) -> tuple[int, int]:
        """The least and the greatest value it can have."""
        low = high = 0
        for name, weights in self.terms:
            possible = (*weights, 0) if variables[name].is_head else weights
            low, high = low + min(possible), high + max(possible)
        return low, high


def form(terms: Mapping[str, Iterable[int]]) -> Form:
    """The form with these summands; variables whose summands are all 0 are left out."""
    kept = ((name, tuple(weights)) for name, weights in terms.items())
    return Form(tuple(sorted((name, weights) for name, weights in kept if any(weights))))


@dataclass(frozen=True, eq=False)
class Unit:
    """A hidden unit.

    Attributes:
        forms: forms with their coefficients.
        units: units of lower levels with their coefficients.
        raw: entries of the stream itself (variable, place in its slot) with their coefficients.
        bias: the constant summand.
        note: what it is for, shown by `--explain`.
        level: 1 for a unit that reads the stream only; otherwise one above the highest it reads.
    """

    forms: tuple[tuple[Form, int], ...]
    units: tuple[tuple[Unit, int], ...]
    raw: tuple[tuple[str, int, float], ...]
    bias: Scalar
    note: str
    level: int


@dataclass(frozen=True)
class Sum:
    """An integer-valued sum of forms and units."""

    forms: tuple[tuple[Form, int], ...] = ()
    units: tuple[tuple[Unit, int], ...] = ()
    bias: int = 0

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """This sum plus `times` the other."""
        forms: dict[Form, int] = dict(self.forms)
        for term, weight in other.forms:
            forms[term] = forms.get(term, 0) + times * weight
        units: dict[Unit, int] = dict(self.units)
        for unit, weight in other.units:
            units[unit] = units.get(unit, 0) + times * weight
        return Sum(
            tuple((f, w) for f, w in forms.items() if w),
            tuple((u, w) for u, w in units.items() if w),
            self.bias + times * other.bias,
        )

    def shifted(self, by: int) -> Sum:
        """The sum plus a constant."""
        return Sum(self.forms, self.units, self.bias + by)

    def scaled(self, times: int) -> Sum:
        """The sum multiplied by a constant."""
        return Sum().plus(self, times)

    def joined(self) -> Sum:
        """The same sum with its forms added up into one, so that equal sums share it."""
        total: dict[str, list[int]] = {}
        for term, weight in self.forms:
            for name, weights in term.terms:
                mine = total.setdefault(name, [0] * len(weights))
                for place, value in enumerate(weights):
                    mine[place] += weight * value
        joined = form(total)
        return Sum(((joined, 1),) if joined.terms else (), self.units, self.bias)

    def bounds(self, variables: Mapping[str, Variable]) -> tuple[int, int]:
        """The least and the greatest value it can have, units taken one by one."""
        low = high = self.bias
        for term, weight in self.forms:
            a, b = term.bounds(variables)
            low, high = low + min(weight * a, weight * b), high + max(weight * a, weight * b)
        for _, weight in self.units:
            low, high = low + min(weight, 0), high + max(weight, 0)
        return low, high


@dataclass(frozen=True)
class Write:
    """`times` the encoding of a value is added to a variable's slot, times what the unit gives.

    If `code` is None, the slot holds a number, and `times` itself is added.
    """

    unit: Unit
    variable: str
    code: int | None
    times: float


@dataclass
class Circuit:
    """Units, of which equal ones are shared, and what they write."""

    variables: Mapping[str, Variable]
    writes: list[Write] = field(default_factory=list)
    _units: dict[Any, Unit] = field(default_factory=dict)

    def unit(self, total: Sum, note: str = "") -> Unit:
        """The unit min(max(total, 0), 1)."""
        key = (frozenset(total.forms), frozenset(total.units), total.bias)
        if key not in self._units:
            level = 1 + max((unit.level for unit, _ in total.units), default=0)
            self._units[key] = Unit(total.forms, total.units, (), total.bias, note, level)
        return self._units[key]

    def raw_unit(self, raw: Iterable[tuple[str, int, float]], bias: float, note: str = "") -> Unit:
        """A unit that reads entries of the stream as they are."""
        entries = tuple(raw)
        key = (entries, bias)
        if key not in self._units:
            self._units[key] = Unit((), (), entries, bias, note, 1)
        return self._units[key]

    def write(self, unit: Unit, variable: str, code: int, times: int = 1) -> None:
        """Let a unit add to a variable's slot."""
        self.writes.append(Write(unit, variable, code, times))

    def write_raw(self, unit: Unit, variable: str, times: float) -> None:
        """Let a unit add to a number."""
        self.writes.append(Write(unit, variable, None, times))

    def used_units(self) -> list[Unit]:
        """The units that some write depends on, lower levels first."""
        seen: dict[Unit, None] = {}

        def visit(unit: Unit) -> None:
            if unit not in seen:
                for below, _ in unit.units:
                    visit(below)
                seen[unit] = None

        for write in self.writes:
            visit(write.unit)
        return sorted(seen, key=lambda unit: unit.level)
