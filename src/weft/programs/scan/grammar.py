"""SCAN's grammar as data, and the meanings that it generates (Lake and Baroni, 2018, appendix).

SCAN has 20,910 commands such as `jump around left twice and walk`, each of which means one sequence
of actions. A production says how words and parts form a larger part, and what that part means. The
program `scan` is built from these productions; `meanings` independently enumerates the language.

The word `turn` has an empty meaning: `turn left` is `left` without a verb. So one production serves
both `jump around left` and `turn around left`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

from weft.errors import WeftError, unknown_name

Actions = tuple[str, ...]


@dataclass(frozen=True)
class Production:
    """A production of the grammar, with its meaning.

    Attributes:
        kind: the nonterminal that it produces.
        source: its words and the kinds of its parts.
        target: actions, and the numbers of the parts whose meanings are inserted there.
    """

    kind: str
    source: tuple[str, ...]
    target: tuple[str | int, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """The kinds in the source, without the words; the target numbers these from 0."""
        return tuple(symbol for symbol in self.source if symbol in KINDS)


def _rule(kind: str, source: str, *target: str | int) -> Production:
    return Production(kind, tuple(source.split()), target)


CHOICES = {
    "COMMAND": ("SENTENCE", "JOINED"),
    "SENTENCE": ("PHRASE", "REPEATED"),
    "PHRASE": ("VERB", "DIRECTED"),
    "STEM": ("VERB", "TURN"),
}
"""Kinds that are one of several other kinds. Kinds are written in capitals."""

KINDS = frozenset([*CHOICES, "JOINED", "REPEATED", "DIRECTED", "VERB", "TURN", "SIDE"])

RULES = (
    _rule("VERB", "walk", "I_WALK"),
    _rule("VERB", "look", "I_LOOK"),
    _rule("VERB", "run", "I_RUN"),
    _rule("VERB", "jump", "I_JUMP"),
    _rule("TURN", "turn"),
    _rule("SIDE", "left", "I_TURN_LEFT"),
    _rule("SIDE", "right", "I_TURN_RIGHT"),
    _rule("DIRECTED", "STEM SIDE", 1, 0),
    _rule("DIRECTED", "STEM opposite SIDE", 1, 1, 0),
    _rule("DIRECTED", "STEM around SIDE", 1, 0, 1, 0, 1, 0, 1, 0),
    _rule("REPEATED", "PHRASE twice", 0, 0),
    _rule("REPEATED", "PHRASE thrice", 0, 0, 0),
    _rule("JOINED", "SENTENCE and SENTENCE", 0, 1),
    _rule("JOINED", "SENTENCE after SENTENCE", 1, 0),
)

WORDS = tuple(dict.fromkeys(s for rule in RULES for s in rule.source if s not in KINDS))
ACTIONS = tuple(dict.fromkeys(t for rule in RULES for t in rule.target if isinstance(t, str)))


@cache
def meanings(kind: str = "COMMAND") -> dict[str, Actions]:
    """Every command, or every part of another kind, with its actions.

    Example:
        >>> len(meanings())
        20910
        >>> meanings()["turn left after jump twice"]
        ('I_JUMP', 'I_JUMP', 'I_TURN_LEFT')
    """
    result: dict[str, Actions] = {}
    for choice in CHOICES.get(kind, ()):
        result |= meanings(choice)
    for rule in RULES:
        if rule.kind == kind:
            result.update(_made_by(rule))
    return result


def _made_by(rule: Production) -> Iterator[tuple[str, Actions]]:
    """All that one production generates, for all choices of its parts."""
    for chosen in product(*(meanings(kind).items() for kind in rule.parts)):
        names = iter([words for words, _ in chosen])
        words = [next(names) if symbol in KINDS else symbol for symbol in rule.source]
        actions: list[str] = []
        for item in rule.target:
            actions += [item] if isinstance(item, str) else chosen[item][1]
        yield " ".join(words), tuple(actions)


def meaning(command: str) -> Actions:
    """The actions of one command."""
    plain = " ".join(command.split())
    result = meanings().get(plain)
    if result is None:
        raise _not_a_command(plain)
    return result


def _not_a_command(command: str) -> WeftError:
    for word in command.split():
        if word not in WORDS:
            return unknown_name(f"'{word}' is not a word of SCAN", word, WORDS)
    return WeftError(
        f"'{command}' is not a command of SCAN",
        remedy="Write one or two sentences, as in `jump around left twice and walk`: a verb, then "
        "[opposite|around] left|right, then twice|thrice; turn needs left or right",
    )
