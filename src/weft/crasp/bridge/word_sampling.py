"""Random words of a program, half of them accepted, and random inputs with their answers.

Few random words are accepted by an interesting program. But a program that is computed from left to
right is an automaton, whose states are the values that a position passes on. So the accepted words
of a length can be counted, and drawn uniformly.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from weft.crasp.bridge.left_to_right import NEXT_SYMBOL, SYMBOL, Plan

MAX_TRANSITIONS = 30_000
"""If a program has more transitions than this, all words are drawn at random."""
MAX_LENGTH = 500
"""Longer words are drawn at random."""
MAX_MORE = 4
"""How much longer an accepted word may be, of which a word is the beginning."""

State = tuple[int, ...]
"""The carried variables, and the result."""
DrawInput = Callable[[random.Random, int], list[str]]
"""Draws the input of a transduction, with its separator, up to a maximum number of symbols."""


class WordSampler:
    """Draws words of a program.

    Args:
        plan: how the program is computed from left to right.
        draw_input: for transduction; if left out, words are drawn at random.
    """

    def __init__(self, plan: Plan, draw_input: DrawInput | None = None) -> None:
        program = plan.program
        self._plan = plan
        self._draw_input = draw_input
        self._alphabet = program.alphabet
        self._carried = tuple(plan.carried)
        result = NEXT_SYMBOL if program.next_symbols else plan.lines[program.accepting].variable
        self._passed_on = (*self._carried, result)
        self._transitions: dict[State, tuple[State, ...]] = {}
        self._accepted: dict[tuple[State, int], int] = {}

    def draw(self, rng: random.Random, length: int) -> list[str]:
        """A word of this length.

        Half of the words are accepted, or begin an accepted word that is a little longer; a quarter
        are such words with one symbol drawn again; the rest are random. For transduction it is an
        input with its answer.
        """
        if self._plan.program.next_symbols:
            return self._answered(rng, length)
        kind = rng.randrange(4)
        word = self._promising(rng, length) if kind < 3 and length <= MAX_LENGTH else None
        if word is None:
            return rng.choices(self._alphabet, k=length)
        if kind == 2 and word:
            word[rng.randrange(length)] = rng.choice(self._alphabet)
        return word

    def _answered(self, rng: random.Random, length: int) -> list[str]:
        if self._draw_input is None:
            return rng.choices(self._alphabet, k=length)
        word = self._draw_input(rng, length)
        state = self._begin
        for symbol in word:
            state = self._step(state, self._alphabet.index(symbol))
        while len(word) < length and state[-1] < len(self._alphabet):
            word.append(self._alphabet[state[-1]])
            state = self._step(state, state[-1])
        return word

    def _promising(self, rng: random.Random, length: int) -> list[str] | None:
        """An accepted word, or the beginning of one if there is none of this length.

        None if there is none either, or if the program has too many states.
        """
        try:
            for longer in range(length, length + MAX_MORE + 1):
                if self._completions(self._begin, longer):
                    return self._accepted_word(rng, longer)[:length]
        except TooManyTransitionsError:
            pass
        return None

    def _accepted_word(self, rng: random.Random, length: int) -> list[str]:
        state, word = self._begin, list[str]()
        for left in range(length - 1, -1, -1):
            after = self._after(state)
            weights = [self._completions(then, left) for then in after]
            (chosen,) = rng.choices(range(len(after)), weights)
            state = after[chosen]
            word.append(self._alphabet[chosen])
        return word

    def _completions(self, state: State, left: int) -> int:
        """How many words of a length lead from a state to acceptance."""
        if left == 0:
            return state[-1]
        if (state, left) not in self._accepted:
            self._accepted[state, left] = sum(
                self._completions(then, left - 1) for then in self._after(state)
            )
        return self._accepted[state, left]

    def _after(self, state: State) -> tuple[State, ...]:
        """The next state for each symbol."""
        if state not in self._transitions:
            if len(self._transitions) * len(self._alphabet) > MAX_TRANSITIONS:
                raise TooManyTransitionsError
            symbols = range(len(self._alphabet))
            self._transitions[state] = tuple(self._step(state, symbol) for symbol in symbols)
        return self._transitions[state]

    @property
    def _begin(self) -> State:
        return tuple(self._plan.variables[name].begin for name in self._passed_on)

    def _step(self, state: State, symbol: int) -> State:
        """Compute a position from its left neighbour, all stages at once."""
        z = {
            name: variable.initial[symbol] if variable.initial else 0
            for name, variable in self._plan.variables.items()
        }
        z |= {f"{name}_left": value for name, value in zip(self._carried, state, strict=False)}
        z[SYMBOL] = symbol
        for instructions in self._plan.stages:
            for variable, function in instructions:
                z[variable] = int(function(z))
        return tuple(z[name] for name in self._passed_on)


class TooManyTransitionsError(Exception):
    """The program has too many states to count its words."""
