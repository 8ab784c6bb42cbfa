"""Decimal addition of two numbers of any length (ALTA paper, figures 12 and 13)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft

START, SIGN, END = 10, 11, 12
INIT, ITERATE, DONE = range(3)


class Addition(weft.Program):
    """Addition digit by digit from the right, by pointers that move left one position per layer.

    Two pointers mark the current digit of each number, a third the place of the next digit of the
    sum. All positions fetch both digits and keep the carry; the one under the third pointer writes.

    Two numbers of N digits take N + 2 layers, for every N: one to place the pointers, one for each
    digit, one for the last carry. Six heads; no variable has more than 13 values.
    """

    tokens = [*"0123456789", "s", "+", "e"]

    token = weft.var(13, token="0123456789s+e".index)
    phase = weft.var(3)
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
            if z.a != START:
                add_digits(z)
                move_pointers(z)
            else:
                write_carry(z)
                z.phase = DONE

    def encode(self, text: str) -> Sequence[Any]:
        """`12+345`, with marks around it and the shorter number padded with zeros."""
        return self.vocabulary.parse(marked(text, "+", "a sum"))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A sum of two random numbers; it needs at least five tokens."""
        return self.encode("+".join(random_numbers(rng, length)))

    def decode(self, stream: weft.Stream) -> Any:
        """The sum, as a number."""
        return int("".join(map(str, stream["digit"][:-1])))

    def task(self, tokens: Sequence[Any]) -> int:
        """The sum of both numbers."""
        return sum(map(int, "".join(tokens[1:-1]).split("+")))


def place_pointers(z: Any) -> None:
    """Put the pointers on the last digits; the sum is written over the second number."""
    if z.token != END:
        if z.token_right == END:
            z.here_b = 1
            z.here_out = 1
        if z.token_right == SIGN:
            z.here_a = 1


def add_digits(z: Any) -> None:
    """Write one digit of the sum and keep the carry."""
    raw = z.carry + z.a + z.b
    if z.here_out:
        z.digit = raw % 10
    z.carry = raw // 10


def move_pointers(z: Any) -> None:
    """Move all pointers one position to the left; nothing comes in from beyond the end."""
    if z.token != END:
        z.here_out = z.out_right
        z.here_a = z.a_right
        z.here_b = z.b_right


def write_carry(z: Any) -> None:
    """Write the last carry, the first digit of the sum, in place of the plus."""
    if z.here_out:
        z.digit = z.carry


def marked(text: str, sign: str, what: str) -> str:
    """`12+345` as `s012+345e`: both numbers equally long, between marks."""
    bare = text.strip().removeprefix("s").removesuffix("e").replace(" ", "")
    parts = bare.split(sign)
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        remedy = f"Write it as in 12{sign}34"
        raise weft.WeftError(f"this is not {what} of two numbers", remedy=remedy)
    width = max(map(len, parts))
    return f"s{sign.join(part.zfill(width) for part in parts)}e"


def random_numbers(rng: random.Random, length: int) -> list[str]:
    """Two random numbers with as many digits as `length` tokens have room for, at least one."""
    digits = max(1, (length - 3) // 2)
    return [f"{rng.randrange(10**digits):0{digits}}" for _ in range(2)]
