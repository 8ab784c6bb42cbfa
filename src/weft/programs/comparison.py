"""Comparison of two decimal numbers of any length: smaller, equal or larger."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft
from weft.programs.addition import DONE, INIT, ITERATE, SIGN, START, marked, random_numbers

EQUAL, SMALLER, LARGER = range(3)


class Comparison(weft.Program):
    """Comparison digit by digit from the left: the first two digits that differ decide.

    A pointer on each number moves right one position per layer, as long as the digits under both
    are equal. The program halts as soon as it knows, so the number of layers depends on
    the common prefix, not on the length.

    Numbers whose first K digits are equal take K + 2 layers: one to place the pointers, one for
    each equal digit, one to decide. Five heads; no variable has more than 13 values.
    """

    tokens = [*"0123456789", "s", "?", "e"]

    token = weft.var(13, token="0123456789s?e".index)
    phase = weft.var(3)
    here_a = weft.var(2)
    here_b = weft.var(2)
    order = weft.var(3)
    one = weft.var(2, default=1)

    token_left = weft.relative(token, -1)
    a_left = weft.relative(here_a, -1)
    b_left = weft.relative(here_b, -1)
    a = weft.attend(one, here_a, token)
    b = weft.attend(one, here_b, token)

    output = order
    halt = phase == DONE

    def step(z: Any) -> None:
        if z.phase == INIT:
            place_on_first_digits(z)
            z.phase = ITERATE
        elif z.phase == ITERATE:
            if z.a == SIGN:  # behind the last digits: nothing differed
                z.phase = DONE
            elif z.a < z.b:
                z.order, z.phase = SMALLER, DONE
            elif z.a > z.b:
                z.order, z.phase = LARGER, DONE
            else:
                move_right(z)

    def encode(self, text: str) -> Sequence[Any]:
        """`12?345`, with marks around it and the shorter number padded with zeros."""
        return self.vocabulary.parse(marked(text, "?", "a comparison"))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """Two numbers that begin alike; it needs at least five tokens."""
        left, right = random_numbers(rng, length)
        alike = rng.randrange(len(left) + 1)
        return self.encode(f"{left}?{left[:alike]}{right[alike:]}")

    def decode(self, stream: weft.Stream) -> Any:
        """`<`, `=` or `>`."""
        return "=<>"[int(stream["order"][0])]  # type: ignore[arg-type]

    def task(self, tokens: Sequence[Any]) -> str:
        """The relation between both numbers."""
        left, right = map(int, "".join(tokens[1:-1]).split("?"))
        return "<" if left < right else ">" if left > right else "="


def place_on_first_digits(z: Any) -> None:
    """Put the pointers on the first digits of both numbers."""
    if z.token != START:
        if z.token_left == START:
            z.here_a = 1
        if z.token_left == SIGN:
            z.here_b = 1


def move_right(z: Any) -> None:
    """Move both pointers one position to the right; nothing comes in from before the start."""
    if z.token != START:
        z.here_a = z.a_left
        z.here_b = z.b_left
