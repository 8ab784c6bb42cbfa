"""Decimal addition of two numbers of any length (ALTA paper, figures 12 and 13)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft

DIGITS = list(range(10))
START, PLUS, END = 10, 11, 12
INIT, ITERATE, FINALIZE, DONE = range(4)


class Addition(weft.Program):
    """Addition digit by digit from the right, with pointers that move left one position per layer.

    One pointer stands on a digit of each number, a third where the next digit of the sum goes. All
    positions fetch both digits and keep the carry; the one under the third pointer writes.
    """

    tokens = [*map(str, DIGITS), "s", "+", "e"]

    token = weft.var(13, token="0123456789s+e".index)
    phase = weft.var(4)
    here_a = weft.var(2)
    here_b = weft.var(2)
    here_out = weft.var(2)
    carry = weft.var(10)
    digit = weft.var(10)
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
            if z.a == START:
                z.phase = FINALIZE
            else:
                add_digits(z)
        elif z.phase == FINALIZE:
            if z.here_out:
                z.digit = z.carry
            z.phase = DONE

    def encode(self, text: str) -> Sequence[Any]:
        """`12+345`, with marks around it and the shorter number filled up with zeros."""
        bare = text.strip().removeprefix("s").removesuffix("e").replace(" ", "")
        parts = bare.split("+")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise weft.WeftError(
                f"{text!r} is not a sum of two numbers", remedy="Write it as in 12+34"
            )
        width = max(map(len, parts))
        return self.vocabulary.parse("s" + "+".join(part.zfill(width) for part in parts) + "e")

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A sum of two random numbers; it needs at least five tokens."""
        digits = max(1, (length - 3) // 2)
        left, right = (rng.randrange(10**digits) for _ in range(2))
        return self.encode(f"{left:0{digits}}+{right:0{digits}}")

    def decode(self, stream: weft.Stream) -> Any:
        """The sum, as a number."""
        return int("".join(map(str, stream["digit"][:-1])))

    def task(self, tokens: Sequence[Any]) -> int:
        """The sum of both numbers."""
        return sum(map(int, "".join(tokens[1:-1]).split("+")))


def place_pointers(z: Any) -> None:
    """On the last digits of both numbers; the sum is written from the end of the second one."""
    if z.token != END:
        if z.token_right == END:
            z.here_b = 1
            z.here_out = 1
        if z.token_right == PLUS:
            z.here_a = 1


def add_digits(z: Any) -> None:
    """Write one digit of the sum, keep the carry, and move all pointers to the left."""
    raw = z.carry + z.a + z.b
    if z.here_out:
        z.digit = raw % 10
    z.carry = raw // 10
    if z.token != END:
        z.here_out = z.out_right
        z.here_a = z.a_right
        z.here_b = z.b_right
