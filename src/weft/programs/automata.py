"""Finite automata and regular expressions, given as plain values."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any

import weft
from weft.automata.expressions import expression_table, letters_of

BEGIN = "^"


class Dfa(weft.Program):
    """Any finite automaton: the state is carried from left to right, one position per layer.

    It is `parity` with a table: a position waits until its left neighbour has its state, then looks
    up its own. So every position gets the state after the prefix that ends there.

    `letters` is the alphabet, `table` has a row for each state with the next state for each letter,
    `accepting` are the states in which a word is accepted. The default reads binary numbers: its
    state is the number modulo 3, and multiples of 3 are accepted.

    N letters take N layers, for every N. Two heads; the state has as many values as there are
    states, the letter as many as there are letters.
    """

    def __init__(
        self,
        letters: str = "01",
        table: Sequence[Sequence[int]] = ((0, 1), (2, 0), (1, 2)),
        accepting: Sequence[int] = (0,),
        start: int = 0,
    ) -> None:
        check_automaton(letters, table, accepting, start)
        self.letters, self.table = letters, table
        self.start, self.accepting = start, accepting
        self.tokens = [BEGIN, *letters]
        self.letter = weft.var(len(letters), token=lambda t: max(0, letters.find(t)))
        self.state = weft.var(len(table), default=start)
        self.done = weft.var(2, token=lambda t: t == BEGIN)
        self.state_left = weft.relative(self.state, -1)
        self.done_left = weft.relative(self.done, -1)
        self.output = self.state
        self.halt = self.done == 1

    def step(self, z: Any) -> None:
        if not z.done and z.done_left:
            z.state = self.table[z.state_left][z.letter]
            z.done = 1

    def encode(self, text: str) -> Sequence[Any]:
        """The letters of a word, after a mark. A word may be empty."""
        word = text.removeprefix(BEGIN)
        for letter in word:
            if letter not in self.letters:
                raise weft.WeftError(
                    f"{letter!r} is not a letter of this automaton",
                    subject=self.name,
                    remedy=f"Use {' '.join(self.letters)}, or make it with other letters",
                )
        return [BEGIN, *word]

    def decode(self, stream: weft.Stream) -> Any:
        """Whether the word is accepted."""
        return stream["state"][-1] in self.accepting

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random word that avoids, if it can, states from which it cannot be accepted."""
        hopeful = self.hopeful_states()
        state, word = self.start, [BEGIN]
        while len(word) < length:
            row = self.table[state]
            good = [number for number, then in enumerate(row) if then in hopeful]
            choice = rng.choice(good if good and rng.random() < 0.95 else range(len(row)))
            word.append(self.letters[choice])
            state = row[choice]
        return word

    def hopeful_states(self) -> set[int]:
        """The states from which an accepting one can be reached."""
        result = set(self.accepting)
        for _ in self.table:
            result |= {state for state, row in enumerate(self.table) if result & set(row)}
        return result

    def task(self, tokens: Sequence[Any]) -> bool:
        """The state that the table gives, letter by letter."""
        state = self.start
        for letter in tokens[1:]:
            state = self.table[state][self.letters.index(letter)]
        return state in self.accepting


class Regex(Dfa):
    """Any regular expression, as the smallest automaton that accepts the same words.

    `pattern` may have letters, `.`, classes such as `[ab]`, `|`, `*`, `+`, `?`, `{n}` and
    parentheses;
    the whole word must match. `letters` are those that a word may have; if left out, those that the
    pattern names.

    N letters take N layers, for every N. Two heads; the state has as many values as the automaton
    has states. `(aa)*` needs two states, and is `parity` again.
    """

    def __init__(self, pattern: str = "(aa)*", letters: str = "") -> None:
        self.pattern = pattern
        letters = letters or letters_of(pattern)
        if not letters:
            raise weft.WeftError(
                f"the pattern {pattern!r} names no letters", remedy='Give them, as in letters="ab"'
            )
        table, accepting = expression_table(pattern, letters)
        super().__init__(letters, table, accepting)

    def task(self, tokens: Sequence[Any]) -> bool:
        """Python's own regular expressions."""
        return re.fullmatch(self.pattern, "".join(tokens[1:])) is not None


def check_automaton(
    letters: str, table: Sequence[Sequence[int]], accepting: Sequence[int], start: int
) -> None:
    """Raise a `WeftError` if an automaton is not well formed."""
    states = range(len(table))
    if not letters or len(set(letters)) < len(letters) or BEGIN in letters:
        what = f"the letters {letters!r} must be at least one, all different, without {BEGIN}"
    elif not table:
        what = "the table has no states"
    elif any(len(row) != len(letters) for row in table):
        what = f"every row of the table must have {len(letters)} states, one for each letter"
    elif not {start, *accepting, *(then for row in table for then in row)} <= set(states):
        what = f"every state must be one of 0 to {len(table) - 1}, the rows of the table"
    else:
        return
    remedy = "Write it as in dfa(letters='ab', table=[[1, 0], [0, 1]], accepting=[0])"
    raise weft.WeftError(what, subject="automaton", remedy=remedy)
