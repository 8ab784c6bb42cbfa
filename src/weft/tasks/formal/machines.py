"""Languages as tables of states, exact up to a length: regular ones and counter languages.

A counter language has infinitely many states. For words of at most n letters, the counters that can
still return to 0 are bounded, and a prefix beyond the bound is treated as dead, which is exact:
brackets that are more than n/2 deep, for instance, cannot all be closed in time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from weft.automata import DFA, LANGUAGES, expression_dfa, language, read_automaton
from weft.errors import unknown_name
from weft.tasks.arrays import Bools, Ints

MARGIN = 8
"""How far beyond the bound of a counter states are live: more than one letter adds."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A complete deterministic automaton as arrays; s states and a letters.

    Attributes:
        alphabet: the letters.
        next: s a, the next state.
        start: the number of the first state.
        accepting: s, whether the word read so far is in the language.
        live: s, whether it can be continued to a word of the language.
        depth: s, what its counters add up to; None for regular languages.
    """

    alphabet: tuple[str, ...]
    next: Ints
    start: int
    accepting: Bools
    live: Bools
    depth: Ints | None = None

    def states(self, letters: Ints) -> Ints:
        """The states before, between and after the letters of each row (b l): b l+1."""
        states = np.empty((letters.shape[1] + 1, len(letters)), dtype=np.int64)
        states[0] = self.start
        for place, column in enumerate(letters.T):
            states[place + 1] = self.next[states[place], column]
        return states.T

    @property
    def neutral(self) -> int | None:
        """The neutral letter of a flip-flop: it changes no state, and all others reset the state.

        None if the language is not of this kind.
        """
        still = (self.next == np.arange(len(self.next))[:, None]).all(axis=0)
        resets = (self.next == self.next[:1]).all(axis=0)
        if len(self.next) < 2 or still.sum() != 1 or not (still | resets).all():
            return None
        return int(still.argmax())


def _regular(dfa: DFA) -> Machine:
    states = np.arange(dfa.size)
    return Machine(
        alphabet=dfa.alphabet,
        next=np.array(dfa.transitions, dtype=np.int64),
        start=dfa.start,
        accepting=np.isin(states, list(dfa.accepting)),
        live=np.isin(states, list(dfa.live())),
    )


@dataclass(frozen=True, kw_only=True)
class Counter:
    """A counter language.

    Attributes:
        description: its words, in a phrase.
        alphabet: its letters.
        start: the state of the empty word.
        step: the next state, None if the prefix is dead.
        accepting: whether a state accepts.
        depth: what the counters of a state add up to.
        share: the largest depth from which a word can be completed, as a share of its length.
    """

    description: str
    alphabet: str
    start: Hashable
    step: Callable[..., Hashable | None]
    accepting: Callable[..., bool]
    depth: Callable[..., int]
    share: float = 0.5

    def machine(self, longest: int) -> Machine:
        """Its states for words of at most `longest` letters."""
        deepest = int(self.share * longest) + MARGIN
        order: list[Hashable] = [self.start]
        number: dict[Hashable, int] = {self.start: 0}
        rows: list[list[int]] = []
        for state in order:  # grows while it is read
            row = []
            for letter in self.alphabet:
                then = self.step(state, letter)
                if then is None or self.depth(then) > deepest:
                    row.append(-1)
                    continue
                if then not in number:
                    number[then] = len(order)
                    order.append(then)
                row.append(number[then])
            rows.append(row)
        dead = len(order)
        table = np.array([*rows, [dead] * len(self.alphabet)], dtype=np.int64)
        table[table < 0] = dead
        return Machine(
            alphabet=tuple(self.alphabet),
            next=table,
            start=0,
            accepting=np.array([*map(self.accepting, order), False]),
            live=np.arange(dead + 1) < dead,
            depth=np.array([*map(self.depth, order), 0]),
        )


def _shuffle(brackets: str) -> Counter:
    """Brackets of several kinds, each well nested on its own; one kind is Dyck-1."""
    kinds = len(brackets) // 2

    def step(state: tuple[int, ...], letter: str) -> tuple[int, ...] | None:
        kind, closes = divmod(brackets.index(letter), 2)
        heights = list(state)
        heights[kind] += -1 if closes else 1
        return None if heights[kind] < 0 else tuple(heights)

    return Counter(
        description=f"brackets of {kinds} kind{'s' * (kinds > 1)}, each well nested on its own",
        alphabet=brackets,
        start=(0,) * kinds,
        step=step,
        accepting=lambda state: not any(state),
        depth=sum,
    )


def _equal_runs(letters: str) -> Counter:
    """a^n b^n c^n ... for a number of letters: (n, letter, how many of it so far)."""

    def step(state: tuple[int, int, int], letter: str) -> tuple[int, int, int] | None:
        count, run, length = state
        if run == 0:
            if letter == letters[0]:
                return (count + 1, 0, count + 1)
            return (count, 1, 1) if letter == letters[1] and count else None
        if length < count:
            return (count, run, length + 1) if letter == letters[run] else None
        after = letters[run + 1 : run + 2]
        return (count, run + 1, 1) if letter == after else None

    def accepting(state: tuple[int, int, int]) -> bool:
        count, run, length = state
        return not count or (run == len(letters) - 1 and length == count)

    return Counter(
        description=" ".join(f"{letter}^n" for letter in letters),
        alphabet=letters,
        start=(0, 0, 0),
        step=step,
        accepting=accepting,
        depth=lambda state: state[0],
        share=1 / len(letters),
    )


def _boolean(arity: int) -> Counter:
    """Expressions in prefix notation: the state is the number of operands still to come."""
    operators = "abcdefgh"[:arity]

    def step(state: int, letter: str) -> int | None:
        return state + operators.find(letter) if state else None  # 0 and 1 are not found: -1

    return Counter(
        description=f"operators {operators} of 1 to {arity} operands each, before their operands",
        alphabet="01" + operators,
        start=1,
        step=step,
        accepting=lambda state: state == 0,
        depth=lambda state: state,
        share=1.0,
    )


COUNTERS: Mapping[str, Counter] = {
    "dyck-1": _shuffle("()"),
    "shuffle-2": _shuffle("()[]"),
    "anbn": _equal_runs("ab"),
    "anbncn": _equal_runs("abc"),
    "4-count": _equal_runs("abcd"),
    "boolean-3": _boolean(3),
    "boolean-5": _boolean(5),
}
"""Counter languages by name."""


@cache
def machine(text: str, alphabet: str, longest: int) -> Machine:
    """The states of a language for words of at most `longest` letters.

    Args:
        text: the name of a counter language or of a language of `weft.automata`, the path of an
            automaton (`.json`), or a regular expression.
        alphabet: the letters of an expression; "" for those that it names.
        longest: the number of letters up to which it is exact.

    Example:
        >>> machine("dyck-1", "", 10).alphabet, machine("(ab|aabb)*", "", 10).alphabet
        (('(', ')'), ('a', 'b'))
    """
    if text in COUNTERS:
        return COUNTERS[text].machine(longest)
    if text in LANGUAGES:
        return _regular(language(text).dfa)
    if text.endswith(".json"):
        return _regular(read_automaton(Path(text)))
    if re.fullmatch(r"[a-z0-9]{4,}|[a-z0-9]+-[a-z0-9-]*", text):  # a name, not an expression
        known = [*LANGUAGES, *COUNTERS]
        raise unknown_name(f"there is no language '{text}'", text, known)
    return _regular(expression_dfa(text, alphabet or None))
