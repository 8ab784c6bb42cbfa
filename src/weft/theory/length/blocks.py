"""Show that C-RASP with periodic and local predicates does not express a regular language.

Read a word in blocks of one length, each with the same beginning and the same end. If beginning and
end are longer than every window of a program, no window sees more than one block, and if the length
is a multiple of every period, all blocks look alike to periodic predicates. So on such words, a
program with positions is a program without them, whose letters are blocks. If the automaton, read
in blocks, fails the decider for programs without positions that do not read the last symbol, then
no program with positions expresses the language.

Any word w that acts twice as it acts once makes blocks w v w, for words v of its length; repeating
w makes them as long as needed without changing what they do. Powers of short words are tried first.
Then w ranges over the idempotents of the stable semigroup: for some length s, the transformations
of the words of length s are those of the words of length 2s. docs/length-theory.md has the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from weft.automata.dfa import DFA, strong_components
from weft.theory.length.decider import Component, Edge, decide_component

MAX_TRANSFORMATIONS = 4_000
"""Of larger semigroups only short frames are tried."""
MAX_FRAMES, MAX_FRAME, MAX_MIDDLES = 48, 60, 300
"""Short frames: how many are tried, the longest word of one, and how many words between frames."""

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
    if (found := _with_short_frames(minimal)) is not None:
        return found
    for e, word in (stable := _stable(minimal)).items():
        if _is_idempotent(e) and (component := _failing(e, stable)) is not None:
            return _obstruction(minimal, e, word, stable, component)
    return None


def _is_idempotent(e: Transformation) -> bool:
    return all(e[then] == then for then in e)


def _obstruction(
    minimal: DFA,
    e: Transformation,
    frame: tuple[int, ...],
    words: dict[Transformation, tuple[int, ...]],
    component: Component,
) -> BlockObstruction:
    middles = _blocks(e, words).values()
    return BlockObstruction(
        minimal,
        _spelt(minimal, frame),
        tuple(_spelt(minimal, word) for word in middles),
        component,
    )


def _with_short_frames(minimal: DFA) -> BlockObstruction | None:
    """Frames that are powers of short words, with some of the words of their length between.

    Any idempotent and any words of its length make blocks, so what is found is an obstruction.
    """
    tried: set[Transformation] = set()
    for e, frame in _short_idempotents(minimal):
        if e in tried or len(set(e)) == 1:
            continue
        tried.add(e)
        words = _some_words(minimal, len(frame))
        if (component := _failing(e, words)) is not None:
            return _obstruction(minimal, e, frame, words, component)
        if len(tried) == MAX_FRAMES:
            break
    return None


def _short_idempotents(dfa: DFA) -> Iterator[tuple[Transformation, tuple[int, ...]]]:
    """Idempotent powers of words, in the order of the words."""
    for length in range(1, MAX_FRAME):
        if len(dfa.alphabet) ** length > MAX_TRANSFORMATIONS:
            return
        for word in product(range(len(dfa.alphabet)), repeat=length):
            act = tuple(dfa.run_from(q, word) for q in range(dfa.size))
            power, times = act, 1
            while not _is_idempotent(power) and (times + 1) * length <= MAX_FRAME:
                power, times = tuple(act[q] for q in power), times + 1
            if _is_idempotent(power):
                yield power, word * times


def _some_words(dfa: DFA, length: int) -> dict[Transformation, tuple[int, ...]]:
    """Some transformations of words of one length, each with its word."""
    level: dict[Transformation, tuple[int, ...]] = {tuple(range(dfa.size)): ()}
    for _ in range(length):
        following: dict[Transformation, tuple[int, ...]] = {}
        for symbol, move in enumerate(zip(*dfa.transitions, strict=True)):
            for act, word in level.items():
                following.setdefault(tuple(move[q] for q in act), (*word, symbol))
        stride = -(-len(following) // MAX_MIDDLES)  # spread over all beginnings
        level = dict(list(following.items())[::stride])
    return level


def _stable(dfa: DFA) -> dict[Transformation, tuple[int, ...]]:
    """The transformations of the words of the stable length, each with a word; none if too many."""
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
            return {}
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
