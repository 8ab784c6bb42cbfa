"""The words a program is declared with: `var`, `number`, `subset`, `attend`, `relative`.

A declaration remembers where it was written, so that a mistake can be shown in its place. It gets
its name when the class that holds it is created.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from weft.errors import Location, WeftError, caller_location
from weft.language import ranges
from weft.language.ranges import Range

Initialiser = Callable[[Any], Any]


@dataclass(eq=False, repr=False, kw_only=True)
class Declaration:
    """Something declared in the body of a program."""

    where: Location
    name: str | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name


@dataclass(eq=False, repr=False)
class VariableDeclaration(Declaration):
    """A variable; compare it with a value to say when the program halts (`halt = done == 1`)."""

    range: Range
    token: Initialiser | None
    position: Initialiser | None
    default: Any

    def __eq__(self, value: object) -> HaltDeclaration:  # type: ignore[override]
        return HaltDeclaration(self, value)

    __hash__ = Declaration.__hash__


Reference = str | Declaration


@dataclass(eq=False, repr=False)
class HeadDeclaration(Declaration):
    """An attention head; the attribute's name is the name of its output."""

    query: Reference | None
    key: Reference | None
    value: Reference
    offsets: frozenset[int] | None
    output: VariableDeclaration | None


@dataclass(frozen=True, eq=False)
class HaltDeclaration:
    """The condition under which a position has halted."""

    variable: Reference
    value: object


def var(
    n: int,
    *,
    token: Initialiser | None = None,
    position: Initialiser | None = None,
    default: Any = None,
) -> Any:
    """Declare a categorical variable with the values 0 to n - 1.

    Args:
        n: how many values it has.
        token: function from the input token to the initial value.
        position: function from the position, counted from 0, to the initial value.
        default: the initial value if neither is given (0 if left out).

    Example:
        >>> import weft
        >>> class Copy(weft.Program):
        ...     tokens = ["a", "b"]
        ...     letter = weft.var(2, token=lambda t: t == "b")
        ...     output = letter
        ...     layers = 0
        >>> weft.run(Copy, "abba").outputs
        (0, 1, 1, 0)
    """
    return declare_var(n, token, position, default, caller_location(1))


def number(
    buckets: Iterable[float],
    *,
    token: Initialiser | None = None,
    position: Initialiser | None = None,
    default: Any = None,
) -> Any:
    """Declare a numerical variable; a step reads it as the nearest of its buckets.

    Example:
        >>> import weft
        >>> class Share(weft.Program):
        ...     "The share of ones, to the nearest quarter."
        ...     tokens = [0, 1]
        ...     one = weft.number([0, 1], token=lambda t: t)
        ...     all = weft.var(1)
        ...     share = weft.attend(all, all, one, output=weft.number([0, 0.25, 0.5, 0.75, 1]))
        ...     quarters = weft.var(5)
        ...     output = quarters
        ...     layers = 1
        ...     def step(z):
        ...         z.quarters = int(4 * z.share)
        >>> weft.run(Share, "1011").outputs
        (3, 3, 3, 3)
    """
    return declare_number(buckets, token, position, default, caller_location(1))


def subset(
    n: int,
    sets: Iterable[Iterable[int]],
    *,
    token: Initialiser | None = None,
    position: Initialiser | None = None,
    default: Any = None,
) -> Any:
    """Declare a set variable: one of the listed subsets of 0 to n - 1.

    As the query of a head it selects every key that is in the set.

    Example:
        >>> import weft
        >>> class Vowels(weft.Program):
        ...     "The share of vowels, in halves."
        ...     tokens = ["a", "e", "x"]
        ...     letter = weft.var(3, token=lambda t: "aex".index(t))
        ...     is_a = weft.number([0, 1], token=lambda t: t == "a")
        ...     vowels = weft.subset(3, [{0, 1}], default={0, 1})
        ...     share = weft.attend(vowels, letter, is_a, output=weft.number([0, 0.5, 1]))
        ...     halves = weft.var(3)
        ...     output = halves
        ...     layers = 1
        ...     def step(z):
        ...         z.halves = int(2 * z.share)
        >>> weft.run(Vowels, "axe").outputs
        (1, 1, 1)
    """
    return declare_subset(n, sets, token, position, default, caller_location(1))


def attend(
    query: Any,
    key: Any,
    value: Any,
    *,
    relative: Iterable[int] | None = None,
    output: Any = None,
) -> Any:
    """Declare a head: fetch `value` from the positions whose `key` equals (or is in) `query`.

    Args:
        query: a categorical or set variable.
        key: a categorical variable of the same size.
        value: a categorical variable (exactly one position must be selected, else the output is
            undefined) or a number (the selected ones are averaged).
        relative: the offsets that the head may look at, such as `{-1, 0}`; all if left out.
        output: `weft.number(buckets)` or `weft.var(n)`, if its range differs from the value's.

    Example:
        >>> import weft
        >>> class Reverse(weft.Program):
        ...     tokens, positions = ["a", "b"], 4
        ...     letter = weft.var(2, token=lambda t: t == "b")
        ...     here = weft.var(4, position=lambda i: i)
        ...     mirror = weft.var(4, position=lambda i: 3 - i)
        ...     found = weft.attend(mirror, here, letter)
        ...     reversed = weft.var(2)
        ...     output = reversed
        ...     layers = 1
        ...     def step(z):
        ...         z.reversed = z.found
        >>> weft.run(Reverse, "abbb").outputs
        (1, 1, 1, 0)
    """
    return declare_attend(query, key, value, relative, output, caller_location(1))


def relative(value: Any, offset: int, *, output: Any = None) -> Any:
    """Declare a head that fetches `value` from a fixed distance: -1 is the left neighbour.

    Example:
        >>> import weft
        >>> class Shift(weft.Program):
        ...     tokens = ["a", "b"]
        ...     letter = weft.var(2, token=lambda t: t == "b")
        ...     first = weft.var(2, position=lambda i: i == 0)
        ...     left = weft.relative(letter, -1)
        ...     output = letter
        ...     layers = 1
        ...     def step(z):
        ...         if not z.first:
        ...             z.letter = z.left
        >>> weft.run(Shift, "abba").outputs
        (0, 0, 1, 1)
    """
    return declare_attend(None, None, value, [offset], output, caller_location(1))


def declare_var(
    n: Any, token: Any, position: Any, default: Any, where: Location
) -> VariableDeclaration:
    """`var`, with the place it was written."""
    if not _whole(n) or n < 1:
        what = f"a variable needs at least one value, not {n!r}"
        raise _wrong(what, where, "Give the number of its values, as in weft.var(2)")
    return VariableDeclaration(ranges.categorical(int(n)), token, position, default, where=where)


def declare_number(
    buckets: Any, token: Any, position: Any, default: Any, where: Location
) -> VariableDeclaration:
    """`number`, with the place it was written."""
    remedy = "List the values it is read as, as in weft.number([0, 0.5, 1])"
    try:
        listed = [float(bucket) for bucket in buckets]
    except (TypeError, ValueError):
        raise _wrong(f"{buckets!r} is not a list of buckets", where, remedy) from None
    if not listed or not all(math.isfinite(bucket) for bucket in listed):
        what = "a number needs at least one bucket, and all of them finite"
        raise _wrong(what, where, remedy)
    return VariableDeclaration(ranges.number(listed), token, position, default, where=where)


def declare_subset(
    n: Any, sets: Any, token: Any, position: Any, default: Any, where: Location
) -> VariableDeclaration:
    """`subset`, with the place it was written."""
    remedy = "List the sets it may hold, as in weft.subset(3, [{0}, {1, 2}])"
    try:
        range_ = ranges.subset(int(n), sets)
    except (TypeError, ValueError):
        raise _wrong(f"{sets!r} are not sets of numbers below {n!r}", where, remedy) from None
    if not range_.values:
        raise _wrong("a set variable needs at least one set", where, remedy)
    for chosen in range_.values:
        if not all(_whole(item) and 0 <= item < n for item in chosen):  # type: ignore[union-attr]
            what = f"the set {ranges.show_value(chosen)} is not a subset of 0..{n - 1}"
            raise _wrong(what, where, "Enlarge n, or correct the set")
    return VariableDeclaration(range_, token, position, default, where=where)


def declare_attend(
    query: Any, key: Any, value: Any, offsets: Any, output: Any, where: Location
) -> HeadDeclaration:
    """`attend` and `relative`, with the place they were written."""
    try:
        chosen = None if offsets is None else frozenset(offsets)
    except TypeError:
        chosen = frozenset([None])
    if chosen is not None and (not chosen or not all(_whole(offset) for offset in chosen)):
        remedy = "-1 is the left neighbour, 1 the right one; relative= takes several, as {-1, 0}"
        raise _wrong(f"relative offsets are whole numbers, not {offsets!r}", where, remedy)
    return HeadDeclaration(query, key, value, chosen, output, where=where)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(what: str, where: Location, remedy: str) -> WeftError:
    return WeftError(what, subject=where.owner, where=where, remedy=remedy)
