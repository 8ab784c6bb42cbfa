"""Compare a C-RASP program and an automaton on all words up to a length.

A configuration is the automaton's state, the position modulo the program's period, the value of
every form and the earlier values that the program reads. Nothing is rounded, so two words with one
configuration have the same continuations, and each configuration is followed once: the cost is the
number of configurations, not that of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.automata.dfa import DFA
from weft.theory.length.checker.evaluation import FALSE, OVERHEAD, TRUE, Evaluator, Interval
from weft.theory.length.checker.normal_form import NormalForm, TooLarge

MAX_LENGTH = 100

_Configuration = tuple[int, int, tuple[Interval, ...], tuple[int, ...]]
"""The state, the residue, exact forms, and earlier values."""


@dataclass(frozen=True)
class WordComparison:
    """What a comparison on all words up to a length found.

    Attributes:
        word: the first shortest word on which program and automaton differ; None if there is none.
        length: all words up to this length agree; -1 if the empty word does not.
        configurations: how many there are.
        complete: whether longer words reach no other configurations, so that all words agree.
    """

    word: tuple[str, ...] | None
    length: int
    configurations: int
    complete: bool = False


def compare_words(
    dfa: DFA, normal: NormalForm, *, work: int, length: int = MAX_LENGTH
) -> WordComparison:
    """Compare a program and an automaton on all words up to a length.

    Args:
        dfa: the automaton.
        normal: the program.
        work: stop after this many evaluations of nodes.
        length: of the words.

    Example:
        >>> from weft.crasp import parse
        >>> from weft.theory.length.checker.normal_form import normal_form
        >>> few = normal_form(parse("alphabet 0 1\\naccept := # Q_0 <= 2"))
        >>> ones = DFA(("0", "1"), ((1, 0), (1, 1)), 0, frozenset({0}))
        >>> compare_words(ones, few, work=1000).word
        ('0',)
    """
    evaluator = Evaluator(normal, work)
    zero: Interval = (0, 0)
    start: _Configuration = (
        dfa.start,
        0,
        (zero,) * len(normal.forms),
        (FALSE,) * len(normal.columns),
    )
    origin: dict[_Configuration, tuple[_Configuration, int] | None] = {start: None}
    level = [start]
    reached = -1
    try:
        values = evaluator.values(start[2], start[3], 0, None)
        if (values[normal.accepting] == TRUE) != (dfa.start in dfa.accepting):
            return WordComparison((), -1, 1)
        for reached in range(length):
            following: list[_Configuration] = []
            for before in level:
                for letter, state in enumerate(dfa.transitions[before[0]]):
                    values = evaluator.values(before[2], before[3], before[1] + 1, letter)
                    if (values[normal.accepting] == TRUE) != (state in dfa.accepting):
                        word = _word(dfa, origin, before, letter)
                        return WordComparison(word, reached, len(origin))
                    forms = tuple(
                        evaluator.form_after(number, old, values, letter)
                        for number, old in enumerate(before[2])
                    )
                    history = evaluator.history_after(before[3], values)
                    after = (state, (before[1] + 1) % normal.period, forms, history)
                    if after not in origin:
                        origin[after] = (before, letter)
                        following.append(after)
            if not following:
                return WordComparison(None, length, len(origin), complete=True)
            level = following
    except TooLarge:
        return WordComparison(None, reached, len(origin))
    return WordComparison(None, length, len(origin))


def differs(dfa: DFA, normal: NormalForm, word: Sequence[str]) -> bool:
    """Whether a program and an automaton differ on a word."""
    evaluator = Evaluator(normal, (len(word) + 1) * (len(normal.nodes) + OVERHEAD))
    forms: list[Interval] = [(0, 0)] * len(normal.forms)
    history: tuple[int, ...] = (FALSE,) * len(normal.columns)
    values = evaluator.values(forms, history, 0, None)
    for position, letter in enumerate(dfa.read_word(word), 1):
        values = evaluator.values(forms, history, position, letter)
        forms = [evaluator.form_after(n, old, values, letter) for n, old in enumerate(forms)]
        history = evaluator.history_after(history, values)
    return (values[normal.accepting] == TRUE) != dfa.accepts(word)


def _word(
    dfa: DFA,
    origin: dict[_Configuration, tuple[_Configuration, int] | None],
    before: _Configuration,
    letter: int,
) -> tuple[str, ...]:
    """The word of a configuration and one more letter."""
    word = [dfa.alphabet[letter]]
    while (step := origin[before]) is not None:
        before, letter = step
        word.append(dfa.alphabet[letter])
    return tuple(reversed(word))
