"""Decimal multiplication of two numbers of any length, by repeated addition."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft

START, STAR = 10, 11
INIT, BEGIN, MULTIPLY, SETTLE = range(4)


class Multiplication(weft.Program):
    """Long multiplication: digit by digit of the first number, each by repeated addition.

    In `12*34`, 34 is added as many times as the digits of 12 say. A pointer moves through the
    digits of 12 from the right. For the digit 2, all positions add their digit of 34 to their digit
    of the product in parallel, twice. Then 34 shifts one place to the left, to 340, for the next
    digit.

    Carries do not wait for each other. In each layer a position passes its carry to its left
    neighbour, which adds it to its own sum. At the end, a wave from the right tells each position
    that no more carries will come.

    M digits with the sum D times N digits: M + D + 2 layers to add, and one layer for each of the
    2 M + N + 3 tokens to settle the carries. Six heads; no variable has more than 13 values.
    """

    tokens = [*"0123456789", "s", "*", "e"]

    token = weft.var(13, token="0123456789s*e".index)
    end = weft.var(2, token=lambda t: t == "e")
    phase = weft.var(4)
    here = weft.var(2)
    times = weft.var(10)
    summand = weft.var(10, token=lambda t: int(t) if t.isdecimal() else 0)
    digit = weft.var(10)
    carry = weft.var(2)
    settled = weft.var(2)
    one = weft.var(2, default=1)

    token_right = weft.relative(token, 1)
    here_right = weft.relative(here, 1)
    summand_right = weft.relative(summand, 1)
    carry_right = weft.relative(carry, 1)
    settled_right = weft.relative(settled, 1)
    multiplier = weft.attend(one, here, token)

    output = digit
    halt = settled == 1

    def step(z: Any) -> None:
        if z.times:
            add(z, z.summand)
            z.times -= 1
        else:
            add(z, 0)  # carries are still on their way
            go_on(z)

    def encode(self, text: str) -> Sequence[Any]:
        """`12*34` as `s12*0034e`: the right side gets room for the product."""
        bare = text.strip().removeprefix("s").removesuffix("e").replace(" ", "")
        parts = bare.split("*")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            remedy = "Write it as in 12*34"
            raise weft.WeftError("this is not a product of two numbers", remedy=remedy)
        many, what = parts[0], parts[1].lstrip("0")
        return self.vocabulary.parse(f"s{many}*{what.zfill(len(many) + len(what))}e")

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A product of two random numbers; it needs at least six tokens."""
        digits = max(3, length - 3)  # 2 M + N
        times = rng.randint(1, (digits - 1) // 2)
        numbers = (rng.randrange(10**n) for n in (times, digits - 2 * times))
        return self.encode("*".join(map(str, numbers)))

    def decode(self, stream: weft.Stream) -> Any:
        """The product, as a number; positions to the left of the `*` are ignored."""
        begin = stream["token"].index(STAR) + 1
        return int("".join(map(str, stream["digit"][begin:-1])))

    def task(self, tokens: Sequence[Any]) -> int:
        """The product of both numbers."""
        left, right = map(int, "".join(tokens[1:-1]).split("*"))
        return left * right


def add(z: Any, amount: Any) -> None:
    """Add to a digit of the product, with the carry from the right; keep the carry for the left."""
    if not z.end:
        total = z.digit + amount + z.carry_right
        z.digit = total % 10
        z.carry = total // 10


def go_on(z: Any) -> None:
    """Choose the next phase when nothing is left to add."""
    if z.phase == INIT:
        z.here = not z.end and z.token_right == STAR
        z.phase = BEGIN
    elif z.phase == SETTLE:
        z.settled = z.end or z.settled_right
    else:
        if z.phase == MULTIPLY and not z.end:
            z.summand = z.summand_right  # ten times as much
        z.phase = MULTIPLY
        take_next_digit(z)


def take_next_digit(z: Any) -> None:
    """Take the next digit of the multiplier; the start mark comes before its first digit."""
    if z.multiplier == START:
        z.phase = SETTLE
    else:
        z.times = z.multiplier
        if not z.end:
            z.here = z.here_right
