"""Which digit and carry patterns a training set exercises, and which tests need others.

What a model is taken to have learned of the rule of a place is what its training set shows there.
The rule sees the digits of a place only through one number:

    addition, a+b+c            the total of the digits and the carry into the place, at every place
                               up to the one above n, which takes the last carry
    modular addition           the sum of the digits, at the places that matter: modulo p, those
                               with base^i not divisible by p
    subtraction                the difference of the digits
    products                   the product of a digit of one operand and a digit of another, at
                               every pair of places that matters

A pattern is exercised if training shows its number at its place and its digits anywhere, since
tokens have one embedding. A pattern of number 0, as in an empty place, counts as exercised at all
places if any place shows it: it adds nothing.

If places share one rule, because it is translation invariant and the model can express that, a
number that is shown at one place counts for all.

The patterns are those of the examples of a pool, or of all examples that the training domain has.
Given the digit counts of the operands, digits are independent, so the latter follow place by place,
and so does the share of tests that need others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Literal

import numpy as np

from weft.tasks.arithmetic import Arithmetic
from weft.tasks.arithmetic.domains import Counts
from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch

Rule = Literal["totals", "sums", "differences", "products"]
Place = Literal["any", "leading", "empty"]
"""Which digits a number has at a place: any, any but 0, or only 0."""

MOST_PATTERNS = 50_000_000
"""Patterns are not counted beyond this: products in large bases with many digits."""
FEW_QUESTIONS = 400
"""Of a domain with at most this many questions, those that are held out leave gaps, so examples are
drawn: `DRAWS` times as many."""
DRAWS = 40


@dataclass(frozen=True)
class Patterns:
    """The patterns that training exercises.

    Attributes:
        rule: which number of a place's digits counts.
        base: the base.
        digits: n.
        operands: the number of operands.
        shown: the numbers by place; of products, by pairs of places.
        symbols: which digits training shows.
        relevant: the places that matter; of products, pairs of them.
    """

    rule: Rule
    base: int
    digits: int
    operands: int
    shown: Bools
    symbols: Bools
    relevant: tuple[tuple[int, ...], ...]

    def covered(self, counts: Counts, shared: bool = False) -> Fraction:
        """The share of questions of these digit counts that need no other patterns.

        Of products, a lower bound: questions that lack several pairs are counted several times.

        Args:
            counts: the digit count of each operand.
            shared: whether places share one rule.
        """
        if not shared:
            counts = tuple(min(count, self.digits + 1) for count in counts)
        if (counts, shared) not in self._found:
            share = {"totals": self._totals, "products": self._products}.get(self.rule, self._apart)
            self._found[counts, shared] = share(counts, shared)
        return self._found[counts, shared]

    def missing(self, counts: Counts, shared: bool = False) -> str:
        """A pattern that some questions of these digit counts need, and training does not show."""
        for place in range(max(counts) if shared else min(max(counts), self.digits)):
            kinds = [place_kind(count, place) for count in counts if place < count]
            wanted = {digit for kind in kinds for digit in _values(kind, self.base)}
            unseen = sorted(digit for digit in wanted if not self.symbols[digit])
            if unseen:
                return f"the digit {unseen[0]}"
        if self.rule == "totals":
            return self._missing_total(counts, shared)
        for places in self.relevant:
            number = self._numbers(self._kinds(counts, places))
            gaps = np.flatnonzero((number > 0) & ~self._exercised(places, shared))
            if len(gaps):
                noun = {"sums": "sum", "differences": "difference"}.get(self.rule, "product")
                where = " and ".join(str(place + 1) for place in sorted(set(places)))
                plural = "s" if len(set(places)) > 1 else ""
                value = int(gaps[0]) - self._offset
                return f"digits with the {noun} {value} at place{plural} {where}"
        return ""

    # Shares

    @cached_property
    def _found(self) -> dict[tuple[Counts, bool], Fraction]:
        return {}

    @property
    def _offset(self) -> int:
        """The index of the number 0."""
        return self.base - 1 if self.rule == "differences" else 0

    def _exercised(self, places: tuple[int, ...], shared: bool) -> Bools:
        """Which numbers count as exercised at a place."""
        every = self._anywhere
        found = (every if shared else self.shown[places]).copy()
        found[self._offset] |= every[self._offset]
        return found

    @cached_property
    def _anywhere(self) -> Bools:
        return np.asarray(self.shown.reshape(-1, self.shown.shape[-1]).any(axis=0))

    def _kinds(self, counts: Counts, places: tuple[int, ...]) -> tuple[Place, ...]:
        """The kind of each operand at a place; of products, of two operands at two places."""
        if self.rule == "products":
            pairs = zip(counts[:2], places, strict=True)
            return tuple(place_kind(count, place) for count, place in pairs)
        return tuple(place_kind(count, places[0]) for count in counts)

    def _numbers(self, kinds: tuple[Place, ...]) -> Ints:
        """How many tuples of known digits of these kinds have each number."""
        known = (
            tuple(d for d in _values(kind, self.base) if self.symbols[d] or kind == "empty")
            for kind in kinds
        )
        return numbers(self.rule, self.base, tuple(known))

    def _totals(self, counts: Counts, shared: bool) -> Fraction:
        """Follow the carry from place to place, through exercised totals only."""
        ways = [1] + [0] * (self.operands - 1)  # by the carry into the place
        total = 1
        for place, kinds in self._places(counts, shared):
            ways = self._step(ways, self._numbers(kinds), self._exercised_total(place, shared))
            total *= prod(len(_values(kind, self.base)) for kind in kinds)
        return Fraction(sum(ways), total)

    def _places(self, counts: Counts, shared: bool) -> Iterator[tuple[int, tuple[Place, ...]]]:
        """The places of a total, with the kinds of their digits; the last one takes the carry."""
        top = max(counts) if shared else self.digits  # digits from n on are ignored, if not shared
        for place in range(top):
            yield place, self._kinds(counts, (place,))
        yield top, tuple(place_kind(0, top) for _ in counts)

    def _exercised_total(self, place: int, shared: bool) -> Bools:
        return self._exercised((min(place, self.digits),), shared)

    def _step(self, ways: list[int], sums: Ints, exercised: Bools) -> list[int]:
        after = [0] * len(ways)
        for carry, before in enumerate(ways):
            if not before:
                continue
            for out in range(len(ways)):
                low, high = out * self.base - carry, (out + 1) * self.base - carry
                inside = slice(max(low, 0), max(high, 0))
                allowed = exercised[carry : carry + len(sums)]
                after[out] += before * int((sums * allowed)[inside].sum())
        return after

    def _missing_total(self, counts: Counts, shared: bool) -> str:
        carries = {0}
        for place, kinds in self._places(counts, shared):
            sums = np.flatnonzero(self._numbers(kinds))
            totals = sorted({int(value) + carry for value in sums for carry in carries})
            exercised = self._exercised_total(place, shared)
            for total in totals:
                if not exercised[total]:
                    where = "any place" if shared else f"place {place + 1}"
                    return f"digits and a carry that add up to {total} at {where}"
            carries = {total // self.base for total in totals}
        return ""

    def _apart(self, counts: Counts, shared: bool) -> Fraction:
        """Places are independent."""
        share = Fraction(1)
        for places in self.relevant:
            kinds = self._kinds(counts, places)
            exercised = int((self._numbers(kinds) * self._exercised(places, shared)).sum())
            share *= Fraction(exercised, prod(len(_values(kind, self.base)) for kind in kinds))
        return share

    def _products(self, counts: Counts, shared: bool) -> Fraction:
        """The share of known digits, less those of each pair of places that is not exercised."""
        share = Fraction(1)
        for count in counts:
            for place in range(min(count, self.digits)):
                values = _values(place_kind(count, place), self.base)
                share *= Fraction(sum(bool(self.symbols[d]) for d in values), len(values))
        for (places, kinds), gap in self._gaps.items():
            if self._kinds(counts, places) == kinds:
                share -= gap
        return max(share, Fraction(0))

    @cached_property
    def _gaps(self) -> Mapping[tuple[tuple[int, ...], tuple[Place, ...]], Fraction]:
        """For pairs of places and kinds, how often products are not exercised."""
        every: tuple[Place, ...] = ("any", "leading", "empty")
        found = {}
        for kinds in product(every, repeat=2):
            count, total = self._numbers(kinds), prod(len(_values(k, self.base)) for k in kinds)
            for places in self.relevant:
                gap = int((count * ~self._exercised(places, False)).sum())
                if gap:
                    found[places, kinds] = Fraction(gap, total)
        return found


def place_kind(count: int, place: int) -> Place:
    """Which digits a number of `count` digits has at a place, counted from 0."""
    if place >= count:
        return "empty"
    return "leading" if place == count - 1 and count > 1 else "any"


def _values(kind: Place, base: int) -> range:
    return {"any": range(base), "leading": range(1, base), "empty": range(1)}[kind]


@lru_cache(maxsize=4096)
def numbers(rule: Rule, base: int, digits: tuple[tuple[int, ...], ...]) -> Ints:
    """How many tuples of these digits have each number: their sum, difference or product.

    Differences are counted from -(base - 1).
    """
    count = np.zeros(1, dtype=np.int64)
    if rule == "products":
        table = np.multiply.outer(*(np.array(each, dtype=np.int64) for each in digits))
        return np.bincount(table.ravel(), minlength=(base - 1) ** 2 + 1)
    count[0] = 1
    for place, each in enumerate(digits):
        present = np.zeros(base, dtype=np.int64)
        present[list(each)] = 1
        minus = rule == "differences" and place == 1
        count = np.convolve(count, present[::-1] if minus else present)
    return count


# From a task


def patterns(task: Arithmetic, training: Batch | None = None) -> Patterns | None:
    """The patterns that a task's training set exercises.

    None if they cannot be counted: there are too many, or they are those of products without
    carries.

    Args:
        task: the task.
        training: the training examples; by default the pool, if the task has one, or else all
            examples that its domain has.
    """
    rule, relevant = _rule(task)
    if rule == "products" and (task.digits * task.base) ** 2 > MOST_PATTERNS:
        return None
    training = training if training is not None else _drawn(task)
    if training is None and rule == "products" and task.restrict == "no-carries":
        return None  # which depend on all digits
    shown, symbols = _possible(task, rule) if training is None else _seen(task, rule, training)
    symbols[0] |= task.width > task.digits  # padding
    return Patterns(rule, task.base, task.digits, task.operation.operands, shown, symbols, relevant)


def _rule(task: Arithmetic) -> tuple[Rule, tuple[tuple[int, ...], ...]]:
    """Which number of a place's digits counts, and which places matter."""
    n, base, modulus = task.digits, task.base, task.modulus_or_none

    def matters(power: int) -> bool:
        return not modulus or pow(base, power, modulus) != 0

    if "*" in task.operation.signs:
        pairs = product(range(n), repeat=2)
        return "products", tuple((i, j) for i, j in pairs if matters(i + j))
    if modulus:
        return "sums", tuple((i,) for i in range(n) if matters(i))
    if task.operation.signed:
        return "differences", tuple((i,) for i in range(n))
    return "totals", tuple((i,) for i in range(n + 1))


def _drawn(task: Arithmetic) -> Batch | None:
    """Examples, if training is limited to few of them."""
    if task.pool:
        return task.training_pool()
    sizes = (d.size(task.base, task.operation.operands) for d in task.mixture.domains)
    questions = sum(sizes)
    return task.batch("train", 0, 0, DRAWS * questions) if questions <= FEW_QUESTIONS else None


def _empty(task: Arithmetic, rule: Rule) -> Bools:
    """No patterns."""
    n, base, number = task.digits, task.base, task.operation.operands
    shape = {
        "totals": (n + 1, number * base),
        "sums": (n, number * (base - 1) + 1),
        "differences": (n, 2 * base - 1),
        "products": (n, n, (base - 1) ** 2 + 1),
    }[rule]
    return np.zeros(shape, dtype=np.bool_)


def _seen(task: Arithmetic, rule: Rule, training: Batch) -> tuple[Bools, Bools]:
    """The patterns and digits of some examples."""
    n, base = task.digits, task.base
    operands = task.operands(training)
    shown, symbols = _empty(task, rule), np.zeros(base, dtype=np.bool_)
    digits = [_columns(part, n + 1) for part in operands]
    for part in digits:
        used = np.arange(n + 1) < np.maximum(1, _lengths(part))[:, None]
        symbols[np.unique(part[used])] = True
    carries = _columns(task.operation.worked(operands, base).carries_in, n + 1)
    for place in range(n + 1):
        column = [part[:, place] for part in digits]
        if rule == "totals":
            shown[place, np.sum(column, axis=0) + carries[:, place]] = True
        elif place < n and rule == "sums":
            shown[place, np.sum(column, axis=0)] = True
        elif place < n and rule == "differences":
            shown[place, column[0] - column[1] + base - 1] = True
        elif place < n:
            for other in range(n):
                shown[place, other, column[0] * digits[1][:, other]] = True
    return shown, symbols


def _lengths(digits: Ints) -> Ints:
    """How many digits each number has without leading zeros, 0 for 0."""
    return np.asarray(np.max(np.where(digits > 0, np.arange(1, digits.shape[1] + 1), 0), axis=1))


def _columns(array: Ints, width: int) -> Ints:
    """An array of this many columns."""
    array = array[:, :width]
    return np.pad(array, ((0, 0), (0, width - array.shape[1])))


def _possible(task: Arithmetic, rule: Rule) -> tuple[Bools, Bools]:
    """The patterns and digits of all examples that the training domain has."""
    n, base, number = task.digits, task.base, task.operation.operands
    restricted = set(task.allowed_digits or range(base))
    no_carries = task.restrict == "no-carries"
    shown, symbols = _empty(task, rule), np.zeros(base, dtype=np.bool_)

    def known(kind: Place) -> tuple[int, ...]:
        values = _values(kind, base)
        return tuple(d for d in values if d in restricted or kind == "empty")

    cells = list(task.mixture.cells(base, task.sampler, number))
    if rule == "products":
        for i, j in product(range(n), repeat=2):
            for pair in {(place_kind(a, i), place_kind(b, j)) for a, b, *_ in cells}:
                shown[i, j] |= numbers(rule, base, tuple(map(known, pair))) > 0
    for counts in cells:
        carries = {0}
        for place in range(n + 1 if rule == "totals" else n):
            digits = tuple(known(place_kind(count, place)) for count in counts)
            for count, each in zip(counts, digits, strict=True):
                symbols[list(each)] |= place < count
            if rule == "products":
                continue
            found = numbers(rule, base, digits) > 0
            if rule == "differences" and no_carries:
                found[: base - 1] &= counts[1] >= counts[0]  # the second number may be the larger
                found[base:] &= counts[0] >= counts[1]
            values = np.flatnonzero(found)
            if rule == "totals":
                values = np.unique([value + carry for value in values for carry in carries])
            if no_carries and rule != "differences":
                values = values[values < base]
            shown[place, values] = True
            carries = {int(value) // base for value in values} if rule == "totals" else {0}
    return shown, symbols
