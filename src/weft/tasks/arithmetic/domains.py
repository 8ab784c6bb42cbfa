"""Domains of operands: which numbers a task draws, by digit count, with exact probabilities.

    D4          at least one operand has exactly 4 digits (Xu et al.'s D_4)
    D~4         all operands have exactly 4 digits (their D~_4, "ab 4" in their code)
    L4          operands of any lengths up to 4: the longest has 1 to 4 digits, uniformly, the
                others 1 to as many, uniformly
    D4:1+D5:3   a mixture, with shares; `D4+D5` has equal ones

A number has as many digits as it takes to write it without leading zeros; 0 has one. Given the
digit counts of all operands, every domain is uniform, so a distribution is fully described by the
probability of each tuple of digit counts, which `Domain.cells` gives as exact fractions. For D_n
there are two distributions over the same set:

    coin       the published sampler: a fair coin picks the operand that has exactly n digits, and
               the others are uniform on [0, base^n). Pairs in which both operands have n digits
               are twice as likely as the others.
    uniform    uniform over the set
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Literal, get_args

from weft.errors import WeftError

Kind = Literal["D", "D~", "L"]
Sampler = Literal["coin", "uniform"]
Counts = tuple[int, ...]
"""The digit count of each operand."""

KINDS: tuple[Kind, ...] = get_args(Kind)
SAMPLERS: tuple[Sampler, ...] = get_args(Sampler)
NAME = re.compile(r"(D~|D|L)(\d*)")
SUBJECT = "domain"
REMEDY = "Write it as in D4, D~4 or D4:1+D5:3"


def number_range(digits: int, base: int = 10) -> tuple[int, int]:
    """The smallest number of this many digits, and one more than the largest.

    Example:
        >>> number_range(1), number_range(3), number_range(3, base=2)
        ((0, 10), (100, 1000), (4, 8))
    """
    check_number("digits", digits, 1)
    check_number("base", base, 2)
    return (0 if digits == 1 else base ** (digits - 1)), base**digits


def number_count(digits: int, base: int = 10) -> int:
    """How many numbers have exactly this many digits."""
    low, high = number_range(digits, base)
    return high - low


def digit_count(number: int, base: int = 10) -> int:
    """The number of digits of a number without leading zeros.

    Example:
        >>> digit_count(0), digit_count(999), digit_count(1000), digit_count(8, base=2)
        (1, 3, 4, 4)
    """
    count, number = 1, abs(number) // base
    while number:
        count, number = count + 1, number // base
    return count


@dataclass(frozen=True)
class Domain:
    """Operands by digit count.

    Attributes:
        kind: `D`: at least one operand has `digits` digits, none has more; `D~`: all have as many;
            `L`: any lengths up to `digits`.
        digits: the number of digits.
    """

    kind: Kind
    digits: int

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise WeftError(f"its kind is {self.kind!r}", subject=SUBJECT, remedy=REMEDY)
        check_number("digits", self.digits, 1)

    def __str__(self) -> str:
        return f"{self.kind}{self.digits}"

    @property
    def lengths(self) -> range:
        """The numbers of digits that its longest operands have."""
        return range(1 if self.kind == "L" else self.digits, self.digits + 1)

    def holds(self, counts: Counts) -> bool:
        """Whether operands of these digit counts are in the set."""
        if self.kind == "D~":
            return set(counts) == {self.digits}
        return max(counts) in self.lengths

    def counts(self, operands: int = 2) -> Iterator[Counts]:
        """All tuples of digit counts in the set."""
        everything = product(range(1, self.digits + 1), repeat=operands)
        return (counts for counts in everything if self.holds(counts))

    def size(self, base: int = 10, operands: int = 2) -> int:
        """How many tuples of numbers are in the set.

        Example:
            >>> Domain("D", 4).size() == 99 * 10**6, Domain("D~", 4).size() == 81 * 10**6
            (True, True)
        """
        return sum(
            prod(number_count(count, base) for count in counts) for counts in self.counts(operands)
        )

    def cells(
        self, base: int = 10, sampler: Sampler = "coin", operands: int = 2
    ) -> dict[Counts, Fraction]:
        """The probability of each tuple of digit counts; given these, operands are uniform.

        `sampler` matters for D_n only.

        Example:
            >>> cells = Domain("D", 2).cells()
            >>> {counts: str(share) for counts, share in cells.items()}
            {(1, 2): '1/20', (2, 1): '1/20', (2, 2): '9/10'}
            >>> str(Domain("D", 2).cells(sampler="uniform")[2, 2])
            '9/11'
        """
        check_sampler(sampler)
        check_number("base", base, 2)
        numbers = {count: number_count(count, base) for count in range(1, self.digits + 1)}
        if self.kind == "L":
            return {counts: self._any_lengths(counts) for counts in self.counts(operands)}
        if self.kind == "D" and sampler == "coin":
            rest, full = base ** (self.digits * (operands - 1)), numbers[self.digits]
            return {
                counts: Fraction(
                    counts.count(self.digits) * prod(numbers[count] for count in counts),
                    operands * full * rest,
                )
                for counts in self.counts(operands)
            }
        size = self.size(base, operands)
        return {
            counts: Fraction(prod(numbers[count] for count in counts), size)
            for counts in self.counts(operands)
        }

    def _any_lengths(self, counts: Counts) -> Fraction:
        """Any operand is the longest with the same probability; the others are uniform up to it."""
        longest = max(counts)
        ways = Fraction(counts.count(longest), len(counts))
        return Fraction(ways, self.digits * longest ** (len(counts) - 1))


@dataclass(frozen=True)
class Mixture:
    """Several domains with shares that sum to 1; examples are drawn from each with its share."""

    parts: tuple[tuple[Domain, Fraction], ...]

    def __post_init__(self) -> None:
        if not self.parts or any(share <= 0 for _, share in self.parts):
            raise WeftError("a share is not positive", subject=SUBJECT, remedy=REMEDY)
        if sum(share for _, share in self.parts) != 1:
            raise WeftError("the shares do not sum to 1", subject=SUBJECT, remedy=REMEDY)

    def __str__(self) -> str:
        if len(self.parts) == 1:
            return str(self.parts[0][0])
        return "+".join(f"{domain}:{share}" for domain, share in self.parts)

    @property
    def domains(self) -> tuple[Domain, ...]:
        """Its domains."""
        return tuple(domain for domain, _ in self.parts)

    @property
    def digits(self) -> int:
        """The maximum number of digits."""
        return max(domain.digits for domain in self.domains)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The numbers of digits that the longest operands have, in ascending order."""
        return tuple(sorted({length for domain in self.domains for length in domain.lengths}))

    def holds(self, counts: Counts) -> bool:
        """Whether operands of these digit counts are in one of the sets."""
        return any(domain.holds(counts) for domain in self.domains)

    def cells(
        self, base: int = 10, sampler: Sampler = "coin", operands: int = 2
    ) -> dict[Counts, Fraction]:
        """The probability of each tuple of digit counts, in ascending order."""
        total: dict[Counts, Fraction] = {}
        for domain, share in self.parts:
            for counts, chance in domain.cells(base, sampler, operands).items():
                total[counts] = total.get(counts, Fraction(0)) + share * chance
        return dict(sorted(total.items()))


@cache
def cells_by_length(
    kind: Kind,
    lengths: tuple[int, ...],
    base: int = 10,
    sampler: Sampler = "coin",
    operands: int = 2,
) -> Mapping[Counts, Fraction]:
    """The probability of each tuple of digit counts in tests of several lengths.

    The longest operand has each of these lengths equally often; given its length, the others are
    drawn as the kind of domain says.

    Example:
        >>> {counts: str(share) for counts, share in cells_by_length("L", (2,)).items()}
        {(1, 2): '1/4', (2, 1): '1/4', (2, 2): '1/2'}
        >>> cells_by_length("D~", (2, 3))[3, 3]
        Fraction(1, 2)
    """
    total: dict[Counts, Fraction] = {}
    for length in lengths:
        cells = Domain(kind, length).cells(base, sampler, operands)
        whole = len(lengths) * sum(cells[counts] for counts in cells if max(counts) == length)
        for counts, chance in cells.items():
            if max(counts) == length:
                total[counts] = total.get(counts, Fraction(0)) + chance / whole
    return MappingProxyType(total)


def domain(text: str, digits: int = 0) -> Mixture:
    """A domain or a mixture by its name; `digits` is for a name without a number, such as `D~`.

    Example:
        >>> str(domain("D4")), str(domain("D~", digits=3)), str(domain("D4:1+D5:3"))
        ('D4', 'D~3', 'D4:1/4+D5:3/4')
        >>> domain("D4+D5").lengths, domain("L3").lengths
        ((4, 5), (1, 2, 3))
        >>> domain("E4")
        Traceback (most recent call last):
        weft.errors.WeftError: domain: 'E4' is not a domain. Write it as in D4, D~4 or D4:1+D5:3
    """
    names = text.split("+")
    parts = [_part(name.strip(), digits if len(names) == 1 else 0) for name in names]
    total = sum((share for _, share in parts), Fraction(0))
    if total <= 0 or any(share <= 0 for _, share in parts):
        what = f"a share in {text!r} is not positive"
        raise WeftError(what, subject=SUBJECT, remedy=REMEDY)
    return Mixture(tuple((one, share / total) for one, share in parts))


def _part(text: str, digits: int) -> tuple[Domain, Fraction]:
    """One domain and its share."""
    name, colon, share = text.partition(":")
    match = NAME.fullmatch(name.strip())
    if match is None or not (match[2] or digits):
        raise WeftError(f"{text!r} is not a domain", subject=SUBJECT, remedy=REMEDY)
    kind: Kind = next(kind for kind in KINDS if kind == match[1])
    try:
        weight = Fraction(share.strip()) if colon else Fraction(1)
    except (ValueError, ZeroDivisionError):
        what = f"the share in {text!r} is not a number"
        raise WeftError(what, subject=SUBJECT, remedy=REMEDY) from None
    return Domain(kind, int(match[2] or digits)), weight


def check_sampler(sampler: str) -> None:
    """Refuse a sampler that is not known."""
    if sampler not in SAMPLERS:
        remedy = f"Give one of: {', '.join(SAMPLERS)}"
        raise WeftError(f"its sampler is {sampler!r}", subject=SUBJECT, remedy=remedy)


def check_number(name: str, value: int, least: int) -> None:
    """Refuse a number that is too small."""
    if value < least:
        raise WeftError(f"{name} is {value}", remedy=f"Give at least {least}")
