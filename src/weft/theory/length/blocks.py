"""Show that C-RASP with periodic and local predicates does not express a regular language.

Read a word in blocks of one length, each with the same beginning and the same end. If beginning and
end are longer than every window of a program, no window sees more than one block, and if the length
is a multiple of every period, all blocks look alike to periodic predicates. So on such words, a
program with positions is a program without them, whose letters are blocks. If the automaton, read
in blocks, fails the decider for programs without positions that do not read the last symbol, then
no program with positions expresses the language.

Blocks are found in the stable semigroup: for some length s, the transformations of the words of
length s are those of the words of length 2s. Of these take an idempotent e, the transformation of a
word w. The blocks are w v w for all words v of length s; repeating w makes them as long as needed
without changing what they do. docs/length-theory.md has the proof.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.automata.dfa import DFA, strong_components
from weft.theory.length.decider import Component, Edge, decide_component

MAX_TRANSFORMATIONS = 4_000
"""Larger semigroups are not searched."""

Transformation = tuple[int, ...]
"""By state, the state after a word."""


@dataclass(frozen=True)
class BlockObstruction:
    """Blocks by which C-RASP with positions cannot track an automaton.

    Attributes:
        dfa: the minimal automaton.
        frame: w, with which each block begins and ends; reading it twice is reading it once.
        middles: the words v between, all as long as w; block k is w middles[k] w.
        component: states of the automaton, letters that number the blocks, and the flows by which
            no program without positions separates them.
    """

    dfa: DFA
    frame: str | tuple[str, ...]
    middles: tuple[str | tuple[str, ...], ...]
    component: Component


def block_obstruction(dfa: DFA) -> BlockObstruction | None:
    """Blocks that show a language to be outside C-RASP with positions, if there are any.

    Example:
        >>> from weft.automata import expression_dfa
        >>> block_obstruction(expression_dfa("(0|10*1)*")).middles
        ('0', '1')
        >>> block_obstruction(expression_dfa("(aa)*")) is None
        True
    """
    minimal = dfa.minimal()
    stable = _stable(minimal)
    if stable is None:
        return None
    for e in stable:
        if any(e[e[q]] != e[q] for q in range(len(e))):
            continue
        if (component := _failing(e, stable)) is not None:
            acts = _blocks(e, stable)
            return BlockObstruction(
                minimal,
                _spelt(minimal, stable[e]),
                tuple(_spelt(minimal, word) for word in acts.values()),
                component,
            )
    return None


def _stable(dfa: DFA) -> dict[Transformation, tuple[int, ...]] | None:
    """The transformations of the words of the stable length, each with such a word."""
    letters = list(zip(*dfa.transitions, strict=True))
    levels: list[dict[Transformation, tuple[int, ...]]] = []
    seen: dict[frozenset[Transformation], int] = {}
    level: dict[Transformation, tuple[int, ...]] = {tuple(range(dfa.size)): ()}
    while True:
        following: dict[Transformation, tuple[int, ...]] = {}
        for act, word in level.items():
            for symbol, move in enumerate(letters):
                following.setdefault(tuple(move[q] for q in act), (*word, symbol))
        level = following
        if len(level) > MAX_TRANSFORMATIONS or len(levels) > MAX_TRANSFORMATIONS:
            return None
        levels.append(level)
        key = frozenset(level)
        if key in seen:  # level n equals level m: from m on, lengths repeat with period n - m
            first, period = seen[key], len(levels) - seen[key]
            return levels[-(-first // period) * period - 1]
        seen[key] = len(levels)


def _blocks(
    e: Transformation, stable: dict[Transformation, tuple[int, ...]]
) -> dict[Transformation, tuple[int, ...]]:
    """By what a block does to the states after e, the first word between its frames."""
    image = sorted(set(e))
    acts: dict[Transformation, tuple[int, ...]] = {}
    for act, word in stable.items():
        acts.setdefault(tuple(e[act[q]] for q in image), word)
    return acts


def _failing(e: Transformation, stable: dict[Transformation, tuple[int, ...]]) -> Component | None:
    """The first component of the automaton on the image of e that fails, if one does."""
    image = sorted(set(e))
    if len(image) == 1:
        return None
    edges: list[Edge] = []
    successors: list[set[int]] = [set() for _ in e]
    for block, act in enumerate(_blocks(e, stable)):
        for state, then in zip(image, act, strict=True):
            edges.append((state, block, then))
            successors[state].add(then)
    for members in strong_components(successors):
        inside = set(members)
        if len(members) == 1:
            continue
        among = [edge for edge in edges if edge[0] in inside and edge[2] in inside]
        component = decide_component(members, among)
        if not component.passes:
            return component
    return None


def _spelt(dfa: DFA, word: tuple[int, ...]) -> str | tuple[str, ...]:
    """A word in its letters: text if every letter is one character."""
    letters = tuple(dfa.alphabet[symbol] for symbol in word)
    return "".join(letters) if all(len(a) == 1 for a in dfa.alphabet) else letters
