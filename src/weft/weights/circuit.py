"""A feed-forward as a circuit of clipped-ReLU units, before it is laid out in matrices.

A unit computes min(max(sum, 0), 1) of a sum with whole coefficients of `Form`s (sums of functions
of single variables, which cost nothing with one-hot streams) and of other units. What a unit does
is a write: it adds some multiple of the encoding of a value to a variable's slot.

With whole numbers below 2^24 all of this is exact in float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weft.language.program import Variable

Scalar = int | float


@dataclass(frozen=True)
class Form:
    """A sum of functions of categorical variables: for each, the summand for each of its codes.

    An undefined head contributes nothing, since its slot is all zero.
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
    """A form from its summands; variables that make no difference are left out."""
    kept = ((name, tuple(weights)) for name, weights in terms.items())
    return Form(tuple(sorted((name, weights) for name, weights in kept if any(weights))))


@dataclass(frozen=True, eq=False)
class Unit:
    """A hidden unit.

    Attributes:
        forms: forms with their coefficients.
        units: units of lower levels with their coefficients.
        raw: entries of the stream itself (variable, place in its slot) with their coefficients.
        bias: what is added.
        note: what it is for, shown by `--explain`.
        level: 1 for a unit that reads the stream alone; otherwise one above the highest it reads.
    """

    forms: tuple[tuple[Form, int], ...]
    units: tuple[tuple[Unit, int], ...]
    raw: tuple[tuple[str, int, float], ...]
    bias: Scalar
    note: str
    level: int


@dataclass(frozen=True)
class Sum:
    """A whole-valued sum of forms and units."""

    forms: tuple[tuple[Form, int], ...] = ()
    units: tuple[tuple[Unit, int], ...] = ()
    bias: int = 0

    def plus(self, other: Sum, times: int = 1) -> Sum:
        """The sum of both, the other taken some times."""
        forms: dict[Form, int] = dict(self.forms)
        for one, weight in other.forms:
            forms[one] = forms.get(one, 0) + times * weight
        units: dict[Unit, int] = dict(self.units)
        for unit, weight in other.units:
            units[unit] = units.get(unit, 0) + times * weight
        return Sum(
            tuple((f, w) for f, w in forms.items() if w),
            tuple((u, w) for u, w in units.items() if w),
            self.bias + times * other.bias,
        )

    def shifted(self, by: int) -> Sum:
        """The sum and a constant."""
        return Sum(self.forms, self.units, self.bias + by)

    def scaled(self, times: int) -> Sum:
        """The sum taken some times."""
        return Sum().plus(self, times)

    def joined(self) -> Sum:
        """The same with its forms added up into one, for sharing."""
        total: dict[str, list[int]] = {}
        for one, weight in self.forms:
            for name, weights in one.terms:
                mine = total.setdefault(name, [0] * len(weights))
                for place, value in enumerate(weights):
                    mine[place] += weight * value
        whole = form(total)
        return Sum(((whole, 1),) if whole.terms else (), self.units, self.bias)

    def bounds(self, variables: Mapping[str, Variable]) -> tuple[int, int]:
        """The least and the greatest value it can have, units taken one by one."""
        low = high = self.bias
        for one, weight in self.forms:
            a, b = one.bounds(variables)
            low, high = low + min(weight * a, weight * b), high + max(weight * a, weight * b)
        for _, weight in self.units:
            low, high = low + min(weight, 0), high + max(weight, 0)
        return low, high


@dataclass(frozen=True)
class Write:
    """`times` the encoding of a value is added to a variable's slot, times what the unit gives.

    Where `code` is None, the slot is a number, and `times` itself is what is added.
    """

    unit: Unit
    variable: str
    code: int | None
    times: float


@dataclass
class Circuit:
    """Units, shared where they are equal, and what they write."""

    variables: Mapping[str, Variable]
    writes: list[Write] = field(default_factory=list)
    _units: dict[Any, Unit] = field(default_factory=dict)

    def unit(self, total: Sum, note: str = "") -> Unit:
        """The unit min(max(total, 0), 1)."""
        key = (frozenset(total.forms), frozenset(total.units), total.bias)
        found = self._units.get(key)
        if found is None:
            level = 1 + max((unit.level for unit, _ in total.units), default=0)
            found = Unit(total.forms, total.units, (), total.bias, note, level)
            self._units[key] = found
        return found

    def raw_unit(self, raw: Iterable[tuple[str, int, float]], bias: float, note: str = "") -> Unit:
        """A unit that reads entries of the stream as they are."""
        entries = tuple(raw)
        key = (entries, bias)
        found = self._units.get(key)
        if found is None:
            found = self._units[key] = Unit((), (), entries, bias, note, 1)
        return found

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
