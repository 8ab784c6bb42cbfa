r"""Regular expressions as tables: parse, nondeterministic automaton, minimal deterministic one.

Supported are letters, `.`, classes such as `[ab]`, `[a-f]` and `[^a]`, `|`, `*`, `+`, `?`, groups
in parentheses, and a backslash before a sign that is meant literally. A pattern matches whole
words, as in `re.fullmatch`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field

import weft

SIGNS = ".[]|*+?()\\^$-{}"
LARGEST = 1000
"""The maximum number of states; a pattern of n signs may need 2^n."""

Table = list[list[int]]
"""A row for each state: the next state for each letter."""


@dataclass(frozen=True)
class Edge:
    """A transition between two states on one of some letters; None for the empty word."""

    begin: int
    letters: frozenset[str] | None
    end: int


@dataclass
class RegexParser:
    """A recursive-descent parser that builds an automaton by Thompson's construction.

    Each method reads one construct and returns the states at which it begins and ends.
    """

    text: str
    letters: str = ""
    place: int = 0
    states: int = 0
    edges: list[Edge] = field(default_factory=list)
    named: set[str] = field(default_factory=set)

    def whole(self) -> tuple[int, int]:
        """The whole pattern."""
        begin, end = self.union()
        if self.place < len(self.text):
            raise self.wrong("this bracket was not opened")
        return begin, end

    def union(self) -> tuple[int, int]:
        """`a|b|c`: alternatives."""
        begin, end = self.state(), self.state()
        while True:
            first, last = self.sequence()
            self.join(begin, first)
            self.join(last, end)
            if not self.follows("|"):
                return begin, end

    def sequence(self) -> tuple[int, int]:
        """`abc`: a concatenation, possibly empty."""
        begin = end = self.state()
        while self.text[self.place : self.place + 1] not in ("", "|", ")"):
            first, last = self.repeated()
            self.join(end, first)
            end = last
        return begin, end

    def repeated(self) -> tuple[int, int]:
        """`a`, `a*`, `a+` or `a?`."""
        first, last = self.single()
        begin, end = self.state(), self.state()
        self.join(begin, first)
        self.join(last, end)
        star, plus = self.follows("*"), self.follows("+")
        if star or self.follows("?"):
            self.join(begin, end)
        if star or plus:
            self.join(last, first)
        return begin, end

    def single(self) -> tuple[int, int]:
        """A letter, `.`, a class or a group."""
        if self.follows("("):
            begin, end = self.union()
            if not self.follows(")"):
                raise self.wrong("a ) is missing")
            return begin, end
        begin, end = self.state(), self.state()
        self.edges.append(Edge(begin, frozenset(self.choice()), end))
        return begin, end

    def choice(self) -> set[str]:
        """The letters of which one is matched."""
        if self.follows("."):
            return set(self.letters)
        if not self.follows("["):
            return {self.letter()}
        others = self.follows("^")
        result = self.span()
        while not self.follows("]"):
            result |= self.span()
        return set(self.letters) - result if others else result

    def span(self) -> set[str]:
        """`a` or `a-f`, inside a class."""
        low = self.letter()
        high = self.letter() if self.follows("-") else low
        if high < low:
            raise self.wrong(f"{high} comes before {low}")
        result = {chr(code) for code in range(ord(low), ord(high) + 1)}
        self.named |= result
        return result

    def letter(self) -> str:
        """A literal letter."""
        escaped = self.follows("\\")
        result = self.text[self.place : self.place + 1]
        if not result:
            raise self.wrong("it ends too early")
        if escaped != (result in SIGNS):
            meant = (
                f"as a letter it is \\{result}" if not escaped else "only signs have a backslash"
            )
            raise self.wrong(f"{result} is not expected; {meant}")
        self.place += 1
        self.named.add(result)
        return result

    def follows(self, sign: str) -> bool:
        """Whether this sign comes next; if so, it is consumed."""
        result = self.text.startswith(sign, self.place)
        self.place += result
        return result

    def state(self) -> int:
        """A new state."""
        self.states += 1
        return self.states - 1

    def join(self, begin: int, end: int) -> None:
        """A transition on the empty word."""
        self.edges.append(Edge(begin, None, end))

    def wrong(self, what: str) -> weft.WeftError:
        """The error that the pattern is wrong at the current place."""
        return weft.WeftError(
            f"the pattern {self.text!r} is wrong at place {self.place + 1}: {what}",
            remedy="Use letters, . [ab] | * + ? ( ), and \\ before a sign that is meant literally",
        )


def letters_of(text: str) -> str:
    """The letters that a pattern names, in order."""
    pattern = RegexParser(text)
    pattern.whole()
    return "".join(sorted(pattern.named))


def automaton(text: str, letters: str) -> tuple[Table, list[int]]:
    """The minimal automaton of a pattern: its table and accepting states; state 0 is the start."""
    pattern = RegexParser(text, letters)
    begin, end = pattern.whole()
    sets: list[frozenset[int]] = [_closure(pattern.edges, {begin})]
    table: Table = []
    for number, states in enumerate(sets):  # grows while it is read
        table.append([])
        for letter in letters:
            reached = _closure(pattern.edges, _after(pattern.edges, states, letter))
            if reached not in sets:
                sets.append(reached)
            table[number].append(sets.index(reached))
        if len(sets) > LARGEST:
            raise weft.WeftError(
                f"the pattern {text!r} needs more than {LARGEST:,} states",
                remedy="Give a simpler pattern",
            )
    return smallest(table, [number for number, states in enumerate(sets) if end in states])


def _after(edges: list[Edge], states: Collection[int], letter: str) -> set[int]:
    return {
        edge.end
        for edge in edges
        if edge.letters is not None and edge.begin in states and letter in edge.letters
    }


def _closure(edges: list[Edge], states: Iterable[int]) -> frozenset[int]:
    """These states and all that are reachable by empty transitions."""
    result = set(states)
    waiting = list(result)
    while waiting:
        state = waiting.pop()
        new = {e.end for e in edges if e.begin == state and e.letters is None} - result
        result |= new
        waiting += new
    return frozenset(result)


def smallest(table: Table, accepting: Collection[int]) -> tuple[Table, list[int]]:
    """Merge the states that no word distinguishes (Moore's algorithm); state 0 stays state 0."""
    kinds = _numbered([state in accepting for state in range(len(table))])
    while True:
        finer = _numbered(
            [(kinds[state], *(kinds[then] for then in row)) for state, row in enumerate(table)]
        )
        if max(finer) == max(kinds):
            break
        kinds = finer
    first = [kinds.index(kind) for kind in range(max(kinds) + 1)]
    rows = [[kinds[then] for then in table[state]] for state in first]
    return rows, [kind for kind, state in enumerate(first) if state in accepting]


def _numbered(keys: list[Hashable]) -> list[int]:
    """Keys as numbers from 0, in the order of first occurrence."""
    order = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return [order[key] for key in keys]
