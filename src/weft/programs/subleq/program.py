"""SUBLEQ, a computer with one instruction (ALTA paper, figures 14 and 15).

An instruction is three memory cells a, b, c: subtract mem[a] from mem[b]; if the result is at most
0, continue at c, otherwise after the instruction. A negative address halts the machine. Programs
live in the memory that they compute with, so they may rewrite themselves.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft
from weft.programs.subleq.simulator import execute

FETCH, COMPUTE, JUMP, DONE = range(4)


class Subleq(weft.Program):
    """One SUBLEQ instruction every three layers, on a memory with one cell per position.

    A head cannot read what another head of its layer fetches, so the addresses a, b and c are
    copied into variables, one layer before the cells that they point at are read.

    Three layers per instruction: fetch its three cells, fetch the two that they point at and write
    the difference, jump. Five heads. A cell holds `low` to `high`, and so do all addresses: twelve
    variables and heads with that many values.
    """

    def __init__(self, positions: int = 12, low: int = -8, high: int = 11) -> None:
        check_sizes(positions, low, high)
        values = high - low + 1
        self.cells, self.low, self.high = positions, low, high
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
        words = text.replace(",", " ").split()
        for word in words:
            if not word.removeprefix("-").isdecimal():
                remedy = "Give a whole number for each cell"
                raise weft.WeftError(f"{word!r} is not a whole number", remedy=remedy)
            if not self.low <= int(word) <= self.high:
                raise weft.WeftError(
                    f"cells hold {self.low} to {self.high}, and not {word}",
                    remedy=f"Make it with more values, as in subleq(low={self.low}, high=40)",
                )
        return [int(word) for word in words]

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random machine that halts after a few instructions; it needs at least three cells."""
        length = min(max(3, length), self.cells)
        for _ in range(200):
            cells = random_machine(rng, length, self.high)
            try:
                execute(cells, low=self.low, high=self.high, most=12)
            except weft.WeftError:
                continue
            return cells
        return [0, 0, -1]

    def decode(self, stream: weft.Stream) -> Any:
        """The memory at the end."""
        return [int(value) + self.low for value in stream["mem"]]  # type: ignore[arg-type]

    def task(self, tokens: Sequence[Any]) -> list[int]:
        """What a plain machine leaves in its memory."""
        return list(execute(tokens, low=self.low, high=self.high).memory)


def random_machine(rng: random.Random, length: int, high: int) -> list[int]:
    """Instructions that work on data behind them, sometimes on themselves; the last one halts."""
    begin = max(3, (length - rng.randint(0, 6)) // 3 * 3)  # where the data begins
    cells = []
    for address in range(0, begin, 3):
        lowest = begin if begin < length and rng.random() < 0.8 else 0
        a, b = (rng.randrange(lowest, length) for _ in range(2))
        cells += [a, b, address + 3 if rng.random() < 0.8 else rng.randrange(-1, length)]
    cells[-2:] = [cells[-3], -1]  # a cell minus itself is 0, so this jump is taken
    small = min(6, high)
    return [*cells, *(rng.randint(-small, small) for _ in range(length - begin))]


def check_sizes(positions: int, low: int, high: int) -> None:
    """Every cell needs an address, and -1 is what halts a machine."""
    if low > -1 or high < positions - 1:
        raise weft.WeftError(
            f"{positions} cells that hold {low} to {high} cannot name each other",
            remedy=f"Let `low` be at most -1 and `high` at least {positions - 1}",
        )
