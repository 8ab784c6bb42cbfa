"""Predict the accuracy of a trained model on an arithmetic task, at every length, exactly.

The prediction is about a model that is perfect on its training distribution. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from weft.errors import WeftError
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.batch import Batch
from weft.tasks.task import Task
from weft.theory.arithmetic.accuracy import (
    AccuracyRange,
    ArithmeticPrediction,
    LengthPrediction,
    Verdict,
    Where,
)
from weft.theory.arithmetic.counting import Distribution, Truncation
from weft.theory.arithmetic.coverage import Patterns, patterns
from weft.theory.arithmetic.encodings import Claim, claim, encoding_name
from weft.theory.arithmetic.products import product_over_primes

NAMES = (
    "addition", "subtraction", "multiplication", "sum-of-three", "multiply-add",
    "modular-addition", "modular-multiplication",
)  # fmt: skip
LONGEST = {2: 60, 3: 20}
"""The longest test by the number of operands; by default, tests of longer tasks end there. The time
grows with the number of tuples of digit counts."""


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
