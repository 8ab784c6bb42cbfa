"""SUBLEQ, a computer with one instruction (ALTA paper, figures 14 and 15).

An instruction is three memory cells a, b, c: subtract mem[a] from mem[b]; if the result is at most
0, go on at c, otherwise behind the instruction. A negative address halts the machine. Programs
live in the memory that they compute with, so they may rewrite themselves.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft

FETCH, COMPUTE, JUMP, DONE = range(4)


class Subleq(weft.Program):
    """One SUBLEQ instruction every three layers, on a memory with one cell per position.

    A head cannot read what another head of its layer fetches, so the addresses a, b and c are
    copied into variables, one layer before the cells that they point at are read.
    """

    def __init__(self, positions: int = 16, low: int = -16, high: int = 16) -> None:
        values = high - low + 1
        self.low, self.high = low, high
        self.positions = positions
        self.tokens = list(range(low, high + 1))
        self.mem = weft.var(values, token=lambda t: t - low)
        self.pos = weft.var(values, position=lambda i: i - low)
        self.at_a = weft.var(values, default=0 - low)
        self.at_b = weft.var(values, default=1 - low)
        self.at_c = weft.var(values, default=2 - low)
        self.a = weft.var(values)
        self.b = weft.var(values)
        self.c = weft.var(values)
        self.here = weft.var(2)
        self.state = weft.var(4)
        self.jump = weft.var(2)
        self.found_a = weft.attend(self.at_a, self.pos, self.mem)
        self.found_b = weft.attend(self.at_b, self.pos, self.mem)
        self.found_c = weft.attend(self.at_c, self.pos, self.mem)
        self.mem_a = weft.attend(self.a, self.pos, self.mem)
        self.mem_b = weft.attend(self.b, self.pos, self.mem)
        self.output = self.mem
        self.halt = self.state == DONE

    def step(self, z: Any) -> None:
        zero = -self.low
        if z.state == FETCH:
            z.a, z.b, z.c = z.found_a, z.found_b, z.found_c
            z.here = int(z.pos == z.found_b)
            z.state = DONE if z.found_a < zero or z.found_b < zero else COMPUTE
        elif z.state == COMPUTE:
            z.jump = int(z.mem_b - z.mem_a <= 0)
            if z.here:
                z.mem = z.mem_b - z.mem_a + zero
            z.state = JUMP
        elif z.state == JUMP:
            if not z.jump:
                z.at_a, z.at_b, z.at_c = z.at_a + 3, z.at_a + 4, z.at_a + 5
                z.state = FETCH
            elif z.c < zero:
                z.state = DONE
            else:
                z.at_a, z.at_b, z.at_c = z.c, z.c + 1, z.c + 2
                z.state = FETCH

    def encode(self, text: str) -> Sequence[Any]:
        """Whole numbers, one per cell."""
        return [int(word) for word in text.replace(",", " ").split()]

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A few random cells; many of them are no program that halts."""
        return [rng.randint(-1, min(length, self.high)) for _ in range(length)]

    def decode(self, stream: weft.Stream) -> Any:
        """The memory at the end."""
        return [int(value) + self.low for value in stream["mem"]]  # type: ignore[arg-type]
