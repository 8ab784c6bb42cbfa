"""The operations: how each is written, what it computes, and what it carries from place to place.

All of them are column sums followed by one pass of carries, from the units up:

    addition           column k is a_k + b_k
    subtraction        a_k - b_k, of the larger minus the smaller number; a borrow is a carry of 1
    multiplication     the sum of a_i b_j with i + j = k
    sum of three       a_k + b_k + c_k
    multiply-add       the columns of a b, plus c_k

`Operation.exact` computes the same in Python's integers, for references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from weft.tasks.arithmetic.digits import carried, convolved
from weft.tasks.arithmetic.domains import digit_count
from weft.tasks.arrays import Bools, Ints


@dataclass(frozen=True)
class Operation:
    """An operation on natural numbers.

    Attributes:
        name: its name.
        signs: the sign between each operand and the next.
        exact: the result for Python's integers.
        columns: the sum per place (b l), from the operands' digits (b l each).
        signed: whether results may be negative.
    """

    name: str
    signs: tuple[str, ...]
    exact: Callable[..., int]
    columns: Callable[..., Ints]
    signed: bool = False

    @property
    def operands(self) -> int:
        """The number of operands."""
        return len(self.signs) + 1

    def result_width(self, digits: int, base: int) -> int:
        """The number of digits of the largest result for operands of this many digits."""
        if self.signed:
            return digits
        return digit_count(self.exact(*[base**digits - 1] * self.operands), base)

    def carry_width(self, digits: int, base: int) -> int:
        """The number of digits of the largest carry for operands of this many digits."""
        largest = np.full((1, digits), base - 1, dtype=np.int64)
        carries = self.worked([largest] * self.operands, base).carries
        return digit_count(int(carries.max()), base)

    def worked(self, operands: Sequence[Ints], base: int) -> Worked:
        """The result for each row of operands, given by their digits (b l each)."""
        width = self.result_width(operands[0].shape[1], base)
        columns = self.columns(*operands)
        if not self.signed:
            digits, carries = carried(columns, base, width)
            return Worked(digits, np.zeros(len(digits), dtype=np.bool_), carries)
        _, borrows = carried(columns, base, width)
        negative = borrows[:, -1] < 0
        digits, borrows = carried(np.where(negative[:, None], -columns, columns), base, width)
        return Worked(digits, negative, -borrows)


@dataclass(frozen=True)
class Worked:
    """Results with their working.

    Attributes:
        digits: b l, of the absolute value, least significant first.
        negative: b, whether it is below 0.
        carries: b l, the carry (or borrow) out of each place.
    """

    digits: Ints
    negative: Bools
    carries: Ints

    @property
    def carries_in(self) -> Ints:
        """The carry into each place (b l)."""
        shifted = np.zeros_like(self.carries)
        shifted[:, 1:] = self.carries[:, :-1]
        return shifted


def _multiply_add(a: Ints, b: Ints, c: Ints) -> Ints:
    columns = convolved(a, b)
    columns[:, : c.shape[1]] += c
    return columns


ADD = Operation("addition", ("+",), lambda a, b: a + b, lambda a, b: a + b)
SUBTRACT = Operation("subtraction", ("-",), lambda a, b: a - b, lambda a, b: a - b, signed=True)
MULTIPLY = Operation("multiplication", ("*",), lambda a, b: a * b, convolved)
ADD_THREE = Operation(
    "sum of three", ("+", "+"), lambda a, b, c: a + b + c, lambda a, b, c: a + b + c
)
MULTIPLY_ADD = Operation("multiply-add", ("*", "+"), lambda a, b, c: a * b + c, _multiply_add)
