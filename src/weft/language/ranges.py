"""What a variable may hold: the three kinds of ranges.

A range lists its values in a fixed order. A value's place in that order is its *code*: the batched
interpreter computes with codes, and a one-hot stream gives each code a dimension.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

Value = int | float | frozenset[int]


class Undefined:
    """The value of a head's output if the head selected nothing, or no single value."""

    _only: Undefined | None = None

    def __new__(cls) -> Undefined:
        cls._only = cls._only or super().__new__(cls)
        return cls._only

    def __repr__(self) -> str:
        return "∅"

    def __reduce__(self) -> tuple[type[Undefined], tuple[()]]:
        return Undefined, ()


UNDEFINED: Final = Undefined()


class OutOfRange(ValueError):
    """A value that its variable cannot hold."""


@dataclass(frozen=True)
class Range:
    """The values of a variable, in the order of their codes."""

    values: tuple[Value, ...]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def codes(self) -> dict[Value, int]:
        """The code of each value."""
        return {value: code for code, value in enumerate(self.values)}

    def store(self, value: Any) -> Value:
        """The value as the variable stores it; raises `OutOfRange` if it cannot."""
        raise NotImplementedError

    def nearest(self, value: Any) -> Value:
        """The value as a step reads it."""
        return value  # type: ignore[no-any-return]  # exact kinds are read as they are

    def describe(self) -> str:
        """The range in a few words, for messages."""
        raise NotImplementedError


@dataclass(frozen=True)
class Categorical(Range):
    """The numbers 0 to n - 1, one-hot in the stream."""

    def store(self, value: Any) -> Value:
        try:
            number = operator.index(value)
        except TypeError:
            raise OutOfRange(f"{value!r} is not a whole number") from None
        if not 0 <= number < len(self.values):
            raise OutOfRange(f"{number} is not in {self.describe()}")
        return number

    def describe(self) -> str:
        return f"0..{len(self.values) - 1}"


@dataclass(frozen=True)
class Number(Range):
    """A real number, one dimension of the stream; a step reads it as the nearest of its buckets.

    Borders lie midway between neighbouring buckets; a number on a border belongs to the upper one.
    """

    @property
    def buckets(self) -> tuple[float, ...]:
        """The values, as the numbers that they all are."""
        return self.values  # type: ignore[return-value]

    @cached_property
    def borders(self) -> tuple[float, ...]:
        """The border between each bucket and the next."""
        return tuple((low + high) / 2 for low, high in pairwise(self.buckets))

    def store(self, value: Any) -> Value:
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise OutOfRange(f"{value!r} is not a number") from None
        if number not in self.codes:
            raise OutOfRange(f"{number:g} is not one of the buckets {self.describe()}")
        return number

    def nearest(self, value: Any) -> Value:
        return self.values[bisect_right(self.borders, value)]

    def describe(self) -> str:
        return _shorten([f"{bucket:g}" for bucket in self.values])


@dataclass(frozen=True)
class Subset(Range):
    """One of the listed subsets of 0 to size - 1, multi-hot in the stream."""

    size: int

    def store(self, value: Any) -> Value:
        try:
            chosen = frozenset(operator.index(item) for item in value)
        except TypeError:
            raise OutOfRange(f"{value!r} is not a set of whole numbers") from None
        if chosen not in self.codes:
            raise OutOfRange(f"{show_value(chosen)} is not one of the sets {self.describe()}")
        return chosen

    def describe(self) -> str:
        return _shorten([show_value(chosen) for chosen in self.values])


@dataclass(frozen=True)
class PartialRange(Range):
    """Some values of a range; what is stored may still be any value of the whole."""

    whole: Range

    def store(self, value: Any) -> Value:
        return self.whole.store(value)

    def nearest(self, value: Any) -> Value:
        return self.whole.nearest(value)

    def describe(self) -> str:
        return self.whole.describe()


def show_value(value: Any) -> str:
    """A value as people write it: sets in order, numbers without a trailing zero."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(str(item) for item in sorted(value)) + "}"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def categorical(size: int) -> Categorical:
    """The range of a variable with `size` values."""
    return Categorical(tuple(range(size)))


def number(buckets: Iterable[float]) -> Number:
    """The range of a number, its buckets in ascending order."""
    return Number(tuple(sorted({float(bucket) + 0.0 for bucket in buckets})))


def subset(size: int, sets: Iterable[Iterable[int]]) -> Subset:
    """The range of a set variable, in the order of the sets given."""
    return Subset(tuple(dict.fromkeys(frozenset(chosen) for chosen in sets)), size=size)


def _shorten(names: list[str]) -> str:
    if len(names) <= 6:
        return ", ".join(names)
    return ", ".join(names[:5]) + f", ... {names[-1]} ({len(names)} in all)"
