r"""Regular expressions as automata: parse, nondeterministic automaton, minimal deterministic one.

Supported are letters, `.`, classes such as `[ab]`, `[a-f]` and `[^a]`, `|`, `*`, `+`, `?`, `{n}`,
`{n,m}`, groups in parentheses, and a backslash before a sign that is meant literally. An expression
matches whole words, as in `re.fullmatch`. `()` is the empty word.

Papers write `+` for "or", as in (b + abc)*, and Python for "one or more". `expression_dfa` refuses
an expression that the two read differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from weft.automata.dfa import DFA, moore
from weft.errors import WeftError

SIGNS = ".[]|*+?()\\^$-{}"
MAX_STATES = 1000
"""The maximum number of states; an expression of n signs may need 2^n."""
MAX_PARTS = 20_000
"""The maximum number of states of the nondeterministic automaton, to bound nested `{n}`."""

Table = list[list[int]]
"""A row for each state: the next state for each letter."""


def expression_dfa(text: str, alphabet: str | Sequence[str] | None = None) -> DFA:
    """The minimal automaton of a regular expression.

    Args:
        text: the expression; `|` is "or".
        alphabet: the letters a word may have; if None, those that the expression names, in order.

    Raises:
        WeftError: if the expression cannot be read, or `+` could mean "or" or "one or more".

    Example:
        >>> expression_dfa("(ab|aabb)*").size
        5
        >>> expression_dfa("(b+abc)*")
        Traceback (most recent call last):
            ...
        weft.errors.WeftError: '(b+abc)*', column 3: + is ambiguous. Write (b|abc)* if it means "or", ((b+)abc)* if it means "one or more"
    """  # noqa: E501
    if alphabet is None:
        alphabet = letters_of(text, strict=True)
        if not alphabet:
            raise WeftError(
                f"the expression {text!r} names no letters",
                remedy='Give the alphabet, as in alphabet="ab"',
            )
    letters = tuple(alphabet)
    for letter in letters:
        if len(letter) != 1:
            raise WeftError(
                f"{letter!r} is not a single character, and expressions have no other letters",
                remedy="Use a letter of one character, or an automaton file",
            )
    rows, accepting = expression_table(text, "".join(letters), strict=True)
    table = tuple(map(tuple, rows))
    return DFA(letters, table, 0, frozenset(accepting)).minimal()


@dataclass(frozen=True)
class Edge:
    """A transition between two states on one of some letters; None for the empty word."""

    begin: int
    letters: frozenset[str] | None
    end: int


@dataclass
class RegexParser:
    """A recursive-descent parser that builds an automaton by Thompson's construction.

    Each method reads one construct and returns the states at which it begins and ends. With
    `strict`, blanks are refused and so is a `+` that could be read as "or".
    """

    text: str
    letters: str = ""
    strict: bool = False
    place: int = 0
    states: int = 0
    edges: list[Edge] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    ambiguous: dict[int, int] = field(default_factory=dict)  # a `+`, and where its operand begins

    def whole(self) -> tuple[int, int]:
        """The whole expression."""
        try:
            begin, end = self.union()
        except RecursionError:
            raise self.wrong("brackets are nested too deep") from None
        if self.place < len(self.text):
            raise self.wrong("this bracket was not opened")
        if self.strict and self.ambiguous:
            raise self._two_readings()
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
        """`a`, `a*`, `a+`, `a?`, `a{2}` or `a{2,3}`."""
        start = self.place
        first, last = self.single()
        begin, end = self.state(), self.state()
        if self.text.startswith("{", self.place):
            self._counted(start, begin, (first, last), end)
            return begin, end
        self.join(begin, first)
        self.join(last, end)
        star = self.follows("*")
        plus = not star and self.follows("+")
        if star or (not plus and self.follows("?")):
            self.join(begin, end)
        if star or plus:
            self.join(last, first)
        following = self.text[self.place : self.place + 1]
        if plus and following and following not in "|)*+?{]}":
            self.ambiguous[self.place - 1] = start
        return begin, end

    def _counted(self, start: int, begin: int, part: tuple[int, int], end: int) -> None:
        """`{n}` or `{n,m}`: as many copies of a part, which is read again for each of them."""
        stop = self.place
        self.place += 1
        least = self.number()
        most = self.number() if self.follows(",") else least
        if not self.follows("}"):
            raise self.wrong("a } is missing")
        if most < least:
            raise self.wrong(f"{most} is less than {least}")
        after = self.place
        if not most:
            self.join(begin, end)
        current = begin
        for copy in range(most):
            if copy >= least:
                self.join(current, end)
            if copy:
                self.place = start
                part = self.single()
                assert self.place == stop
            self.join(current, part[0])
            current = part[1]
        if most:
            self.join(current, end)
        self.place = after

    def number(self) -> int:
        """A number of repetitions."""
        start = self.place
        while self.text[self.place : self.place + 1].isdecimal():
            self.place += 1
        digits = self.text[start : self.place]
        if not digits or len(digits) > 4:
            raise self.wrong("a number of repetitions below 10,000 is expected")
        return int(digits)

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
        if self.strict and result.isspace():
            raise self.wrong("a blank is not expected; leave it out")
        if escaped != (result in SIGNS):
            meant = (
                f"as a letter it is \\{result}" if not escaped else "only signs have a backslash"
            )
            alternative = ', and "or" is |' if self.strict and result == "+" else ""
            raise self.wrong(f"{result} is not expected; {meant}{alternative}")
        if self.strict and self.letters and result not in self.letters:
            raise self.wrong(f"{result!r} is not in the alphabet {' '.join(self.letters)}")
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
        if self.states > MAX_PARTS:
            raise WeftError(
                f"the expression {self.text!r} is too long", remedy="Give a simpler expression"
            )
        return self.states - 1

    def join(self, begin: int, end: int) -> None:
        """A transition on the empty word."""
        self.edges.append(Edge(begin, None, end))

    def wrong(self, what: str) -> WeftError:
        """The error that the expression is wrong at the current place."""
        remedy = "Use letters, . [ab] | * + ? {n} ( ), and \\ before a sign that is meant literally"
        if self.strict:
            return WeftError(f"{self.text!r}, column {self.place + 1}: {what}", remedy=remedy)
        return WeftError(
            f"the pattern {self.text!r} is wrong at place {self.place + 1}: {what}", remedy=remedy
        )

    def _two_readings(self) -> WeftError:
        """The error that `+` could be "or" or "one or more", with both readings."""
        either = "".join(
            "|" if place in self.ambiguous else sign for place, sign in enumerate(self.text)
        )
        begins = list(self.ambiguous.values())
        repeat = "".join(
            "(" * begins.count(place) + sign + ")" * (place in self.ambiguous)
            for place, sign in enumerate(self.text)
        )
        return WeftError(
            f"{self.text!r}, column {min(self.ambiguous) + 1}: + is ambiguous",
            remedy=f'Write {either} if it means "or", {repeat} if it means "one or more"',
        )


def letters_of(text: str, *, strict: bool = False) -> str:
    """The letters that an expression names, in order."""
    parser = RegexParser(text, strict=strict)
    parser.whole()
    return "".join(sorted(parser.named))


def expression_table(text: str, letters: str, *, strict: bool = False) -> tuple[Table, list[int]]:
    """The minimal automaton: its table and accepting states; state 0 is the start."""
    parser = RegexParser(text, letters, strict=strict)
    begin, end = parser.whole()
    silent: list[list[int]] = [[] for _ in range(parser.states)]
    reading: list[list[tuple[frozenset[str], int]]] = [[] for _ in range(parser.states)]
    for edge in parser.edges:
        if edge.letters is None:
            silent[edge.begin].append(edge.end)
        else:
            reading[edge.begin].append((edge.letters, edge.end))
    sets = {_closure(silent, {begin}): 0}
    table: Table = []
    waiting = list(sets)
    for states in waiting:  # grows while it is read
        after: dict[str, set[int]] = {letter: set() for letter in letters}
        for state in states:
            for choice, then in reading[state]:
                for letter in choice & after.keys():
                    after[letter].add(then)
        row = []
        for letter in letters:
            reached = _closure(silent, after[letter])
            if reached not in sets:
                sets[reached] = len(sets)
                waiting.append(reached)
            row.append(sets[reached])
        table.append(row)
        if len(sets) > MAX_STATES:
            raise WeftError(
                f"the pattern {text!r} needs more than {MAX_STATES:,} states",
                remedy="Give a simpler pattern",
            )
    return smallest(table, [number for states, number in sets.items() if end in states])


def _closure(silent: list[list[int]], states: Iterable[int]) -> frozenset[int]:
    """These states and all that are reachable by empty transitions."""
    result = set(states)
    waiting = list(result)
    while waiting:
        for then in silent[waiting.pop()]:
            if then not in result:
                result.add(then)
                waiting.append(then)
    return frozenset(result)


def smallest(table: Sequence[Sequence[int]], accepting: Iterable[int]) -> tuple[Table, list[int]]:
    """Merge the states that no word distinguishes; state 0 stays state 0."""
    final = set(accepting)
    kinds = moore(table, [state in final for state in range(len(table))])
    first = [kinds.index(kind) for kind in range(max(kinds) + 1)]
    rows = [[kinds[then] for then in table[state]] for state in first]
    return rows, [kind for kind, state in enumerate(first) if state in final]
