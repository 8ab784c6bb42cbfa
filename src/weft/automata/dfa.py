"""Deterministic finite automata that are complete: every state has a successor for every letter."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from weft.errors import WeftError


@dataclass(frozen=True)
class DFA:
    """A complete deterministic automaton; states are numbered from 0, letters are strings.

    Attributes:
        alphabet: the letters, all different.
        transitions: `transitions[state][letter index]` is the next state.
        start: the state before the first letter.
        accepting: the states in which a word is accepted.

    A word is a string if all letters are single characters; otherwise its letters are separated
    by blanks. A sequence of letters is a word too.

    Example:
        >>> even = DFA(("a", "b"), ((1, 0), (0, 1)), start=0, accepting=frozenset({0}))
        >>> even.accepts("abba"), even.accepts("ab")
        (True, False)
    """

    alphabet: tuple[str, ...]
    transitions: tuple[tuple[int, ...], ...]
    start: int
    accepting: frozenset[int]

    def __post_init__(self) -> None:
        states = range(len(self.transitions))
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            what = f"the alphabet {' '.join(self.alphabet)!r} needs letters, all different"
        elif any(not letter or letter.split() != [letter] for letter in self.alphabet):
            what = "a letter of the alphabet is empty or has a blank"
        elif not self.transitions:
            what = "there are no states"
        elif any(len(row) != len(self.alphabet) for row in self.transitions):
            what = "some state does not have one successor for every letter"
        elif any(not 0 <= then < len(states) for row in self.transitions for then in row):
            what = f"some successor is not one of the states 0 to {len(states) - 1}"
        elif self.start not in states or any(state not in states for state in self.accepting):
            what = f"the start or an accepting state is not one of 0 to {len(states) - 1}"
        else:
            return
        raise WeftError(what, subject="automaton")

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.transitions)

    # Words

    def read_word(self, word: str | Sequence[str]) -> tuple[int, ...]:
        """The indices of a word's letters, or a `WeftError` that names an unknown letter."""
        index = {letter: number for number, letter in enumerate(self.alphabet)}
        single = all(len(letter) == 1 for letter in self.alphabet)
        letters = word.split() if isinstance(word, str) and not single else word
        for letter in letters:
            if letter not in index:
                raise WeftError(
                    f"{letter!r} is not a letter of the alphabet",
                    remedy=f"Use {' '.join(self.alphabet)}",
                )
        return tuple(index[letter] for letter in letters)

    def show_word(self, letters: Iterable[int]) -> str:
        """A word as text; the inverse of `read_word`."""
        single = all(len(letter) == 1 for letter in self.alphabet)
        return ("" if single else " ").join(self.alphabet[letter] for letter in letters)

    def run_from(self, state: int, letters: Iterable[int]) -> int:
        """The state after a word, given as indices of letters, from some state."""
        for letter in letters:
            state = self.transitions[state][letter]
        return state

    def run(self, word: str | Sequence[str]) -> int:
        """The state after a word, from the start."""
        return self.run_from(self.start, self.read_word(word))

    def accepts(self, word: str | Sequence[str]) -> bool:
        """Whether a word is in the language."""
        return self.run(word) in self.accepting

    # States

    def reachable(self, state: int | None = None) -> list[int]:
        """The states reachable from a state (the start if None), in breadth-first order."""
        order = [self.start if state is None else state]
        known = set(order)
        for each in order:  # grows while it is read
            for then in self.transitions[each]:
                if then not in known:
                    known.add(then)
                    order.append(then)
        return order

    def access_words(self) -> dict[int, tuple[int, ...]]:
        """For each reachable state, the first shortest word that leads to it from the start."""
        words: dict[int, tuple[int, ...]] = {self.start: ()}
        for state in self.reachable():
            for letter, then in enumerate(self.transitions[state]):
                words.setdefault(then, (*words[state], letter))
        return words

    def live(self) -> frozenset[int]:
        """The states from which an accepting state can be reached."""
        before: list[list[int]] = [[] for _ in self.transitions]
        for state, row in enumerate(self.transitions):
            for then in row:
                before[then].append(state)
        waiting = list(self.accepting)
        result = set(waiting)
        while waiting:
            for state in before[waiting.pop()]:
                if state not in result:
                    result.add(state)
                    waiting.append(state)
        return frozenset(result)

    def components(self) -> tuple[tuple[int, ...], ...]:
        """The strongly connected components, in topological order; a state alone is one too."""
        return strong_components(self.transitions)

    # Other automata

    def minimal(self) -> DFA:
        """The minimal automaton of the same language, its states in breadth-first order."""
        order = self.reachable()
        place = {state: number for number, state in enumerate(order)}
        rows = [[place[then] for then in self.transitions[state]] for state in order]
        kinds = moore(rows, [state in self.accepting for state in order])
        first: dict[int, int] = {}  # a kind's first state; breadth-first order of states is kept
        for state, kind in enumerate(kinds):
            first.setdefault(kind, state)
        merged = DFA(
            self.alphabet,
            tuple(tuple(kinds[then] for then in rows[state]) for state in first.values()),
            0,
            frozenset(k for k, state in first.items() if order[state] in self.accepting),
        )
        return merged._renumbered()

    def _renumbered(self) -> DFA:
        """The same automaton, restricted to reachable states in breadth-first order."""
        order = self.reachable()
        if order == list(range(self.size)):
            return self
        place = {state: number for number, state in enumerate(order)}
        return DFA(
            self.alphabet,
            tuple(tuple(place[then] for then in self.transitions[state]) for state in order),
            0,
            frozenset(place[state] for state in self.accepting if state in place),
        )

    def complement(self) -> DFA:
        """The automaton that accepts the other words."""
        others = frozenset(range(self.size)) - self.accepting
        return DFA(self.alphabet, self.transitions, self.start, others)

    def quotient(self, letter: str) -> DFA:
        """The minimal automaton of the words u such that u followed by `letter` is accepted."""
        (index,) = self.read_word((letter,))
        accepting = frozenset(
            state for state, row in enumerate(self.transitions) if row[index] in self.accepting
        )
        return DFA(self.alphabet, self.transitions, self.start, accepting).minimal()

    def started_at(self, state: int) -> DFA:
        """The automaton with another start."""
        return DFA(self.alphabet, self.transitions, state, self.accepting)

    def difference(self, other: DFA) -> str | None:
        """The first shortest word that one of two automata accepts and the other does not.

        Example:
            >>> from weft.automata import expression_dfa
            >>> expression_dfa("(aa)*").difference(expression_dfa("a*"))
            'a'
        """
        if self.alphabet != other.alphabet:
            raise WeftError("two automata with different alphabets cannot be compared")
        pairs: dict[tuple[int, int], tuple[int, ...]] = {(self.start, other.start): ()}
        waiting = list(pairs)
        for mine, yours in waiting:  # grows while it is read
            word = pairs[mine, yours]
            if (mine in self.accepting) != (yours in other.accepting):
                return self.show_word(word)
            rows = zip(self.transitions[mine], other.transitions[yours], strict=True)
            for letter, pair in enumerate(rows):
                if pair not in pairs:
                    pairs[pair] = (*word, letter)
                    waiting.append(pair)
        return None


def moore(rows: Sequence[Sequence[int]], kinds: Sequence[Hashable]) -> list[int]:
    """The coarsest partition that refines `kinds` and that all letters respect.

    Args:
        rows: the successors of each state.
        kinds: states of different kinds are kept apart.

    Returns:
        The class of each state, numbered in the order of first occurrence.
    """
    classes = numbered(kinds)
    count = max(classes) + 1
    while True:
        finer = numbered([(classes[s], *(classes[t] for t in row)) for s, row in enumerate(rows)])
        if max(finer) + 1 == count:
            return finer
        classes, count = finer, max(finer) + 1


def numbered(keys: Sequence[Hashable]) -> list[int]:
    """Keys as numbers from 0, in the order of first occurrence."""
    order: dict[Hashable, int] = {}
    return [order.setdefault(key, len(order)) for key in keys]


def strong_components(rows: Sequence[Collection[int]]) -> tuple[tuple[int, ...], ...]:
    """The strongly connected components of a graph, in topological order (Tarjan's algorithm)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    components: list[tuple[int, ...]] = []
    for root in range(len(rows)):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(rows[root]))]
        while work:
            state, successors = work[-1]
            for then in successors:
                if then not in index:
                    index[then] = low[then] = len(index)
                    stack.append(then)
                    on_stack.add(then)
                    work.append((then, iter(rows[then])))
                    break
                if then in on_stack:
                    low[state] = min(low[state], index[then])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == index[state]:
                    cut = _place(stack, state)
                    component = tuple(sorted(stack[cut:]))
                    del stack[cut:]
                    on_stack -= set(component)
                    components.append(component)
    return tuple(reversed(components))


def _place(stack: list[int], state: int) -> int:
    """The place of a state that is near the top of a stack."""
    place = len(stack) - 1
    while stack[place] != state:
        place -= 1
    return place
