"""Sums of two numbers modulo a third, in any base and of any length."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import Any

import weft

START, SIGN, END = "s", "+", "e"
NAMES = string.digits + string.ascii_lowercase.replace(START, "").replace(END, "")
"""The names of digits; `s` and `e` are marks."""


class ModularSum(weft.Program):
    """The sum of two numbers modulo a third, by Horner's rule, one digit per layer.

    A position waits until its left neighbour has the residue r of the digits up to there; with a
    digit d it gets (base r + d) mod modulus. The sign keeps the first number's residue for later
    and starts again with 0; the end mark adds both residues. With `reverse_operands`, numbers begin
    with the least significant digit, and all of this runs from right to left.

    What is learned from sums of N digits fails beyond N unless the modulus divides base^N. This
    program takes as many layers as there are digits, plus two, and is right for every number of
    digits. Three heads; no variable has more values than the modulus or the base. Compiling goes
    through all pairs of residues, so it is slow for a modulus above 50 or so.
    """

    def __init__(self, modulus: int = 7, base: int = 10, reverse_operands: bool = False) -> None:
        if modulus < 2:
            raise weft.WeftError(f"modulus is {modulus}", remedy="Give at least 2")
        if not 2 <= base <= len(NAMES):
            remedy = f"Give 2 to {len(NAMES)}"
            raise weft.WeftError(f"base is {base}", remedy=remedy)
        self.modulus, self.base, self.reverse_operands = modulus, base, reverse_operands
        self.names = NAMES[:base]
        first, last = (END, START) if reverse_operands else (START, END)
        before = 1 if reverse_operands else -1
        self.tokens = [*self.names, START, SIGN, END]
        self.digit = weft.var(base, token=lambda t: max(0, NAMES.find(t)))
        self.sign = weft.var(2, token=lambda t: t == SIGN)
        self.last = weft.var(2, token=lambda t: t == last)
        self.done = weft.var(2, token=lambda t: t == first)
        self.residue = weft.var(modulus)
        self.kept = weft.var(modulus)
        self.done_before = weft.relative(self.done, before)
        self.residue_before = weft.relative(self.residue, before)
        self.kept_before = weft.relative(self.kept, before)
        self.output = self.residue
        self.halt = self.done == 1

    def step(self, z: Any) -> None:
        if not z.done and z.done_before:
            z.done = 1
            if z.sign:
                z.kept = z.residue_before
            elif z.last:
                z.residue = (z.kept_before + z.residue_before) % self.modulus
            else:
                z.kept = z.kept_before
                z.residue = (self.base * z.residue_before + z.digit) % self.modulus

    def encode(self, text: str) -> Sequence[Any]:
        """`12+345`, with marks around it."""
        bare = text.strip().removeprefix(START).removesuffix(END).replace(" ", "")
        parts = bare.split(SIGN)
        if len(parts) != 2 or not all(part and set(part) <= set(self.names) for part in parts):
            remedy = f"Write it as in 11{SIGN}10, with the digits {self.names}"
            raise weft.WeftError("this is not a sum of two numbers", remedy=remedy)
        return self.vocabulary.parse(f"{START}{bare}{END}")

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A sum of two random numbers; it needs at least five tokens."""
        digits = max(2, length - 3)
        first = rng.randint(1, digits - 1)
        numbers = ("".join(rng.choices(self.names, k=count)) for count in (first, digits - first))
        return self.encode(SIGN.join(numbers))

    def decode(self, stream: weft.Stream) -> Any:
        """The residue, as a number."""
        return stream["residue"][0 if self.reverse_operands else -1]

    def task(self, tokens: Sequence[Any]) -> int:
        """The sum of both numbers modulo the third."""
        parts = "".join(tokens[1:-1]).split(SIGN)
        numbers = (part[::-1] if self.reverse_operands else part for part in parts)
        return sum(self._value(number) for number in numbers) % self.modulus

    def _value(self, number: str) -> int:
        places = enumerate(reversed(number))
        return sum(self.names.index(digit) * self.base**place for place, digit in places)
