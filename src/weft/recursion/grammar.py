"""Counting and unranking: the k-th term of a size, without making the others.

A grammar has kinds, and for each kind productions: a weight, and parts of other kinds. The number
of derivations of size n is a sum over productions of products over the splits of n among the parts
(the recursive method of Nijenhuis and Wilf), and a number below it names one derivation. A uniform
number is therefore a uniform derivation, with nothing rejected.

Derivations also have a rank of nesting, their *level*: the largest sum of `rise` on a path through
tracked parts. Levels are counted exactly (`=`) or as a bound (`<=`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError

if TYPE_CHECKING:
    import numpy as np

READY = 64
"""Kinds of a size with at most this many derivations are made once and shared."""
SMALL = 150
"""Derivations up to this size are made by recursion."""
MAX_WORK = 20_000_000
"""Products that a table of counts may take; larger sizes are refused."""


@dataclass(frozen=True)
class Production:
    """One way to make a kind.

    Attributes:
        weight: what it adds to the size.
        rise: what it adds to the level.
        parts: the kinds of its parts.
        make: makes the value from those of the parts; with a second argument, which draws symbols,
            if it `draws`.
        draws: whether it draws symbols.
    """

    weight: int
    rise: int
    parts: tuple[Hashable, ...]
    make: Callable[..., Any]
    draws: bool = False


Key = tuple[Hashable, int, int | None, bool]
"""A kind, a size, a level or None for any, and whether the level is exact."""


class Plan:
    """The derivations of one key, worked out when they are first asked for.

    Attributes:
        key: the key.
        ends: the accumulated numbers of derivations of the choices.
        choices: productions with the plans of their parts and the number of derivations of the
            second part.
        ready: all values, if they are few and draw no symbols.
    """

    __slots__ = ("choices", "ends", "key", "ready")

    def __init__(self, key: Key) -> None:
        self.key = key
        self.ends: list[int] = []
        self.choices: list[tuple[Production, tuple[Plan, ...], int]] | None = None
        self.ready: list[Any] | None = None


class Grammar:
    """Kinds with their productions, and tables of counts that grow as they are asked for.

    Args:
        productions: by kind.
        tracked: the kinds whose levels count; others have level 0.
    """

    def __init__(
        self, productions: Mapping[Hashable, Sequence[Production]], tracked: set[Hashable]
    ) -> None:
        self.productions: dict[Hashable, list[Production]] = {}
        self.tracked = set(tracked)
        for kind, given in productions.items():
            self.productions[kind] = [self._binary(one) for one in given]
        self._counts: dict[Key, int] = {}
        self._plans: dict[Key, Plan] = {}
        self._filled: dict[tuple[Hashable, bool], tuple[int, int]] = {}

    def _binary(self, production: Production) -> Production:
        """A production of at most two parts; the others go into kinds of their own."""
        if len(production.parts) <= 2:
            return production
        rest = production.parts[1:]
        kind = ("sequence", rest)
        if kind not in self.productions:
            self.productions[kind] = []  # it may contain itself no further
            self.productions[kind] = [self._binary(Production(0, 0, rest, lambda *values: values))]
            if any(part in self.tracked for part in rest):
                self.tracked.add(kind)
        make = production.make

        def flat(first: Any, others: tuple[Any, ...], *draw: Any) -> Any:
            return make(first, *others, *draw)

        parts = (production.parts[0], kind)
        return Production(production.weight, production.rise, parts, flat, production.draws)

    # Counts

    def count(
        self, kind: Hashable, size: int, level: int | None = None, exact: bool = False
    ) -> int:
        """The number of derivations of a size, and of a level or of at most that level."""
        if size < 0 or (level is not None and level < 0):
            return 0
        self._fill(kind, size, level)
        return self._count((kind, size, level, exact and level is not None))

    def _fill(self, kind: Hashable, size: int, level: int | None) -> None:
        """Count smaller sizes first, so that counting does not recurse deeply."""
        branching = any(len(one.parts) > 1 for given in self.productions.values() for one in given)
        levels = 1 if level is None else level + 1
        work = size * levels * len(self.productions) * (size if branching else 1)
        if work > MAX_WORK:
            raise WeftError(
                f"terms of size {size:,} are too many to be counted",
                remedy="Give a smaller size, or another shape",
            )
        key = (kind, level is not None)
        sizes, heights = self._filled.get(key, (-1, -1))
        if size <= sizes and (level or 0) <= heights:
            return
        for height in (None,) if level is None else range(level + 1):
            for smaller in range(size + 1):
                for one in self.productions:
                    self._count((one, smaller, height, False))
        self._filled[key] = (max(size, sizes), max(level or 0, heights))

    def _count(self, key: Key) -> int:
        found = self._counts.get(key)
        if found is None:
            found = sum(count for _, _, _, count in self._choices(key))
            self._counts[key] = found
        return found

    def _choices(self, key: Key) -> Iterator[tuple[Production, tuple[Key, ...], int, int]]:
        """The productions and the keys of parts of a key, with counts that are not zero."""
        kind, size, level, exact = key
        if level is not None and kind not in self.tracked:
            if exact and level > 0:
                return
            level, exact = None, False
        for production in self.productions[kind]:
            left = size - production.weight
            below = None if level is None else level - production.rise
            if left < 0 or (below is not None and below < 0):
                continue
            for keys in self._splits(production.parts, left, below, exact):
                first = self._count(keys[0]) if keys else 1
                second = self._count(keys[1]) if first and len(keys) > 1 else 1
                if first * second:
                    yield production, keys, second, first * second

    def _splits(
        self, parts: tuple[Hashable, ...], size: int, level: int | None, exact: bool
    ) -> Iterator[tuple[Key, ...]]:
        """The keys of parts whose sizes add up, and of whose levels the largest is right."""
        if not parts:
            if size == 0 and not (exact and level):
                yield ()
        elif len(parts) == 1:
            yield ((parts[0], size, level, exact),)
        else:
            for first in range(size + 1):
                rest = size - first
                if not exact or level is None:
                    yield (parts[0], first, level, False), (parts[1], rest, level, False)
                    continue
                yield (parts[0], first, level, True), (parts[1], rest, level, False)
                if level > 0:
                    yield (parts[0], first, level - 1, False), (parts[1], rest, level, True)

    # Unranking

    def plan(self, key: Key) -> Plan:
        """The derivations of a key, worked out."""
        found = self._shell(key)
        if found.choices is None:
            self._expand(found)
        return found

    def _shell(self, key: Key) -> Plan:
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = Plan(key)
        return found

    def _expand(self, plan: Plan) -> list[tuple[Production, tuple[Plan, ...], int]]:
        """Work out the choices of a plan, and its values if they are few and without symbols."""
        listed = list(self._choices(plan.key))
        plan.ends = list(accumulate(count for _, _, _, count in listed))
        plan.choices = [
            (one, tuple(map(self._shell, keys)), second) for one, keys, second, _ in listed
        ]
        if plan.ends and plan.ends[-1] <= READY:
            parts = [part for one, parts, _ in plan.choices for part in parts]
            for part in parts:
                if part.choices is None:
                    self._expand(part)
            plain = not any(one.draws for one, _, _ in plan.choices)
            if plain and all(part.ready is not None for part in parts):
                plan.ready = [self.unrank(plan.key, rank) for rank in range(plan.ends[-1])]
        return plan.choices

    def unrank(self, key: Key, rank: int, draw: Callable[[Any], Any] | None = None) -> Any:
        """The derivation of a key with this number, as the value that its productions make."""
        if key[1] <= SMALL:
            return self._unrank_small(self._shell(key), rank, draw)
        stack: list[tuple[Plan, int]] = [(self._shell(key), rank)]
        order: list[Any] = []
        while stack:
            plan, rank = stack.pop()
            choices = plan.choices or self._expand(plan)
            if plan.ready is not None:
                order.append((None, plan.ready[rank]))
                continue
            choice = 0
            if len(choices) > 1:
                choice = bisect_right(plan.ends, rank)
                if choice:
                    rank -= plan.ends[choice - 1]
            production, parts, second = choices[choice]
            order.append((production, len(parts)))
            if len(parts) == 1:
                stack.append((parts[0], rank))
            elif parts:
                first, last = divmod(rank, second)
                stack.append((parts[1], last))
                stack.append((parts[0], first))
        return assemble(order, draw)

    def _unrank_small(self, plan: Plan, rank: int, draw: Any) -> Any:
        """`unrank` by recursion, for sizes within Python's limit."""
        choices = plan.choices or self._expand(plan)
        if plan.ready is not None:
            return plan.ready[rank]
        choice = 0
        if len(choices) > 1:
            choice = bisect_right(plan.ends, rank)
            if choice:
                rank -= plan.ends[choice - 1]
        production, parts, second = choices[choice]
        if len(parts) == 2:
            one, two = parts
            first, last = divmod(rank, second)
            left = one.ready[first] if one.ready else self._unrank_small(one, first, draw)
            right = two.ready[last] if two.ready else self._unrank_small(two, last, draw)
            make = production.make
            return make(left, right, draw) if production.draws else make(left, right)
        values = [self._unrank_small(one, rank, draw) for one in parts]
        return production.make(*values, draw) if production.draws else production.make(*values)


def assemble(order: list[Any], draw: Callable[[Any], Any] | None) -> Any:
    """The value of a derivation whose productions are listed outer before inner."""
    values: list[Any] = []
    for production, payload in reversed(order):
        if production is None:
            values.append(payload)
            continue
        make = production.make
        if production.draws:
            if payload == 0:
                values.append(make(draw))
            elif payload == 1:
                values[-1] = make(values[-1], draw)
            else:
                first = values.pop()
                values[-1] = make(first, values[-1], draw)
        elif payload == 1:
            values[-1] = make(values[-1])
        elif payload:
            first = values.pop()
            values[-1] = make(first, values[-1])
        else:
            values.append(make())
    return values[0]


def below(rng: np.random.Generator, limit: int, count: int) -> list[int]:
    """Uniform whole numbers below a limit of any size."""
    if limit <= 1 << 63:
        found: list[int] = rng.integers(0, limit, size=count, dtype="uint64").tolist()
        return found
    bits = limit.bit_length()
    width = (bits + 7) // 8
    drawn: list[int] = []
    while len(drawn) < count:
        data = rng.bytes(width * (count - len(drawn)))
        for start in range(0, len(data), width):
            number = int.from_bytes(data[start : start + width], "little") >> (8 * width - bits)
            if number < limit:
                drawn.append(number)
    return drawn
