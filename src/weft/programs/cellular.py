"""Elementary cellular automata: one generation per layer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import weft

EDGE = "|"


class Automaton(weft.Program):
    """Rule 110, or any other elementary cellular automaton, for a number of generations.

    A cell looks at itself and its two neighbours. Three bits make a number from 0 to 7, and that
    bit of the rule is the cell's next state. Beyond both edges all cells stay 0. Rule 110 is
    Turing complete: universality takes space and time, not a large step.

    One layer per generation, two heads and two binary variables for any number of cells. At level 2
    rule 110 has two hidden units: a 0 with a 1 to its right becomes 1, a 1 between two of them
    becomes 0.
    """

    def __init__(self, rule: int = 110, generations: int = 8) -> None:
        if not 0 <= rule < 256:
            raise weft.WeftError(f"there is no rule {rule}", remedy="Choose one of 0 to 255")
        self.rule = rule
        neighbourhoods = enumerate(product((0, 1), repeat=3))  # left, middle, right
        self.alive = tuple(bits for number, bits in neighbourhoods if rule >> number & 1)
        self.layers = generations
        self.tokens = [0, 1, EDGE]
        self.cell = weft.var(2, token=lambda t: t == 1)
        self.edge = weft.var(2, token=lambda t: t == EDGE)
        self.left = weft.relative(self.cell, -1)
        self.right = weft.relative(self.cell, 1)
        self.output = self.cell

    def step(self, z: Any) -> None:
        if not z.edge:
            z.cell = int((z.left, z.cell, z.right) in self.alive)

    def encode(self, text: str) -> Sequence[Any]:
        """Cells, between two edges."""
        cells = self.vocabulary.parse(text.strip().removeprefix(EDGE).removesuffix(EDGE))
        if EDGE in cells:
            raise weft.WeftError(
                "there is an edge among the cells", remedy="Write cells alone, as in 00010"
            )
        return [EDGE, *cells, EDGE]

    def decode(self, stream: weft.Stream) -> Any:
        """The cells of the last generation."""
        return "".join(map(str, stream["cell"][1:-1]))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """Random cells between two edges."""
        return [EDGE, *(rng.randrange(2) for _ in range(length - 2)), EDGE]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The same by looking up three letters at a time."""
        table = {f"{number:03b}": f"{self.rule:08b}"[7 - number] for number in range(8)}
        row = "".join(map(str, tokens[1:-1]))
        for _ in range(self.layers or 0):
            padded = f"0{row}0"
            row = "".join(table[padded[place : place + 3]] for place in range(len(row)))
        return row
