"""What a sampler draws: windows for the sizes of programs and runs, and weights of statements."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TypeAlias

from weft.config import check_bounds, check_types
from weft.errors import WeftError
from weft.ptg.language import INTEGERS, MAX_DEPTH

Window: TypeAlias = tuple[int, int]
"""The smallest and the largest value."""

LEAST = {"lines": 3, "steps": 2, "integers": 1, "booleans": 0, "lists": 0, "list_length": 0,
         "trips": 1}  # fmt: skip
"""The smallest value that each window may start with."""
MOST = {"lines": 9999, "steps": 100_000, "trips": 9999, "list_length": 64,
        **dict.fromkeys(("integers", "booleans", "lists"), len(INTEGERS))}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Windows for the sizes of programs and of their runs.

    Attributes:
        lines: lines of the program, those of `def` and `return` included.
        steps: lines of the trace.
        integers: integer variables, counters aside.
        booleans: Boolean variables.
        lists: lists.
        list_length: initial lengths of lists; no list ever gets longer than the largest.
        trips: iterations of a loop.
        uniform_steps: whether the number of steps is drawn uniformly from its window, instead of
            following from the statements.
        nesting: the largest number of loops in each other.
        list_share: the weight of list operations is multiplied by this.
        any_input: whether a program has to be valid for every input, so that guards may not depend
            on the values of variables.
    """

    lines: Window
    steps: Window
    integers: Window
    booleans: Window
    lists: Window
    list_length: Window
    trips: Window
    uniform_steps: bool = False
    nesting: int = MAX_DEPTH
    list_share: float = 1.0
    any_input: bool = False

    def __post_init__(self) -> None:
        check_types(self, "sizes")
        for entry in fields(self):
            if entry.name not in LEAST:
                continue
            low, high = getattr(self, entry.name)
            if not LEAST[entry.name] <= low <= high <= MOST[entry.name]:
                raise WeftError(
                    f"{entry.name} is {low} to {high}",
                    subject="sizes",
                    remedy=f"Give a window between {LEAST[entry.name]} and {MOST[entry.name]}",
                )
        check_bounds(self, {"nesting": (1, MAX_DEPTH)}, "sizes")
        if not self.list_share > 0:
            what = f"list_share is {self.list_share:g}"
            raise WeftError(what, subject="sizes", remedy="Give a number above 0")


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weights of statements and expressions. A statement that cannot stand is replaced.

    Attributes:
        simple: a simple statement, among statements.
        branch: an `if`.
        loop: a `while`.
        integer: an assignment to an integer, among simple statements.
        boolean: a comparison.
        list: an append or a pop, in equal parts.
        operand: a variable or a number, among expressions.
        sum: a variable plus or minus a number.
        item: an element of a list.
        length: the length of a list.
        product: a product, if the language has multiplication.
        variable: a variable rather than a number, as operand of a statement.
        comment: a comment line before a statement, if the language has comments.
        otherwise: an `else`, if the language has it.
        data: a loop over program variables rather than a counter, if the language has them.
        new: a variable that has no value yet, as target, while there is one.
    """

    simple: float = 0.70
    branch: float = 0.17
    loop: float = 0.13
    integer: float = 0.45
    boolean: float = 0.20
    list: float = 0.35
    operand: float = 0.25
    sum: float = 0.40
    item: float = 0.20
    length: float = 0.15
    product: float = 0.25
    variable: float = 0.5
    comment: float = 0.08
    otherwise: float = 0.5
    data: float = 0.4
    new: float = 0.5


DEFAULT_WEIGHTS = Weights()
