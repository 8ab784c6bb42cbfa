"""Learn an automaton from membership alone, as far as short words tell (Angluin's L*, 1987).

The table has the answers for access words and suffixes. Rows that differ are states; a hypothesis
is compared with the function on all words up to a length and on random longer ones, and all
suffixes of a word on which they differ are added (Maler and Pnueli 1995).

An automaton with k states that agrees with the function on all words up to length n is the only one
of at most n + 2 - k states that does: two automata of k and l states that differ, differ on a word
of length at most k + l - 2. Nothing is said about longer words: a counter that is large enough
looks regular. So a hypothesis is only supported if the words that determine it have been compared:
an access word of each state, a letter, and a word that tells two states apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from weft.automata.dfa import DFA
from weft.theory.length.word_functions import Word, WordFunction
from weft.theory.length.word_samples import longest_length, random_words, word_batches

MAX_STATES = 40
"""The learner gives up beyond this many states."""


@dataclass(frozen=True)
class Learned:
    """What was learned of a function.

    Attributes:
        dfa: an automaton that agrees with the function on all words that were compared, minimal;
            None if there is none of at most `MAX_STATES` states.
        length: all words up to this length were compared.
        random_words: so many random longer ones were compared too.
        longest: the length of the longest of them.
        needed: the length of the words that determine the automaton; 0 if there is none.
    """

    dfa: DFA | None
    length: int
    random_words: int
    longest: int
    needed: int

    @property
    def supported(self) -> bool:
        """Whether all words that determine the automaton are among those compared."""
        return self.dfa is not None and self.needed <= self.length

    @property
    def unique_to(self) -> int:
        """No other automaton of at most this many states agrees with the function as well."""
        return 0 if self.dfa is None else self.length + 2 - self.dfa.size


def learn(function: WordFunction, max_length: int, *, budget: int, seed: int = 0) -> Learned:
    """Learn an automaton that accepts the words for which a function is true.

    Args:
        function: of truth values.
        max_length: all words up to this length are compared, or up to the longest length with at
            most `budget` words.
        budget: see above.
        seed: of the random words.

    Example:
        >>> parity = WordFunction(lambda word: word.count("1") % 2 == 0, "01", boolean=True)
        >>> found = learn(parity, 8, budget=1000)
        >>> found.dfa.size, found.length, found.supported, found.unique_to
        (2, 8, True, 8)
    """
    symbols = function.alphabet
    length = longest_length(len(symbols), max_length, budget)
    longer = random_words(random.Random(seed), symbols, 300, max(16, 4 * length))
    longest = max(map(len, longer))
    table = _Table(function)
    while True:
        dfa = table.hypothesis()
        if dfa is None:
            return Learned(None, length, len(longer), longest, 0)
        wrong = _first_difference(function, dfa, length, longer)
        if wrong is None:
            minimal = dfa.minimal()
            needed = determining_length(minimal)
            return Learned(minimal, length, len(longer), longest, needed)
        table.add_suffixes(wrong)


def determining_length(dfa: DFA) -> int:
    """The length of the words from which a minimal automaton can be read off.

    Each is the shortest word to a state, a letter, and a shortest word that tells two states apart.

    Example:
        >>> from weft.automata import expression_dfa
        >>> determining_length(expression_dfa("(ab)*"))
        3
    """
    access = max(map(len, dfa.access_words().values()))
    classes: list[int] = [int(state in dfa.accepting) for state in range(dfa.size)]
    separating = 0
    while len(set(classes)) < dfa.size:
        keys = [
            (classes[q], *(classes[then] for then in dfa.transitions[q])) for q in range(dfa.size)
        ]
        number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        classes = [number[key] for key in keys]
        separating += 1
    return access + 1 + separating


class _Table:
    """Access words by their rows, which are their answers with every suffix."""

    def __init__(self, function: WordFunction) -> None:
        self.function = function
        self.access: list[Word] = [()]
        self.suffixes: list[Word] = [()]

    def rows(self, words: list[Word]) -> list[tuple[object, ...]]:
        asked = self.function.answers(word + suffix for word in words for suffix in self.suffixes)
        width = len(self.suffixes)
        return [tuple(asked[k * width : (k + 1) * width]) for k in range(len(words))]

    def hypothesis(self) -> DFA | None:
        """The automaton of the closed table; None if it has too many states."""
        symbols = self.function.alphabet
        states = {row: number for number, row in enumerate(self.rows(self.access))}
        transitions: list[tuple[int, ...]] = []
        for word in self.access:  # grows while it is read
            after: list[int] = []
            extended = [(*word, symbol) for symbol in symbols]
            for longer, row in zip(extended, self.rows(extended), strict=True):
                if row not in states:
                    if len(self.access) == MAX_STATES:
                        return None
                    states[row] = len(self.access)
                    self.access.append(longer)
                after.append(states[row])
            transitions.append(tuple(after))
        accepting = frozenset(number for row, number in states.items() if row[0])
        return DFA(symbols, tuple(transitions), 0, accepting)

    def add_suffixes(self, word: Word) -> None:
        """Add all suffixes of a word on which the hypothesis is wrong."""
        known = set(self.suffixes)
        for start in range(len(word) + 1):
            if word[start:] not in known:
                self.suffixes.append(word[start:])


def _first_difference(
    function: WordFunction, dfa: DFA, length: int, longer: Iterable[Word]
) -> Word | None:
    every = (product(dfa.alphabet, repeat=size) for size in range(length + 1))
    for words in (*every, longer):
        for batch in word_batches(words):
            for word, answer in zip(batch, function.answers(batch), strict=True):
                if dfa.accepts(word) is not answer:
                    return word
    return None
