"""The arithmetic tasks: addition, subtraction, multiplication, modular and composite ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from weft.tasks.arithmetic.arithmetic import LARGEST_MODULUS, Arithmetic
from weft.tasks.arithmetic.domains import digit_count
from weft.tasks.arithmetic.notation import Notation
from weft.tasks.arithmetic.operations import (
    ADD,
    ADD_THREE,
    MULTIPLY,
    MULTIPLY_ADD,
    SUBTRACT,
    Operation,
)
from weft.tasks.arithmetic.tokens import NumberTokens
from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.batch import Batch
from weft.tasks.formats import Format, Pairs
from weft.tasks.task import Split, Task, check_ascending

AUTO = -1.0
DIGITS = 3
"""Of the digit representation: the default number of digits in training."""
MOST_NUMBERS = 2000
"""Of the token representation: the largest modulus, whose square is the number of pairs."""


@dataclass(frozen=True, kw_only=True)
class Addition(Arithmetic):
    """The sum of two numbers.

    In the split `carries`, every digit carries. The axes are `digits` and `shortest` (the digits of
    the longer and of the shorter number), `carries` (the number of digits that carry) and `chain`
    (the longest run of consecutive carries).

    Attributes:
        order: `reversed` sets `reverse_operands` and `reverse_result`, `reversed-answer` only the
            latter. With `reversed`, questions are identified by the reversed operands, as they were
            before there was `reverse_operands`: others are held out than with `plain`.
    """

    name: ClassVar[str] = "addition"
    programs: ClassVar[tuple[str, ...]] = ("addition",)
    operation: ClassVar[Operation] = ADD
    order: Literal["plain", "reversed", "reversed-answer"] = "plain"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order == "plain":
            return
        if self.reverse_operands and self.order == "reversed-answer":
            what = "order is reversed-answer, and reverse_operands is true"
            raise self.error(what, "Leave order out, and give reverse_result")
        object.__setattr__(self, "reverse_operands", self.order == "reversed")
        object.__setattr__(self, "reverse_result", True)

    @property
    def _identified_reversed(self) -> bool:
        return self.order == "reversed"

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        by_length = dict(super().splits)
        every = (1, self.digits)
        carries = Split(
            description=f"numbers of at most {self.digits} digits with a carry at every digit",
            axes={"digits": every, "carries": every, "chain": every},
        )
        at = list(by_length).index("longer") + 1
        items = list(by_length.items())
        return dict([*items[:at], ("carries", carries), *items[at:]])

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        if split != "carries":
            return super().draw(split, rng, size)
        lengths = rng.integers(1, self.digits, size, endpoint=True)
        return self.pairs(_that_carry(rng, lengths, self.digits, self.base))


def _that_carry(rng: np.random.Generator, lengths: Ints, width: int, base: int) -> list[Ints]:
    """Digits of pairs of numbers with a carry at every digit."""
    places = np.arange(width)
    first, leading = places == 0, places == lengths[:, None] - 1
    a = rng.integers(np.where(first | leading, 1, 0), base)
    least = np.where(first, base, base - 1) - a
    b = rng.integers(np.where(leading, np.maximum(least, 1), least), base)
    inside = within(lengths, width)
    return [np.where(inside, a, 0), np.where(inside, b, 0)]


@dataclass(frozen=True, kw_only=True)
class Subtraction(Arithmetic):
    """The difference of two numbers, which may be negative.

    A negative result is written as `-` and its absolute value. With `reverse_result`, the sign
    comes last. With `width`, all results have a sign, `+` or `-`.
    """

    name: ClassVar[str] = "subtraction"
    operation: ClassVar[Operation] = SUBTRACT


@dataclass(frozen=True, kw_only=True)
class Multiplication(Arithmetic):
    """The product of two numbers."""

    name: ClassVar[str] = "multiplication"
    operation: ClassVar[Operation] = MULTIPLY
    digits: int = 3
    longer: int = 6


@dataclass(frozen=True, kw_only=True)
class SumOfThree(Arithmetic):
    """The sum of three numbers, a+b+c."""

    name: ClassVar[str] = "sum-of-three"
    operation: ClassVar[Operation] = ADD_THREE
    digits: int = 4
    longer: int = 8


@dataclass(frozen=True, kw_only=True)
class MultiplyAdd(Arithmetic):
    """A product and a sum, a*b+c."""

    name: ClassVar[str] = "multiply-add"
    operation: ClassVar[Operation] = MULTIPLY_ADD
    digits: int = 2
    longer: int = 4


@dataclass(frozen=True, kw_only=True)
class Modular(Arithmetic):
    """An operation modulo a number, in one of two representations.

    With `representation=token`, each number is one token, and a question is a pair of numbers below
    the modulus. `train` is a share of all pairs, as in the grokking paper; its test set is every
    pair that is held out and not for validation. Among these, `mirrored` are the pairs whose mirror
    image is in training, so that commutativity solves them; `unseen` are the others.

    With `representation=digits`, operands are written digit by digit and may exceed the modulus, as
    in all other arithmetic tasks.

    Attributes:
        representation: `token` or `digits`; `auto` is `digits` if `digits` or `domain` is given.
        modulus: the modulus.
        digits: the maximum number of digits in distribution; with `representation=digits`, 3 unless
            it or `domain` is given.
        held_out: the share of all inputs that is held out; by default one half of the pairs of
            tokens, and one eighth otherwise.
    """

    formats: ClassVar[tuple[Format, ...]] = ("lm",)
    held_out: float = AUTO
    digits: int = 0
    modulus: int = 97
    representation: Literal["auto", "token", "digits"] = "auto"

    def __post_init__(self) -> None:
        if self.held_out == AUTO:
            object.__setattr__(self, "held_out", 0.5 if self.one_token else 0.125)
        check_ascending(self, ("modulus", 2))
        if not self.one_token:
            if self.modulus > LARGEST_MODULUS:
                raise self.error(
                    f"modulus is {self.modulus:,}", f"Give at most {LARGEST_MODULUS:,}"
                )
            if self.representation == "digits" and not self.digits and not self.domain:
                object.__setattr__(self, "digits", DIGITS)
            super().__post_init__()
            return
        Task.__post_init__(self)
        if self.modulus > MOST_NUMBERS:
            what = f"modulus is {self.modulus:,}, and every number is a token"
            raise self.error(what, f"Give at most {MOST_NUMBERS:,}, or representation=digits")
        for entry in fields(Arithmetic):
            if entry.name in ("format", "held_out", "digits"):
                continue
            if getattr(self, entry.name) != entry.default:
                what = f"{entry.name} is for numbers written digit by digit"
                raise self.error(what, "Give digits, the number of digits in training")
        if self.digits:
            what = f"digits is {self.digits}, but each number is one token"
            raise self.error(what, "Leave digits out, or give representation=digits")

    @property
    def one_token(self) -> bool:
        """Whether each number is one token."""
        digits = self.representation == "digits" or bool(self.digits or self.domain)
        return self.representation == "token" or not digits

    @cached_property
    def _tokens(self) -> NumberTokens:
        return NumberTokens(modulus=self.modulus, held_out=self.held_out, operation=self.operation)

    @cached_property
    def notation(self) -> Notation:
        if self.one_token:
            what = "its numbers have no digits: each is one token"
            raise self.error(what, "Give representation=digits, or digits, as in digits=4")
        return super().notation

    @property
    def modulus_or_none(self) -> int:
        return self.modulus

    @property
    def _least_result_width(self) -> int:
        return digit_count(self.modulus - 1, self.base)

    @property
    def symbols(self) -> tuple[str, ...]:
        return self._tokens.symbols if self.one_token else super().symbols

    @property
    def digit_tokens(self) -> tuple[int, ...]:
        return () if self.one_token else super().digit_tokens

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        return self._tokens.splits if self.one_token else super().splits

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        return (
            self._tokens.draw(split, rng, size)
            if self.one_token
            else super().draw(split, rng, size)
        )

    def lay_out(self, pairs: Pairs) -> Batch:
        return self._tokens.lay_out(pairs) if self.one_token else super().lay_out(pairs)

    def is_in_distribution(self, pairs: Pairs) -> Bools:
        if self.one_token:
            return self._tokens.is_in_distribution(pairs)
        return super().is_in_distribution(pairs)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return self._tokens.reference(tokens) if self.one_token else super().reference(tokens)


@dataclass(frozen=True, kw_only=True)
class ModularAddition(Modular):
    """The sum of two numbers modulo a third: `3 + 5 =` is `1` modulo 7.

    With `representation=token`, each number is one token, and training uses a share of all pairs:
    `mirrored` are the held-out pairs whose mirror image is in training, `unseen` the others. With
    `representation=digits`, numbers are written digit by digit and may exceed the modulus.
    """

    name: ClassVar[str] = "modular-addition"
    operation: ClassVar[Operation] = ADD


@dataclass(frozen=True, kw_only=True)
class ModularMultiplication(Modular):
    """The product of two numbers modulo a third: `3 * 5 =` is `1` modulo 7.

    With `representation=token`, each number is one token, and training uses a share of all pairs:
    `mirrored` are the held-out pairs whose mirror image is in training, `unseen` the others. With
    `representation=digits`, numbers are written digit by digit and may exceed the modulus.
    """

    name: ClassVar[str] = "modular-multiplication"
    operation: ClassVar[Operation] = MULTIPLY
