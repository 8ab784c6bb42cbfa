"""Turing machines as tables: a few well-known ones, and a plain simulator.

A rule such as `"1 R B"` says: write 1, move right, continue in state B. `L` moves left, `S` stays.
The first state of a table is the start state. A machine halts in a state that has no rules, and
when it has no rule for the symbol that it reads. The tape ends at `[` and at `]`, which a machine
may read but neither overwrite nor pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import weft

LEFT_END, RIGHT_END = "[", "]"
MOVES = {"L": -1, "S": 0, "R": 1}
Rules = Mapping[str, Mapping[str, str]]


class Action(NamedTuple):
    """What a machine does in one step."""

    write: str
    move: int
    state: str


@dataclass(frozen=True)
class TuringMachine:
    """A table, the blank symbol, and how many blanks surround an input.

    `inputs` are the symbols of random inputs.
    """

    rules: Rules
    blank: str = "_"
    left: int = 0
    right: int = 0
    inputs: str = ""

    def __post_init__(self) -> None:
        if not self.rules:
            raise weft.WeftError("the machine has no rules", remedy="Give a table of rules")
        for state, row in self.rules.items():
            for symbol in row:
                self.action(state, symbol)

    def action(self, state: str, symbol: str) -> Action | None:
        """The action in a state on a symbol; None if the machine halts."""
        rule = self.rules.get(state, {}).get(symbol)
        if rule is None:
            return None
        words = rule.split()
        if len(words) != 3 or words[1] not in MOVES:
            raise _wrong(state, symbol, rule, "A rule is what to write, L, R or S, and a state")
        action = Action(words[0], MOVES[words[1]], words[2])
        if any(len(each) != 1 or each in "()" for each in (action.write, symbol)):
            raise _wrong(state, symbol, rule, "A symbol is one character, and no parenthesis")
        if action.write != symbol and {LEFT_END, RIGHT_END} & {action.write, symbol}:
            raise _wrong(state, symbol, rule, "The ends of the tape stay as they are")
        if (symbol, action.move) in ((LEFT_END, -1), (RIGHT_END, 1)):
            raise _wrong(state, symbol, rule, "The head must not leave the tape")
        return action

    @property
    def states(self) -> list[str]:
        """All states, the start state first."""
        named = (rule.split()[2] for row in self.rules.values() for rule in row.values())
        return list(dict.fromkeys([*self.rules, *named]))

    @property
    def symbols(self) -> list[str]:
        """All symbols, the ends of the tape and the blank first."""
        written = (rule.split()[0] for row in self.rules.values() for rule in row.values())
        read = (symbol for row in self.rules.values() for symbol in row)
        return list(dict.fromkeys([LEFT_END, RIGHT_END, self.blank, *read, *written]))

    def run(self, tape: list[str], place: int, most: int = 100_000) -> tuple[str, list[str], int]:
        """The state in which it halts, the tape, and the number of steps."""
        state, tape = next(iter(self.rules)), list(tape)
        for steps in range(most + 1):
            action = self.action(state, tape[place])
            if action is None:
                return state, tape, steps
            tape[place] = action.write
            place += action.move
            state = action.state
        raise weft.WeftError(f"the machine has not halted after {most:,} steps")


def _wrong(state: str, symbol: str, rule: str, remedy: str) -> weft.WeftError:
    what = f"the rule {rule!r} in state {state!r} on {symbol!r} cannot be used"
    return weft.WeftError(what, subject="Turing machine", remedy=remedy)


MACHINES = {
    # A binary number plus one: move to its end, then back to the left while there is a carry.
    "increment": TuringMachine(
        {
            "right": {"0": "0 R right", "1": "1 R right", "]": "] L carry"},
            "carry": {"1": "0 L carry", "0": "1 S done", "_": "1 S done"},
        },
        left=1,
        inputs="01",
    ),
    # Is it a palindrome? Erase the first letter, find the last one, erase it if they are equal.
    "palindrome": TuringMachine(
        {
            "first": {"a": "_ R seen-a", "b": "_ R seen-b", "_": "_ S yes", "]": "] S yes"},
            "seen-a": {"a": "a R seen-a", "b": "b R seen-a", "_": "_ L last-a", "]": "] L last-a"},
            "seen-b": {"a": "a R seen-b", "b": "b R seen-b", "_": "_ L last-b", "]": "] L last-b"},
            "last-a": {"a": "_ L back", "b": "b S no", "_": "_ S yes"},
            "last-b": {"b": "_ L back", "a": "a S no", "_": "_ S yes"},
            "back": {"a": "a L back", "b": "b L back", "_": "_ R first"},
        },
        inputs="ab",
    ),
    # The machine of four states and two symbols that runs longest on an empty tape (Brady, 1983):
    # 107 steps, and 13 ones on the tape in the end.
    "busy-beaver": TuringMachine(
        {
            "A": {"0": "1 R B", "1": "1 L B"},
            "B": {"0": "1 L A", "1": "0 L C"},
            "C": {"0": "1 R H", "1": "1 L D"},
            "D": {"0": "1 R D", "1": "0 R A"},
        },
        blank="0",
        left=10,
        right=3,
        inputs="0",
    ),
}
