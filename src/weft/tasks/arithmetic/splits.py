"""Splits by digit count, and the gaps that `restrict` leaves in a training set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from weft.tasks.arithmetic.digits import digit_lengths
from weft.tasks.arithmetic.domains import Kind, Mixture
from weft.tasks.arithmetic.operations import Operation
from weft.tasks.arrays import Bools, Ints
from weft.tasks.task import TRAIN

LEFT_OUT = "left-out"

Restriction = Literal["none", "high-digits", "even-digits", "no-carries"]


def split_lengths(
    mixture: Mixture, longer: int, restrict: Restriction
) -> dict[str, tuple[int, ...]]:
    """The numbers of digits of the longest operand in each split that has any.

    Example:
        >>> from weft.tasks.arithmetic.domains import domain
        >>> lengths = split_lengths(domain("D2+D4"), 5, "none")
        >>> {split: lengths[split] for split in ("train", "shorter", "longer", "digits-2")}
        {'train': (2, 4), 'shorter': (1, 3), 'longer': (5,), 'digits-2': (2,)}
    """
    trained, digits = mixture.lengths, mixture.digits
    named: dict[str, tuple[int, ...]] = {
        TRAIN: trained,
        LEFT_OUT: trained if restrict != "none" else (),
        "shorter": tuple(m for m in range(1, digits) if m not in trained),
        "longer": tuple(range(digits + 1, longer + 1)),
        **{f"digits-{m}": (m,) for m in range(1, longer + 1)},
    }
    return {name: lengths for name, lengths in named.items() if lengths}


def trained_description(
    mixture: Mixture, *, named: bool, restrict: Restriction, left_out: bool
) -> str:
    """What is in the training domain, or what `restrict` leaves out of it.

    `named` is whether the task names its domain.
    """
    lengths = mixture.lengths
    if named:
        text = f"{mixture}: {_numbers(lengths)}"
    else:
        text = f"numbers of at most {lengths[-1]} digits" if lengths[-1] > 1 else _numbers(lengths)
    gap = "all but " if left_out else ""
    return text if restrict == "none" else f"{text}, {gap}{restrict}"


def tested_description(kind: Kind, lengths: Sequence[int]) -> str:
    """What is in a split of these lengths of the longest operand."""
    return _numbers(lengths) + ("" if kind == "L" else f" ({kind})")


def _numbers(lengths: Sequence[int]) -> str:
    low, high = lengths[0], lengths[-1]
    if low == high == 1:
        return "numbers of 1 digit"
    return f"numbers of {high} digits" if low == high else f"numbers of {low} to {high} digits"


def allowed_digits(restrict: Restriction, base: int) -> tuple[int, ...]:
    """The only digits in training; none if all are.

    Example:
        >>> allowed_digits("high-digits", 10), allowed_digits("even-digits", 6)
        ((6, 7, 8, 9), (0, 2, 4))
    """
    if restrict == "high-digits":
        return tuple(range(-(-6 * base // 10), base))
    return tuple(range(0, base, 2)) if restrict == "even-digits" else ()


def allows(
    restrict: Restriction, operation: Operation, operands: Sequence[Ints], base: int
) -> Bools:
    """Which operands (b), given by their digits (b l each), are let into training."""
    if restrict == "no-carries":
        carries = operation.worked(operands, base).carries
        return np.asarray(~(carries > 0).any(axis=1))
    inside = np.ones(len(operands[0]), dtype=np.bool_)
    among = allowed_digits(restrict, base)
    for digits in operands if among else ():
        used = np.arange(digits.shape[1]) < digit_lengths(digits)[:, None]
        inside &= (np.isin(digits, among) | ~used).all(axis=1)
    return inside
