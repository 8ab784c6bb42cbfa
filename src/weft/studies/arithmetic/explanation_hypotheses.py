"""Which function does a model of an arithmetic task compute: hypotheses that compete.

Every hypothesis predicts the output on every question, right or wrong. With n the number of digits
in training, and for modular tasks p the modulus:

    operation   the operation on all digits: the truth
    last        on the last n digits of every operand (Xu et al., 2025)
    fewer       on the last m < n digits
    more        on the last m > n digits, but not all
    residue     modulo a divisor of p in place of p, on all or the last m digits; without a modulus,
                only the last k digits of the result
    copy        one of the operands (for modular tasks also its residue)
    constant    the same output always

Free parameters (m, the divisor, k, the operand, the constant) are chosen on one half of the
questions, separately for each hypothesis; agreement is measured on the other half. It is the share
of outputs that are the number predicted. Outputs that are no number agree with nothing, and stay in
the denominator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from weft.statistics import Share
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.arithmetic.digits import digit_lengths, digits_of, residues
from weft.tasks.arithmetic.digits import truncated as cut_off
from weft.tasks.arithmetic.domains import digit_count
from weft.tasks.arithmetic.notation import Numbers
from weft.tasks.arrays import Bools, Ints
from weft.tasks.scoring import group_by

Answer = Callable[[Sequence[Ints]], Numbers]
"""What answers questions: from the digits of each operand (b l each, least significant first)."""

Kind = Literal["operation", "last", "fewer", "more", "residue", "copy", "constant"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_DIVISORS = 64
"""Of a modulus with more divisors, the largest are tried."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A function that a model may compute.

    Attributes:
        kind: which hypothesis it is.
        name: the function in words.
        compute: its output on operands.
        digits: how many digits of every operand it uses; 0 for all.
        modulus: the number that it reduces modulo; 0 for none.
    """

    kind: Kind
    name: str
    compute: Answer
    digits: int = 0
    modulus: int = 0


@dataclass(frozen=True, eq=False)
class Questions:
    """Questions with a model's outputs.

    Attributes:
        operands: the digits of each operand (b l each), least significant first.
        outputs: the numbers in the outputs (b).
    """

    operands: Sequence[Ints]
    outputs: Numbers

    def __len__(self) -> int:
        return len(self.operands[0])

    @property
    def lengths(self) -> Ints:
        """The number of digits of the longest operand (b)."""
        return np.asarray(np.maximum.reduce([digit_lengths(each) for each in self.operands]))

    def take(self, chosen: Ints | Bools | slice) -> Questions:
        """Some of the questions."""
        return Questions([each[chosen] for each in self.operands], take(self.outputs, chosen))


@dataclass(frozen=True, eq=False)
class Support:
    """How far a model's outputs agree with a hypothesis.

    Attributes:
        hypothesis: the hypothesis, with the parameters that were chosen.
        fitted: agreement on the questions on which these were chosen.
        agreement: agreement on the other questions.
        by_length: the same by the number of digits of the longest operand.
        right: how often the hypothesis itself gives the true result on these.
        agreed: which of these outputs agree (b).
        same_as: hypotheses before this one, in the order of `KINDS`, that predict the same on every
            question.
    """

    hypothesis: Hypothesis
    fitted: Share
    agreement: Share
    by_length: dict[int, Share]
    right: Share
    agreed: Bools
    same_as: tuple[Kind, ...] = ()


def operation(task: Arithmetic, digits: int = 0, modulus: int = 0) -> Answer:
    """The operation of a task on the last `digits` digits (0 for all), modulo its own or another.

    Example:
        >>> from weft.studies.arithmetic.explanation_hypotheses import operation
        >>> from weft.tasks.arithmetic import ModularAddition
        >>> from weft.tasks.arithmetic.digits import digits_of, integers
        >>> import numpy as np
        >>> operands = [digits_of(np.array([number]), 10, 4) for number in (1234, 5678)]
        >>> task = ModularAddition(modulus=150, digits=2)
        >>> for given in ((), (2,), (2, 50)):
        ...     print(integers(operation(task, *given)(operands).digits, 10))
        [12]
        [112]
        [12]
    """
    reduced = modulus or task.modulus_or_none

    def compute(operands: Sequence[Ints]) -> Numbers:
        cut = [cut_off(each, digits) for each in operands] if digits else list(operands)
        every = np.ones(len(cut[0]), dtype=np.bool_)
        if not reduced:
            worked = task.operation.worked(cut, task.base)
            return Numbers(worked.digits, worked.negative, every)
        values = [residues(each, task.base, reduced) for each in cut]
        result = np.asarray(task.operation.exact(*values) % reduced)
        width = digit_count(reduced - 1, task.base)
        return Numbers(digits_of(result, task.base, width), ~every, every)

    return compute


def _ending(task: Arithmetic, kept: int) -> Answer:
    """The last `kept` digits of the result."""

    def compute(operands: Sequence[Ints]) -> Numbers:
        whole = operation(task)(operands)
        return Numbers(cut_off(whole.digits, kept), whole.negative, whole.well_formed)

    return compute


def _copy(task: Arithmetic, place: int, *, reduce: bool) -> Answer:
    """An operand, or its residue."""

    def compute(operands: Sequence[Ints]) -> Numbers:
        digits = operands[place]
        every = np.ones(len(digits), dtype=np.bool_)
        if reduce:
            modulus = task.modulus_or_none
            residue = residues(digits, task.base, modulus)
            digits = digits_of(residue, task.base, digit_count(modulus - 1, task.base))
        return Numbers(digits, ~every, every)

    return compute


def _constant(number: Numbers) -> Answer:
    def compute(operands: Sequence[Ints]) -> Numbers:
        return take(number, np.zeros(len(operands[0]), dtype=np.int64))

    return compute


def candidates(task: Arithmetic, fit: Questions) -> list[Hypothesis]:
    """All hypotheses with all values of their parameters, in the order in which they are preferred.

    Args:
        task: the task.
        fit: the questions on which parameters are chosen, the constant among them.
    """
    modulus, trained, longest = task.modulus_or_none, task.digits, _longest(fit)
    result = [Hypothesis("operation", _name(task), operation(task), 0, modulus)]
    for kept in (trained, *range(trained - 1, 0, -1), *range(trained + 1, longest)):
        kind: Kind = "last" if kept == trained else "fewer" if kept < trained else "more"
        function = operation(task, kept)
        result.append(Hypothesis(kind, _name(task, kept), function, kept, modulus))
    if modulus:
        for divisor in divisors(modulus):
            for kept in (0, trained, *(m for m in range(1, longest) if m != trained)):
                function = operation(task, kept, divisor)
                name = _name(task, kept, divisor)
                result.append(Hypothesis("residue", name, function, kept, divisor))
    else:
        width = operation(task)(fit.operands).digits.shape[1]
        for kept in range(width - 1, 0, -1):
            name = f"{_name(task)}, {_last(kept)} of the result"
            result.append(Hypothesis("residue", name, _ending(task, kept)))
    for place in range(task.operation.operands):
        result.append(Hypothesis("copy", f"operand {place + 1}", _copy(task, place, reduce=False)))
        if modulus:
            name = f"operand {place + 1}, modulo {modulus}"
            result.append(Hypothesis("copy", name, _copy(task, place, reduce=True), 0, modulus))
    number, text = _commonest(fit.outputs, task.base)
    result.append(Hypothesis("constant", f"always {text}", _constant(number)))
    return result


def rank(task: Arithmetic, fit: Questions, test: Questions) -> list[Support]:
    """The hypotheses, those first that agree with most outputs of the half that chooses.

    Args:
        task: the task.
        fit: the questions on which parameters are chosen.
        test: the questions on which agreement is measured.
    """
    best: dict[Kind, tuple[Hypothesis, Share]] = {}
    for hypothesis in candidates(task, fit):
        share = Share.of(agrees(hypothesis.compute(fit.operands), fit.outputs))
        known = best.get(hypothesis.kind)
        if known is None or share.right > known[1].right:
            best[hypothesis.kind] = (hypothesis, share)
    lengths, truth = test.lengths, operation(task)(test.operands)
    result: list[Support] = []
    predictions: dict[Kind, tuple[Numbers, Numbers]] = {}
    for kind in (each for each in KINDS if each in best):
        hypothesis, fitted = best[kind]
        made = (hypothesis.compute(fit.operands), hypothesis.compute(test.operands))
        agreed = agrees(made[1], test.outputs)
        same = tuple(
            other
            for other, theirs in predictions.items()
            if all(agrees(mine, its).all() for mine, its in zip(made, theirs, strict=True))
        )
        predictions[kind] = made
        right = Share.of(agrees(made[1], truth))
        by_length = group_by(lengths, agreed)
        share = Share.of(agreed)
        result.append(Support(hypothesis, fitted, share, by_length, right, agreed, same))
    return sorted(result, key=lambda support: -support.fitted.right)


def congruences(task: Arithmetic, test: Questions) -> dict[int, Share]:
    """How many outputs are right modulo each divisor of the modulus, or each power of the base.

    A guess is right modulo d with probability 1/d. Powers of the base go up to 6 digits.
    """
    modulus = task.modulus_or_none
    if modulus:
        numbers = [*reversed(divisors(modulus)), modulus]
    else:
        numbers = [task.base**k for k in range(1, min(6, _longest(test)) + 1)]
    outputs, truth = test.outputs, operation(task)(test.operands)
    result = {}
    for number in numbers:
        mine, its = (_residue(each, task.base, number) for each in (outputs, truth))
        result[number] = Share.of((mine == its) & outputs.well_formed)
    return result


def agrees(one: Numbers, other: Numbers) -> Bools:
    """Which numbers (b) are equal; leading zeros and the sign of 0 make no difference."""
    width = max(one.digits.shape[1], other.digits.shape[1])
    mine, its = (widened(each.digits, width) for each in (one, other))
    zero = ~mine.any(axis=1)
    same = (mine == its).all(axis=1) & ((one.negative == other.negative) | zero)
    return np.asarray(same & one.well_formed & other.well_formed)


def divisors(number: int) -> list[int]:
    """The divisors of a number but 1 and itself, largest first.

    Example:
        >>> divisors(50), divisors(101)
        ([25, 10, 5, 2], [])
    """
    small = [d for d in range(2, int(number**0.5) + 1) if number % d == 0]
    found = sorted({*small, *(number // d for d in small)}, reverse=True)
    return found[:MOST_DIVISORS]


def take(numbers: Numbers, chosen: Ints | Bools | slice) -> Numbers:
    """Some of the numbers."""
    return Numbers(numbers.digits[chosen], numbers.negative[chosen], numbers.well_formed[chosen])


def widened(digits: Ints, width: int) -> Ints:
    """Numbers (b l) with zeros up to a width."""
    return np.pad(digits, ((0, 0), (0, max(0, width - digits.shape[1]))))


def _longest(questions: Questions) -> int:
    return int(questions.lengths.max(initial=1))


def _residue(numbers: Numbers, base: int, modulus: int) -> Ints:
    values = residues(numbers.digits, base, modulus)
    return np.where(numbers.negative, -values % modulus, values)


def _commonest(outputs: Numbers, base: int) -> tuple[Numbers, str]:
    """The most frequent output that is a number (1), and as text; 0 if there is none."""
    rows = np.flatnonzero(outputs.well_formed)
    if not len(rows):
        none = np.zeros((1, 1), dtype=np.int64)
        return Numbers(none, none[:, 0] > 0, none[:, 0] == 0), "0"
    keys = np.column_stack([outputs.negative[rows], outputs.digits[rows]])
    _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
    row = rows[first[np.argmax(counts)]]
    number = take(outputs, slice(row, row + 1))
    value = sum(int(digit) * base**place for place, digit in enumerate(number.digits[0]))
    return number, str(-value if number.negative[0] else value)


def _last(digits: int) -> str:
    return "the last digit" if digits == 1 else f"the last {digits} digits"


def _name(task: Arithmetic, digits: int = 0, modulus: int = 0) -> str:
    """The operation on so many digits in words."""
    reduced = modulus or task.modulus_or_none
    kept = f" of {_last(digits)}" if digits else ""
    return f"{task.operation.name}{kept}{f', modulo {reduced}' if reduced else ''}"
