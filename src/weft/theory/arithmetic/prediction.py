"""Predict the accuracy of a trained model on an arithmetic task, at every length, exactly.

The prediction is about a model that is perfect on its training distribution. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from weft.errors import WeftError
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.batch import Batch
from weft.tasks.task import Task
from weft.theory.arithmetic.counting import Distribution, Truncation
from weft.theory.arithmetic.coverage import Patterns, patterns
from weft.theory.arithmetic.encodings import Claim, claim, encoding_name
from weft.theory.arithmetic.products import product_over_primes

Verdict = Literal["perfect", "truncated", "fails", "unknown"]
"""Of lengths above n.

perfect     all answers are right
truncated   those of the truncated function are, whose limit is between 0 and 1
fails       the limit is 0
unknown     the theory says nothing
"""
Where = Literal["trained", "shorter", "longer"]
NAMES = (
    "addition", "subtraction", "multiplication", "sum-of-three", "multiply-add",
    "modular-addition", "modular-multiplication",
)  # fmt: skip
LONGEST = {2: 60, 3: 20}
"""The longest test by the number of operands; by default, tests of longer tasks end there. The time
grows with the number of tuples of digit counts."""


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


def predict_arithmetic(
    task: Task,
    *,
    encoding: str = "absolute",
    random_offset: int = 0,
    lengths: Sequence[int] | None = None,
    training: Batch | None = None,
) -> ArithmeticPrediction:
    """Predict the accuracy of a model on an arithmetic task at every length.

    Args:
        task: the task, with numbers written digit by digit.
        encoding: the model's positional encoding, by its name in a model's config; `absolute` is
            `learned`, and `relative` is `distance`, a learned bias per exact distance.
        random_offset: the model's `random_offset`, which matters for `abacus`.
        lengths: the numbers of digits in tests; by default 1 to the task's `longer`.
        training: the training examples, if they are fixed; by default the task's pool, or all
            examples of its training domain.

    Example:
        >>> from weft.tasks import task
        >>> nine = predict_arithmetic(task("modular-addition", modulus=150, digits=4)).at(9)
        >>> nine.text, nine.expected
        ('33.33', Fraction(1, 3))
    """
    arithmetic = _checked(task)
    tested = _lengths(arithmetic, lengths)
    name = encoding_name(encoding)
    if random_offset < 0:
        raise _error(arithmetic, f"random_offset is {random_offset}", "Give at least 0")
    truncation = Truncation(
        arithmetic.operation.name, arithmetic.base, arithmetic.digits, arithmetic.modulus_or_none
    )
    claimed = claim(arithmetic, name, random_offset, tested[-1])
    model = _Model(arithmetic, truncation, claimed, patterns(arithmetic, training))
    rows = tuple(_row(model, length) for length in tested)
    headline = Distribution(arithmetic.test_kind, arithmetic.sampler)
    upward = model.upward
    short = (row for row in rows if row.length <= arithmetic.digits)
    gap = next((row.length for row in short if row.by[headline.name].uncovered), None)
    is_product = bool(arithmetic.modulus_or_none) and truncation.operation == "multiplication"
    limit = {"right": Fraction(1), "truncated": truncation.limit}.get(upward)
    return ArithmeticPrediction(
        task=task.name,
        parameters=task.parameters,
        encoding=name,
        operation=truncation.operation,
        base=arithmetic.base,
        modulus=arithmetic.modulus_or_none,
        digits=arithmetic.digits,
        factor=truncation.factor,
        training=_training(arithmetic, training),
        distribution=headline.name,
        verdict=_verdict(limit),
        reason=_reason(model),
        rows=rows,
        limit=limit,
        limit_is_exact=truncation.limit_is_exact,
        approximation=product_over_primes(truncation.factor) if is_product else None,
        first_nonzero=_first_nonzero(model, headline),
        perfect_to=_perfect_to(model, headline, tested[-1]),
        uncovered_from=gap,
        missing=_missing(model, headline, gap),
        provisos=tuple(_provisos(model, training)),
    )


# Checks


def _checked(task: Task) -> Arithmetic:
    """The task, if it is about numbers that are written digit by digit."""
    if not isinstance(task, Arithmetic):
        remedy = f"Give one of: {', '.join(NAMES)}"
        raise WeftError("it is not an arithmetic task", subject=f"task {task.name}", remedy=remedy)
    if not task.digit_tokens:
        what = "each number is one token, so there are no digits to predict from"
        raise _error(task, what, "Give digits, as in digits=4, or representation=digits")
    return task


def _error(task: Task, what: str, remedy: str) -> WeftError:
    return WeftError(what, subject=f"task {task.name}", remedy=remedy)


def _lengths(task: Arithmetic, lengths: Sequence[int] | None) -> tuple[int, ...]:
    longest = LONGEST[task.operation.operands]
    if lengths is None:
        lengths = range(1, min(task.longer, longest) + 1)
    tested = tuple(sorted(set(lengths)))
    if not tested or tested[0] < 1:
        what = f"a test length is {tested[0]}" if tested else "there are no test lengths"
        raise _error(task, what, "Give at least 1")
    if tested[-1] > longest:
        raise _error(task, f"a test length is {tested[-1]:,}", f"Give at most {longest}")
    if task.width and tested[-1] > task.width:
        what = f"a test length is {tested[-1]}, but numbers are padded to {task.width} digits"
        raise _error(task, what, "Give a larger width, or shorter tests")
    return tested


# The rows


@dataclass(frozen=True)
class _Model:
    """What is known of a trained model."""

    task: Arithmetic
    truncation: Truncation
    claim: Claim
    patterns: Patterns | None

    @property
    def upward(self) -> Literal["right", "truncated", "unknown"]:
        """Its answers above n digits."""
        if self.task.scratchpad != "none":
            return "unknown"
        if self.claim.behaviour == "shared" or (self.truncation.modulus and self.factor == 1):
            return "right"
        is_product = self.truncation.operation == "multiplication" and not self.truncation.modulus
        return "truncated" if self.claim.behaviour == "truncated" or is_product else "unknown"

    @property
    def factor(self) -> int:
        """p'."""
        return self.truncation.factor

    @property
    def downward(self) -> bool:
        """Whether anything is said about numbers of up to n digits that training does not have."""
        return self.claim.behaviour != "unknown" or self.upward == "right"


def _row(model: _Model, length: int) -> LengthPrediction:
    task = model.task
    own = Distribution(task.test_kind, task.sampler)
    shown = (Distribution("D~"), Distribution("D", "coin"), Distribution("D", "uniform"), own)
    by = {each.name: _accuracy(model, each, length) for each in dict.fromkeys(shown)}
    if length > task.digits:
        return LengthPrediction(length, "longer", by)
    where: Where = "trained" if length in task.mixture.lengths else "shorter"
    return LengthPrediction(length, where, by)


def _accuracy(model: _Model, distribution: Distribution, length: int) -> AccuracyRange:
    task, truncation = model.task, model.truncation
    cells = distribution.cells(length, task.base, truncation.operands)
    if length > task.digits:
        said = model.upward != "unknown"
    else:
        said = model.downward or all(map(task.mixture.holds, cells))
    if not said:
        return AccuracyRange(None, None)
    expected = at_least = covered = Fraction(0)
    shared = model.claim.behaviour == "shared"
    right_everywhere = model.upward == "right"
    for counts, share in cells.items():
        right = Fraction(1) if right_everywhere else truncation.share_at(counts)
        known = Fraction(1) if model.patterns is None else model.patterns.covered(counts, shared)
        expected += share * right
        covered += share * known
        # High and low parts are independent, and whether a sum is right depends on the former only.
        is_product = truncation.operation not in ("addition", "subtraction", "sum of three")
        at_least += share * (max(Fraction(0), right + known - 1) if is_product else right * known)
    exact = right_everywhere or truncation.is_exact(distribution, length)
    return AccuracyRange(expected, at_least, 1 - covered, exact)


def _first_nonzero(model: _Model, distribution: Distribution) -> int | None:
    if model.upward == "unknown":
        return None
    longer = model.task.digits + 1
    return longer if model.upward == "right" else model.truncation.first_right(distribution)


def _perfect_to(model: _Model, distribution: Distribution, longest: int) -> int | None:
    """The length up to which all accuracies are 1; None if all are, at any length."""
    last = max(longest, model.task.digits + 1)
    for length in range(1, last + 1):
        found = _accuracy(model, distribution, length)
        if found.at_least != 1:
            return length - 1
    return None if model.upward == "right" else last


def _missing(model: _Model, distribution: Distribution, length: int | None) -> str:
    """A pattern that tests of a length need, and training does not exercise."""
    if length is None or model.patterns is None:
        return ""
    shared = model.claim.behaviour == "shared"
    cells = distribution.cells(length, model.task.base, model.truncation.operands)
    by_share = sorted(cells, key=lambda counts: cells[counts], reverse=True)
    return next(filter(None, (model.patterns.missing(each, shared) for each in by_share)), "")


# In words


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


def _verdict(limit: Fraction | None) -> Verdict:
    if limit is None:
        return "unknown"
    if limit == 1:
        return "perfect"
    return "truncated" if limit else "fails"


def _reason(model: _Model) -> str:
    """The reason, on one line."""
    truncation, reason = model.truncation, model.claim.reason
    p, factor, power = truncation.modulus, model.factor, f"{truncation.base}^{truncation.digits}"
    if model.upward == "unknown" or model.claim.behaviour == "shared":
        return reason
    if p and factor == 1:
        return f"{p} divides {power}: digits above the last {truncation.digits} do not matter"
    if p:
        high = "A + B" if truncation.operation == "addition" else "A b + B a0"
        parts = f"{high}, where a = A {power} + a0 and b = B {power} + b0"
        return f"{reason}: the truncated result is right iff p' = {factor} divides {parts}"
    if truncation.operation == "multiplication":
        return "the rule of a product changes with the digit: only zero operands remain"
    high = "equal" if truncation.operation == "subtraction" else "all 0"
    return f"{reason}: the truncated result is right iff the high parts are {high}"


def _training(task: Arithmetic, training: Batch | None) -> str:
    """What the model is trained on."""
    if training is not None:
        return f"{len(training.lengths):,} given examples"
    kinds = {domain.kind for domain in task.mixture.domains}
    text = f"{task.mixture} ({task.sampler})" if "D" in kinds else str(task.mixture)
    if task.restrict != "none":
        text += f", {task.restrict}"
    return f"a pool of {task.pool:,} examples of {text}" if task.pool else text


def _provisos(model: _Model, training: Batch | None) -> list[str]:
    """What is assumed, and what is not claimed."""
    task, behaviour = model.task, model.claim.behaviour
    found = ["The model is taken to be perfect on what training exercises."]
    if behaviour == "truncated" and not task.width:
        found.append("Numbers are not padded (width=0), so a place has no position of its own; "
                     "the truncated function is derived for padded numbers.")  # fmt: skip
    if model.upward == "right" and behaviour == "unknown":
        found.append("That the model keeps ignoring high digits is assumed, not derived.")
    if behaviour == "shared" and not task.notation.reverse_result:
        found.append("Results start with the highest digit, whose carry depends on digits that "
                     "are written later.")  # fmt: skip
    if model.patterns is None:
        found.append("Whether training exercises all digit and carry patterns is not computed.")
    elif model.patterns.rule == "products":
        found.append("Of products, pairs of digits are compared with training, not carries.")
    if not model.truncation.limit_is_exact and model.upward == "truncated":
        found.append("p' is large, so shares marked ~ are the product over prime powers, as if "
                     "residues were independent.")  # fmt: skip
    return found
