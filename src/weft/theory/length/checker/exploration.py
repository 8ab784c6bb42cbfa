"""Prove a C-RASP program equal to an automaton on all words, by exploring their product.

A configuration is the automaton's state, an interval for every form (see `normal_form`), and the
earlier values that the program reads. Booleans are true, false or unknown, intervals of forms are
cut off beyond the bounds of their tests, and forms that take several values in one strongly
connected component are forgotten there. Each of these only adds behaviours, so if the program's
acceptance is known and right in every configuration that is reached, it is right on every word: the
configurations are an inductive invariant. The converse does not hold: a failure is "undecided"
unless the word that leads to it is a counterexample. Then program and automaton are compared on all
words up to a length (see `words`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from weft.automata.dfa import DFA, strong_components
from weft.crasp.graph import graph_of
from weft.crasp.program import CraspProgram
from weft.theory.length.checker.evaluation import ANYTHING, FALSE, Evaluator, Interval
from weft.theory.length.checker.normal_form import (
    JunctionNode,
    NormalForm,
    NotNode,
    ReadNode,
    TooLarge,
    normal_form,
)
from weft.theory.length.checker.words import compare_words, differs

MAX_CONFIGURATIONS = 50_000
MAX_CONTROLS = 20_000
MAX_CONTROL_STEPS = 500_000
PROOF_WORK = 1_000_000
"""Node evaluations of a proof, at most: some seconds."""
QUICK_WORK, WORDS_WORK = 20_000, 150_000
"""Node evaluations on all words up to a length, before and after the attempt at a proof."""
MAX_SHORT_WORDS, BATCH_WORK = 600, 100_000
"""Words on which a program too large for a proof is compared, and words times operations."""
MAX_SHOWN = 40
"""Symbols of a word that are shown."""


@dataclass(frozen=True)
class Exploration:
    """What the exploration found.

    Attributes:
        status: "proved", "refuted" or "undecided".
        reason: in a sentence.
        configurations: how many were explored.
        word: on which program and automaton differ, if refuted and not for their alphabets.
        checked_to: if undecided, the length up to which all words agree.
    """

    status: Literal["proved", "refuted", "undecided"]
    reason: str
    configurations: int = 0
    word: tuple[str, ...] | None = None
    checked_to: int | None = None


@dataclass(frozen=True)
class _Configuration:
    control: int
    forms: tuple[Interval, ...]
    history: tuple[int, ...]


class _Controls:
    """The automaton's state, the position modulo the period, and the last few letters.

    Their strongly connected components say where a form may be forgotten. What is forgotten never
    makes the proof wrong, so neither can a mistake here.
    """

    def __init__(self, dfa: DFA, normal: NormalForm) -> None:
        window = _letters_read(normal)
        self.steps = 0
        for length in range(window, -1, -1):
            if self._explore(dfa, normal.period, length):
                break
        else:
            raise TooLarge(f"the automaton and the period have more than {MAX_CONTROLS:,} states")
        components = strong_components([set(row) for row in self.next])
        self.component = [0] * len(self.next)
        for number, members in enumerate(components):
            for member in members:
                self.component[member] = number

    def _explore(self, dfa: DFA, period: int, window: int) -> bool:
        first: tuple[int, int, tuple[int, ...]] = (dfa.start, 0, ())
        number = {first: 0}
        self.state, self.residue = [dfa.start], [0]
        self.next: list[list[int]] = []
        waiting = [first]
        for state, residue, letters in waiting:
            row = []
            for letter in range(len(dfa.alphabet)):
                then = dfa.transitions[state][letter]
                kept = (*letters, letter)[-window:] if window else ()
                key = (then, (residue + 1) % period, kept)
                if key not in number:
                    number[key] = len(number)
                    self.state.append(then)
                    self.residue.append(key[1])
                    waiting.append(key)
                row.append(number[key])
            self.next.append(row)
            self.steps += len(row)
            if self.steps > MAX_CONTROL_STEPS:
                raise TooLarge("the automaton, with the period, is too large")
            if len(number) > MAX_CONTROLS:
                return False
        return True


def _letters_read(normal: NormalForm) -> int:
    """How many letters back a program reads outside all counts."""
    depth: list[int] = []
    for node in normal.nodes:
        match node:
            case NotNode(operand):
                depth.append(depth[operand])
            case JunctionNode(_, operands):
                depth.append(max(depth[operand] for operand in operands))
            case ReadNode(body, offset):
                depth.append(depth[body] + offset)
            case _:
                depth.append(0)
    return min(max(depth), 8)


class _Explorer:
    """Explores the product of a program and an automaton.

    Args:
        dfa: the automaton.
        normal: the program.
        controls: their finite part.
        evaluator: of the program.
        forget: whether forms are forgotten in components where they take several values.
    """

    def __init__(
        self,
        dfa: DFA,
        normal: NormalForm,
        controls: _Controls,
        evaluator: Evaluator,
        *,
        forget: bool,
    ) -> None:
        self.dfa = dfa
        self.normal = normal
        self.controls = controls
        self.forget = forget
        self.evaluator = evaluator
        self._growing = [all(c > 0 for _, c in form) for form in normal.forms]
        self._varying: set[tuple[int, int]] = set()
        self._garbage: set[tuple[int, int]] = set()
        self._first: dict[tuple[int, int], Interval] = {}
        self._origin: dict[_Configuration, tuple[_Configuration, int] | None] = {}

    def explore(self) -> tuple[int, tuple[str, ...] | None]:
        """Explore; returns the number of configurations, and a word that may be a difference."""
        zero: Interval = (0, 0)
        start = _Configuration(
            0, (zero,) * len(self.normal.forms), (FALSE,) * len(self.normal.columns)
        )
        values = self.evaluator.values(start.forms, start.history, 0, None)
        if values[self.normal.accepting] != int(self.dfa.start in self.dfa.accepting):
            return 1, ()
        self._origin[start] = None
        waiting = [start]
        for configuration in waiting:
            for letter in range(len(self.dfa.alphabet)):
                after, accepted = self._next(configuration, letter)
                state = self.controls.state[after.control]
                if accepted != int(state in self.dfa.accepting):
                    return len(self._origin), (
                        *self._word(configuration),
                        self.dfa.alphabet[letter],
                    )
                if after not in self._origin:
                    self._origin[after] = (configuration, letter)
                    waiting.append(after)
            if len(waiting) > MAX_CONFIGURATIONS:
                raise TooLarge(f"more than {MAX_CONFIGURATIONS:,} configurations")
        return len(self._origin), None

    def _next(self, before: _Configuration, letter: int) -> tuple[_Configuration, int]:
        control = self.controls.next[before.control][letter]
        # The residue of this position, and not of the begin symbol, decides the predicates.
        position = self.controls.residue[control]
        values = self.evaluator.values(before.forms, before.history, position, letter)
        here = self.controls.component[control]
        inside = self.controls.component[before.control] == here
        forms = []
        for number, old in enumerate(before.forms):
            new = self._cut(number, self.evaluator.form_after(number, old, values, letter))
            if inside and new != old:
                self._varying.add((here, number))
            if self.forget and (here, number) in self._varying:
                new = self._forgotten(number, new, control, here)
            forms.append(new)
        history = self.evaluator.history_after(before.history, values)
        after = _Configuration(control, tuple(forms), history)
        return after, values[self.normal.accepting]

    def _cut(self, number: int, interval: Interval) -> Interval:
        """A larger interval, one of finitely many."""
        low, high = interval
        bound = self.normal.bounds[number]
        low = -inf if low < -bound else min(low, bound + 1)
        high = inf if high > bound else max(high, -bound - 1)
        return low, high

    def _forgotten(self, number: int, interval: Interval, control: int, here: int) -> Interval:
        """A larger interval for a form that changes inside a component."""
        if self._growing[number]:
            return (1, inf) if interval[0] >= 1 else interval
        if (here, number) not in self._garbage:
            if self._first.setdefault((control, number), interval) == interval:
                return interval
            self._garbage.add((here, number))
        return ANYTHING

    def _word(self, configuration: _Configuration) -> tuple[str, ...]:
        word = []
        while (origin := self._origin[configuration]) is not None:
            configuration, letter = origin
            word.append(self.dfa.alphabet[letter])
        return tuple(reversed(word))


def prove_equal(dfa: DFA, program: CraspProgram) -> Exploration:
    """Prove that a program accepts exactly the words that an automaton accepts.

    If no proof is found within bounds, program and automaton are compared on all words up to a
    length, and the result says up to which.

    Example:
        >>> from weft.crasp import parse
        >>> ones = DFA(("0", "1"), ((1, 0), (1, 1)), 0, frozenset({0}))
        >>> prove_equal(ones, parse("alphabet 0 1\\naccept := # Q_0 == 0")).status
        'proved'
        >>> prove_equal(ones, parse("alphabet 0 1\\naccept := # Q_0 <= 1")).word
        ('0',)
        >>> few = parse("alphabet 0 1\\naccept := # Q_0 == 0 or # Q_0 > 1000000")
        >>> result = prove_equal(ones, few)
        >>> result.status, result.checked_to
        ('undecided', 100)
    """
    if set(dfa.alphabet) != set(program.alphabet):
        return Exploration("refuted", "the program and the automaton have different alphabets")
    if program.alphabet != dfa.alphabet:
        program = CraspProgram(dfa.alphabet, program.lines, program.name, program.about)
    try:
        normal = normal_form(program)
    except TooLarge as error:
        return _compared(dfa, program, str(error))
    found = compare_words(dfa, normal, work=QUICK_WORK)
    if found.word is not None:
        return _refuted(found.word)
    reason, explored, work = "", 0, PROOF_WORK
    try:
        controls = _Controls(dfa, normal)
        for forget in (True, False):
            evaluator = Evaluator(normal, work)
            explored, word = _Explorer(dfa, normal, controls, evaluator, forget=forget).explore()
            if word is None:
                return Exploration(
                    "proved",
                    f"equal on all words, by an invariant of {explored:,} configurations",
                    explored,
                )
            if differs(dfa, normal, word):
                return _refuted(word, explored)
            reason = "the abstraction is too coarse: acceptance is not determined somewhere"
            work = evaluator.work
    except TooLarge as error:
        reason = str(error)
    found = compare_words(dfa, normal, work=WORDS_WORK)
    if found.word is not None:
        return _refuted(found.word, explored)
    if found.complete:
        count = found.configurations
        reason = f"equal on all words, by all {count:,} configurations that words reach"
        return Exploration("proved", reason, count)
    if found.length < 1:
        return _compared(dfa, program, reason)
    return Exploration("undecided", reason, explored, checked_to=found.length)


def _refuted(word: tuple[str, ...], explored: int = 0) -> Exploration:
    shown = " ".join(word[:MAX_SHOWN]) + (" ..." if len(word) > MAX_SHOWN else "")
    where = f"{shown} ({len(word):,} symbols)" if len(word) > MAX_SHOWN else shown
    what = where or "the empty word"
    return Exploration("refuted", f"program and automaton differ on {what}", explored, word)


def _compared(dfa: DFA, program: CraspProgram, reason: str) -> Exploration:
    """Compare a program that is too large for a proof on short words."""
    from weft.crasp.batched import run_batch

    words: list[tuple[str, ...]] = [()]
    level = words
    length = 0
    affordable = min(MAX_SHORT_WORDS, BATCH_WORK // len(graph_of(program).operations))
    while len(words) + len(level) * len(dfa.alphabet) <= affordable:
        level = [(*word, letter) for word in level for letter in dfa.alphabet]
        words += level
        length += 1
    accepted = run_batch(program, words).accepted.tolist()
    for word, answer in zip(words, accepted, strict=True):
        if answer != dfa.accepts(word):
            return _refuted(word)
    return Exploration("undecided", reason, checked_to=length)
