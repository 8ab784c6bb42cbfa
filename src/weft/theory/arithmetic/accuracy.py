"""What a prediction for an arithmetic task says: accuracies by length, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from weft.errors import WeftError

Verdict = Literal["perfect", "truncated", "fails", "unknown"]
"""Of lengths above n.

perfect     all answers are right
truncated   those of the truncated function are, whose limit is between 0 and 1
fails       the limit is 0
unknown     the theory says nothing
"""
Where = Literal["trained", "shorter", "longer"]


def per_cent(share: Fraction) -> str:
    """A share in per cent with two digits, and `0` or `100` only if that is exact.

    Example:
        >>> per_cent(Fraction(1, 3)), per_cent(Fraction(1)), per_cent(Fraction(1, 10**9))
        ('33.33', '100', '<0.01')
    """
    if share in (0, 1):
        return str(100 * share)
    if share < Fraction(1, 20_000):
        return "<0.01"
    return ">99.99" if share > Fraction(19_999, 20_000) else f"{float(100 * share):.2f}"


def _number(share: Fraction | None) -> float | None:
    return None if share is None else float(share)


@dataclass(frozen=True)
class AccuracyRange:
    """The accuracy on tests of one length and distribution.

    Attributes:
        expected: if the model has learned all patterns; None if the theory says nothing.
        at_least: if it answers every question wrong that needs a pattern that training does not
            exercise; None if the theory says nothing.
        uncovered: the share of those questions (of products, an upper bound).
        exact: whether residues are counted; if not, shares are the product over prime powers.
    """

    expected: Fraction | None
    at_least: Fraction | None
    uncovered: Fraction = Fraction(0)
    exact: bool = True

    @property
    def known(self) -> bool:
        """Whether the theory says anything."""
        return self.expected is not None

    @property
    def certain(self) -> bool:
        """Whether training exercises all that decides the accuracy."""
        return self.known and self.expected == self.at_least

    @property
    def text(self) -> str:
        """In per cent, as in `33.33`, `45.05 to 100` or `unknown`; `~2.53` is not exact."""
        if self.expected is None or self.at_least is None:
            return "unknown"
        about = "" if self.exact else "~"
        if self.certain:
            return about + per_cent(self.expected)
        return f"{about}{per_cent(self.at_least)} to {per_cent(self.expected)}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON: numbers, and the expected one as a fraction, too."""
        return {
            "expected": _number(self.expected),
            "at_least": _number(self.at_least),
            "uncovered": float(self.uncovered),
            "fraction": None if self.expected is None else str(self.expected),
            "exact": self.exact,
        }


@dataclass(frozen=True)
class LengthPrediction:
    """The prediction for one length.

    Attributes:
        length: the number of digits of the longest operand.
        where: `trained`, or `shorter` or `longer` than that.
        by: the accuracy by the name of the distribution of tests.
    """

    length: int
    where: Where
    by: Mapping[str, AccuracyRange]


@dataclass(frozen=True, kw_only=True)
class ArithmeticPrediction:
    """The accuracy of a model on an arithmetic task by length, with the reason.

    Attributes:
        task: the name of the task.
        parameters: its parameters.
        encoding: the model's positional encoding.
        operation: the operation.
        base: the base.
        modulus: p; 0 if results are not reduced.
        digits: n, the maximum number of digits in training.
        factor: p' = p / gcd(p, base^n); 1 without a modulus.
        training: what the model is trained on.
        distribution: the distribution of the task's tests.
        verdict: what happens above n digits.
        reason: why, in one line.
        rows: the prediction for each length.
        limit: the accuracy as the length grows; None if unknown.
        limit_is_exact: whether the limit is exact; if not, it is the product over prime powers.
        approximation: for modular multiplication, the product over prime powers.
        first_nonzero: the first length above n at which the accuracy can be above 0; None if there
            is none, or if it is unknown.
        perfect_to: the accuracy is 1 up to this length; None if it is at all lengths.
        uncovered_from: the first length below or at n with tests that need patterns that training
            does not exercise; None if there is none.
        missing: such a pattern, in words; empty if there is none.
        provisos: what the prediction assumes, and what it does not claim.
    """

    task: str
    parameters: Mapping[str, Any]
    encoding: str
    operation: str
    base: int
    modulus: int
    digits: int
    factor: int
    training: str
    distribution: str
    verdict: Verdict
    reason: str
    rows: tuple[LengthPrediction, ...]
    limit: Fraction | None
    limit_is_exact: bool
    approximation: Fraction | None
    first_nonzero: int | None
    perfect_to: int | None
    uncovered_from: int | None
    missing: str
    provisos: tuple[str, ...]

    def row(self, length: int) -> LengthPrediction:
        """The prediction for one of the lengths."""
        for row in self.rows:
            if row.length == length:
                return row
        known = f"{self.rows[0].length} to {self.rows[-1].length}"
        what = f"there is no prediction for {length} digits, only for {known}"
        raise WeftError(what, subject=f"task {self.task}", remedy="Give lengths, or longer")

    def at(self, length: int, distribution: str = "") -> AccuracyRange:
        """The accuracy at a length, by default on the distribution of the task's tests."""
        by = self.row(length).by
        name = distribution or self.distribution
        if name not in by:
            remedy = f"Give one of: {', '.join(by)}"
            raise WeftError(f"there is no distribution '{name}'", remedy=remedy)
        return by[name]

    def as_dict(self) -> dict[str, Any]:
        """The prediction for JSON."""
        plain = dict(vars(self))
        plain |= {
            "parameters": dict(self.parameters),
            "limit": _number(self.limit),
            "approximation": _number(self.approximation),
            "provisos": list(self.provisos),
            "rows": [
                {
                    "digits": row.length,
                    "where": row.where,
                    "accuracy": {name: found.as_dict() for name, found in row.by.items()},
                }
                for row in self.rows
            ],
        }
        return plain
