"""Decimal subtraction of two numbers of any length, with a sign if the second is larger."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft
from weft.programs.addition import (
    DONE,
    INIT,
    ITERATE,
    START,
    marked,
    move_pointers,
    place_pointers,
    random_numbers,
)

MINUS = 10


class Subtraction(weft.Program):
    """Subtraction in both directions at once; the final borrow decides which one is the answer.

    The pointers are those of `addition`. Until they reach the first digits, it is not
    known which number is larger. So the writing position keeps a digit of a - b and one of b - a,
    each with its own borrow. If a - b still has to borrow at the end, it is negative: then all
    positions take the digit of b - a, and the one at the minus sign writes a minus.

    Two numbers of N digits take N + 2 layers, for every N. Six heads; no variable has more than 13
    values.
    """

    tokens = [*"0123456789", "s", "-", "e"]

    token = weft.var(13, token="0123456789s-e".index)
    phase = weft.var(3)
    here_a = weft.var(2)
    here_b = weft.var(2)
    here_out = weft.var(2)
    borrow = weft.var(2)
    borrow_back = weft.var(2)
    digit = weft.var(11)
    digit_back = weft.var(10)
    one = weft.var(2, default=1)

    token_right = weft.relative(token, 1)
    a_right = weft.relative(here_a, 1)
    b_right = weft.relative(here_b, 1)
    out_right = weft.relative(here_out, 1)
    a = weft.attend(one, here_a, token)
    b = weft.attend(one, here_b, token)

    output = digit
    halt = phase == DONE

    def step(z: Any) -> None:
        if z.phase == INIT:
            place_pointers(z)
            z.phase = ITERATE
        elif z.phase == ITERATE:
            if z.a != START:
                subtract_digits(z)
                move_pointers(z)
            else:
                choose_direction(z)
                z.phase = DONE

    def encode(self, text: str) -> Sequence[Any]:
        """`345-12`, with marks around it and the shorter number padded with zeros."""
        return self.vocabulary.parse(marked(text, "-", "a difference"))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A difference of two random numbers; it needs at least five tokens."""
        return self.encode("-".join(random_numbers(rng, length)))

    def decode(self, stream: weft.Stream) -> Any:
        """The difference, as a number."""
        digits = [int(digit) for digit in stream["digit"][:-1]]  # type: ignore[arg-type]
        size = int("".join(str(digit % MINUS) for digit in digits))
        return -size if MINUS in digits else size

    def task(self, tokens: Sequence[Any]) -> int:
        """The first number minus the second."""
        left, right = map(int, "".join(tokens[1:-1]).split("-"))
        return left - right


def subtract_digits(z: Any) -> None:
    """Write one digit of a - b and one of b - a, and keep both borrows."""
    forth = z.a - z.b - z.borrow
    back = z.b - z.a - z.borrow_back
    if z.here_out:
        z.digit = forth % 10
        z.digit_back = back % 10
    z.borrow = forth < 0
    z.borrow_back = back < 0


def choose_direction(z: Any) -> None:
    """If a borrow is left over, a - b is negative and b - a is its absolute value."""
    if z.borrow:
        z.digit = MINUS if z.here_out else z.digit_back
