"""Any Turing machine with one bounded tape, one step per layer."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import weft
from weft.errors import check_known
from weft.programs.turing.machines import (
    LEFT_END,
    MACHINES,
    RIGHT_END,
    Action,
    Rules,
    TuringMachine,
)

LEFT, RIGHT = -1, 1
LEFTMOST, RIGHTMOST = 1, 2
CELL = re.compile(r"\(.\)|.")
Table = list[list[int]]


class Turing(weft.Program):
    """Any Turing machine on a tape with one cell per position, one step per layer.

    All positions know the state of the machine. A flag marks the position of its head; all
    positions fetch the symbol there and look up the action in the machine's table. The one with the
    flag writes. Each takes the flag from its left neighbour if the head moves right, from its right
    neighbour if it moves left.

    `machine` is one of `increment`, `palindrome` and `busy-beaver`. Or give a table of your own as
    `rules`, such as {"A": {"0": "1 R B", "1": "1 L A"}}: in state A on a 0, write 1, move right,
    continue in B. `blank` is the symbol of empty cells; `left` and `right` are the numbers of
    blanks around an input. The machine starts on the first symbol, or on the one in parentheses.

    A run of T steps takes T layers, and one more if it ends because there is no rule for what is
    read. Three heads; the state has as many values as there are states, the symbol as many as there
    are symbols.
    """

    def __init__(
        self,
        machine: str = "increment",
        rules: Rules | None = None,
        blank: str = "_",
        left: int = 1,
        right: int = 1,
    ) -> None:
        made = named_machine(machine) if rules is None else TuringMachine(rules, blank, left, right)
        symbols = made.symbols
        self.machine = made
        self.writes, self.moves_left, self.moves_right, self.nexts, self.ends = tables(made)

        self.tokens = [*symbols, *(f"({symbol})" for symbol in symbols[2:])]
        self.symbol = weft.var(len(symbols), token=lambda t: symbols.index(t.strip("()")))
        self.here = weft.var(2, token=lambda t: t.startswith("("))
        self.edge = weft.var(3, token=lambda t: 1 + "[]".find(t))
        self.state = weft.var(len(made.states))
        self.done = weft.var(2)
        self.one = weft.var(2, default=1)
        self.scanned = weft.attend(self.one, self.here, self.symbol)
        self.here_left = weft.relative(self.here, -1)
        self.here_right = weft.relative(self.here, 1)
        self.output = self.symbol
        self.halt = self.done == 1

    def step(self, z: Any) -> None:
        if z.here:
            z.symbol = self.writes[z.state][z.symbol]
        if self.moves_right[z.state][z.scanned]:
            z.here = z.here_left if z.edge != LEFTMOST else 0
        elif self.moves_left[z.state][z.scanned]:
            z.here = z.here_right if z.edge != RIGHTMOST else 0
        z.done = self.ends[z.state][z.scanned]
        z.state = self.nexts[z.state][z.scanned]

    def encode(self, text: str) -> Sequence[Any]:
        """The cells of the tape, the first one in parentheses if none is, between its ends."""
        if text.startswith(LEFT_END) and text.endswith(RIGHT_END):
            cells, room = CELL.findall(text[1:-1]), (0, 0)
        else:
            cells, room = CELL.findall(text.strip()), (self.machine.left, self.machine.right)
        blank = self.machine.blank
        cells = cells or [blank]
        marked = [place for place, cell in enumerate(cells) if len(cell) == 3]
        if not marked:
            cells[0] = f"({cells[0]})"
        for cell in cells:
            if cell.strip("()") not in self.machine.symbols[2:] or len(marked) > 1:
                raise self.wrong(text)
        return [LEFT_END, *[blank] * room[0], *cells, *[blank] * room[1], RIGHT_END]

    def wrong(self, text: str) -> weft.WeftError:
        """The error for an input that is not a tape."""
        known = " ".join(self.machine.symbols[2:])
        return weft.WeftError(
            "this is not a tape of this machine",
            subject=self.name,
            remedy=f"Write its cells ({known}) one after the other, the one to start on as (0)",
        )

    def decode(self, stream: weft.Stream) -> Any:
        """The state in which it halted, and the tape without blanks around it."""
        state = self.machine.states[int(stream["state"][0])]  # type: ignore[arg-type]
        tape = [self.machine.symbols[int(s)] for s in stream["symbol"]]  # type: ignore[arg-type]
        return state, "".join(tape[1:-1]).strip(self.machine.blank)

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random tape of the symbols that the machine is made for."""
        cells = length - 2 - self.machine.left - self.machine.right
        symbols = self.machine.inputs or "".join(self.machine.symbols[2:])
        return self.encode("".join(rng.choices(symbols, k=max(1, cells))))

    def task(self, tokens: Sequence[Any]) -> tuple[str, str]:
        """The result of a plain simulator."""
        start = next(place for place, cell in enumerate(tokens) if len(cell) == 3)
        state, tape, _ = self.machine.run([cell.strip("()") for cell in tokens], start)
        return state, "".join(tape[1:-1]).strip(self.machine.blank)


def named_machine(name: str) -> TuringMachine:
    """One of the machines that come with the library."""
    check_known(name, MACHINES, f"there is no machine {name!r}")
    return MACHINES[name]


def tables(machine: TuringMachine) -> tuple[Table, ...]:
    """What to write, whether to go left, right, the next state, and whether that is the end."""

    def each(part: Callable[[str, str, Action | None], int]) -> Table:
        return [[part(q, s, machine.action(q, s)) for s in symbols] for q in states]

    symbols, states = machine.symbols, machine.states
    return (
        each(lambda q, s, action: symbols.index(action.write if action else s)),
        each(lambda q, s, action: action is not None and action.move == LEFT),
        each(lambda q, s, action: action is not None and action.move == RIGHT),
        each(lambda q, s, action: states.index(action.state if action else q)),
        each(lambda q, s, action: action is None or action.state not in machine.rules),
    )
