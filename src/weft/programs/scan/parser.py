"""SCAN's grammar as the program `scan` uses it: symbols, reductions and dotted rules, as numbers.

Everything here is computed from `grammar.RULES`. A parser with lookahead need not distinguish all
kinds: it keeps SIDE apart and calls everything else a COMMAND.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from weft.programs.scan.grammar import ACTIONS, KINDS, RULES, WORDS, Production

START, END = "s", "e"
SIDE, COMMAND = "SIDE", "COMMAND"


def _parsed(rule: Production) -> Production:
    names = {kind: SIDE if kind == SIDE else COMMAND for kind in KINDS}
    source = tuple(names.get(symbol, symbol) for symbol in rule.source)
    return replace(rule, kind=names[rule.kind], source=source)


ANSWER = Production("ANSWER", (START, COMMAND), (0,))
"""The last rule of every parse: its node is the root, above the node of the whole command."""

GRAMMAR = (*map(_parsed, RULES), ANSWER)

# Symbols on the stack; 0 is an empty cell.

SYMBOLS = ("", START, END, *WORDS, SIDE, COMMAND)
NAMED = {rule.source[0]: rule.kind for rule in GRAMMAR if len(rule.source) == 1}
REDUCED = tuple(SYMBOLS.index(NAMED.get(symbol, "")) for symbol in SYMBOLS)
"""What replaces the symbol on top when a rule ends in it: words that are parts by themselves take
the name of their kind, all others are removed. Longer rules keep their first symbol."""


# Nodes of the tree: a rule, and how much of its target has been done; 0 is an empty cell.


@dataclass(frozen=True)
class Dotted:
    """A rule with a dot in its target, as in Earley's parser."""

    rule: Production
    dot: int = 0

    @property
    def part(self) -> int | None:
        """The part after the dot; None at the end and at a leaf."""
        items = self.rule.target[self.dot : self.dot + 1]
        return next((item for item in items if isinstance(item, int)), None)

    @property
    def advanced(self) -> Dotted:
        """The dot moved on by a part; from the end, back to the start."""
        return replace(self, dot=0 if self.part is None else self.dot + 1)


def _all_dotted() -> tuple[Dotted, ...]:
    result: list[Dotted] = []
    for rule in GRAMMAR:
        dots = len(rule.target) + 1 if rule.parts else 1
        result += [Dotted(rule, dot) for dot in range(dots)]
    return tuple(result)


DOTTED = (None, *_all_dotted())


def _numbers(test: Callable[[Dotted], bool]) -> frozenset[int]:
    return frozenset(n for n, dotted in enumerate(DOTTED) if dotted is not None and test(dotted))


def _way(dotted: Dotted | None) -> int:
    if dotted is None or dotted.part is None:
        return UP
    return LAST if dotted.part == len(dotted.rule.parts) - 1 else FIRST


ADVANCED = tuple(0 if d is None else DOTTED.index(d.advanced) for d in DOTTED)
INNER = _numbers(lambda d: bool(d.rule.parts))
TWO_PARTS = _numbers(lambda d: len(d.rule.parts) == 2)
UP, LAST, FIRST = range(3)
WAYS = tuple(_way(dotted) for dotted in DOTTED)
"""Where the traversal goes from a node: back up, to its last part, or to the first of two."""

POPS_ONE = _numbers(lambda d: len(d.rule.source) == 2)
POPS_TWO = _numbers(lambda d: len(d.rule.source) == 3)
PARSED = DOTTED.index(Dotted(ANSWER))
ANSWERED = DOTTED.index(Dotted(ANSWER, 1))

# The output: nothing, the pen that marks the place of the next action, or an action.

NOTHING, PEN = 0, 1
OUTPUTS = ("", "", *ACTIONS)
ACTION_OF = {
    n: OUTPUTS.index(d.rule.target[0])  # a leaf has no parts
    for n, d in enumerate(DOTTED)
    if d is not None and not d.rule.parts and d.rule.target
}


@dataclass(frozen=True)
class Reduction:
    """When to reduce by a rule: the top of the stack, the symbol below it, and the lookahead.

    A rule that ends in a command waits for the end of the input: before that, the command may still
    grow (`walk and jump` is incomplete if `twice` follows).
    """

    top: int
    below: int | None
    at_end: bool
    node: int


def _reduction(rule: Production) -> Reduction:
    symbols = [SYMBOLS.index(symbol) for symbol in rule.source]
    below = symbols[-2] if len(symbols) > 1 else None
    return Reduction(symbols[-1], below, rule.source[-1] == COMMAND, DOTTED.index(Dotted(rule)))


REDUCTIONS = tuple(map(_reduction, GRAMMAR))
