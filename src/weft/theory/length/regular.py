"""Predict length generalisation of a regular language, with certificates.

Without positions the answer is exact (`decider`). With positions a block obstruction is a no
(`blocks`), an unfolding is a yes (`unfolding`), and if there is neither the answer is unknown. A
yes comes with a synthesised C-RASP program, which the checker proves equal to the automaton on all
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.automata.dfa import DFA
from weft.errors import WeftError
from weft.theory.length.answers import Answer, Positions
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.certificates import (
    block_certificate,
    decision_certificate,
    program_certificate,
    unfolding_certificate,
)
from weft.theory.length.checker.exploration import prove_equal
from weft.theory.length.classes import LanguageClass, language_class
from weft.theory.length.decider import Decision, decide
from weft.theory.length.sentences import details, reason
from weft.theory.length.synthesis import synthesise
from weft.theory.length.unfolding import PERIODS, WINDOWS, Unfolding, unfold

MAX_STATES = 300
"""Of a minimal automaton."""


@dataclass(frozen=True, kw_only=True)
class LanguagePrediction:
    """What the theory says of a regular language.

    Attributes:
        dfa: the minimal automaton.
        last_symbol: whether programs may read the last symbol.
        language_class: the smallest of four classes that contains the language.
        none: the answer without positional encoding.
        absolute: the answer for learned absolute positions.
    """

    dfa: DFA
    last_symbol: bool
    language_class: LanguageClass
    none: Answer
    absolute: Answer


def predict_language(dfa: DFA, *, last_symbol: bool = True) -> LanguagePrediction:
    """Predict whether transformers generalise in length on a regular language.

    Args:
        dfa: an automaton of the language; its alphabet is part of the question.
        last_symbol: whether programs without positions may read the last symbol, as C-RASP's
            definition says; local predicates read it in any case.

    Example:
        >>> from weft.automata import expression_dfa
        >>> found = predict_language(expression_dfa("(ab|aabb)*"))
        >>> found.none.verdict, found.absolute.verdict, found.absolute.support
        ('no', 'yes', 'proved')
    """
    minimal = dfa.minimal()
    if minimal.size > MAX_STATES:
        raise WeftError(
            f"the minimal automaton has {minimal.size:,} states",
            remedy=f"Give a language with at most {MAX_STATES} states",
        )
    decision = decide(minimal, last_symbol=last_symbol)
    if decision.inside:
        none = _inside(minimal, decision)
        absolute = _at(none, "absolute")
    else:
        none = Answer(
            positions="none",
            verdict="no",
            support="proved",
            reason=reason(decision),
            details=tuple(details(decision)),
            certificate=decision_certificate(minimal, decision),
        )
        absolute = _with_positions(minimal, last_symbol=last_symbol)
    return LanguagePrediction(
        dfa=minimal,
        last_symbol=last_symbol,
        language_class=language_class(minimal),
        none=replace(none, change=_change(minimal, none, absolute, last_symbol)),
        absolute=replace(absolute, change=_change(minimal, absolute, None, last_symbol)),
    )


def _at(answer: Answer, positions: Positions) -> Answer:
    return replace(answer, positions=positions)


def _inside(dfa: DFA, decision: Decision) -> Answer:
    """A yes without positions."""
    if dfa.size == 1:
        every = "accepted" if dfa.accepting else "rejected"
        why = f"every word is {every}, so nothing has to be computed"
        lines: tuple[str, ...] = ()
    else:
        why, lines = reason(decision), tuple(details(decision))
    answer = Answer(
        positions="none", verdict="yes", support="proved", reason=why, details=lines,
        certificate=decision_certificate(dfa, decision),
    )  # fmt: skip
    return _with_program(answer, dfa, decision)


def _with_positions(dfa: DFA, *, last_symbol: bool) -> Answer:
    """The answer for learned absolute positions, of a language that is outside without them."""
    blocks = block_obstruction(dfa)
    if blocks is not None:
        return Answer(
            positions="absolute",
            verdict="no",
            support="proved",
            reason=reason(blocks),
            details=tuple(details(blocks)),
            certificate=block_certificate(dfa, blocks),
        )
    unfolding = unfold(dfa, last_symbol=last_symbol)
    if unfolding is None:
        periods = ", ".join(map(str, PERIODS))
        return Answer(
            positions="absolute",
            verdict="unknown",
            support="none",
            reason=f"the bounded test (periods {periods}; up to the last {max(WINDOWS)} symbols) "
            "finds no program, and no block obstruction is found",
            change="a larger period or window may give a program; a failure up to a bound is "
            "evidence only",
        )
    return _unfolded(dfa, unfolding)


def _unfolded(dfa: DFA, unfolding: Unfolding) -> Answer:
    answer = Answer(
        positions="absolute",
        verdict="yes",
        support="proved",
        reason=reason(unfolding),
        details=tuple(details(unfolding)),
        certificate=unfolding_certificate(dfa, unfolding),
    )
    return _with_program(answer, dfa, unfolding)


def _with_program(answer: Answer, dfa: DFA, witness: Decision | Unfolding) -> Answer:
    """A yes with its program: proved on all words, or compared on short ones."""
    try:
        program = synthesise(dfa, witness)
    except WeftError:  # too large to write; the potentials remain
        return answer
    found = prove_equal(dfa, program)
    if found.status == "proved":
        certificate = program_certificate(dfa, program)
        return replace(answer, program=str(program), certificate=certificate)
    if found.checked_to is None:
        return answer
    return replace(answer, program=str(program), checked_to=found.checked_to)


# What would change an answer


def _change(dfa: DFA, answer: Answer, absolute: Answer | None, last_symbol: bool) -> str:
    """What would change an answer, found by asking the decider again; empty if nothing was found.

    Args:
        dfa: the minimal automaton.
        answer: the answer.
        absolute: for the answer without positions, the one with them.
        last_symbol: whether programs may read the last symbol.
    """
    if answer.verdict == "unknown" or dfa.size == 1:
        return answer.change
    changes = []
    if answer.verdict == "no" and absolute is not None and absolute.verdict == "yes":
        changes.append("learned absolute positions: yes")
    if answer.positions == "none" and _decided(dfa, not last_symbol) != answer.verdict:
        other = "may" if not last_symbol else "may not"
        verdict = "no" if answer.verdict == "yes" else "yes"
        changes.append(f"programs {other} read the last symbol: {verdict}")
    changes += _other_alphabets(dfa, answer, last_symbol)
    return "; ".join(changes)


def _other_alphabets(dfa: DFA, answer: Answer, last_symbol: bool) -> list[str]:
    """Alphabets that change the answer: without one of the letters, or with a neutral one."""
    asked = _decided if answer.positions == "none" else _decided_with_positions
    if answer.verdict == "no" and len(dfa.alphabet) > 1:
        neutral = [all(row[a] == q for q, row in enumerate(dfa.transitions)) for a in _indices(dfa)]
        removed = [
            dfa.alphabet[a]
            for a in sorted(_indices(dfa), key=lambda a: not neutral[a])
            if not _nearly_trivial(shorter := without_letter(dfa, dfa.alphabet[a]))
            and asked(shorter, last_symbol) == "yes"
        ]
        return [f"an alphabet without {letter}: yes" for letter in removed[:2]]
    if answer.verdict == "yes" and asked(with_neutral_letter(dfa), last_symbol) == "no":
        return ["one more letter that changes nothing, anywhere in the word: no"]
    return []


def _indices(dfa: DFA) -> range:
    return range(len(dfa.alphabet))


def _nearly_trivial(dfa: DFA) -> bool:
    """Whether only finitely many words are accepted, or only finitely many are rejected."""
    minimal = dfa.minimal()
    return any(
        all(len(each) == 1 and each[0] not in side.transitions[each[0]] for each in _live(side))
        for side in (minimal, minimal.complement())
    )


def _live(dfa: DFA) -> list[tuple[int, ...]]:
    """The components from which an accepting state can be reached."""
    live = dfa.live()
    return [each for each in dfa.components() if each[0] in live]


def _decided(dfa: DFA, last_symbol: bool) -> str:
    return "yes" if decide(dfa.minimal(), last_symbol=last_symbol).inside else "no"


def _decided_with_positions(dfa: DFA, last_symbol: bool) -> str:
    minimal = dfa.minimal()
    if _decided(minimal, last_symbol) == "yes":
        return "yes"
    if block_obstruction(minimal) is not None:
        return "no"
    return "unknown" if unfold(minimal, last_symbol=last_symbol) is None else "yes"


def without_letter(dfa: DFA, letter: str) -> DFA:
    """The same language over an alphabet without one of the letters.

    Example:
        >>> from weft.automata import expression_dfa
        >>> without_letter(expression_dfa("[abe]*be*"), "a").alphabet
        ('b', 'e')
    """
    kept = [number for number, each in enumerate(dfa.alphabet) if each != letter]
    return DFA(
        tuple(dfa.alphabet[number] for number in kept),
        tuple(tuple(row[number] for number in kept) for row in dfa.transitions),
        dfa.start,
        dfa.accepting,
    )


def with_neutral_letter(dfa: DFA) -> DFA:
    """The language with one more letter, which may stand anywhere and changes nothing.

    Example:
        >>> from weft.automata import expression_dfa
        >>> padded = with_neutral_letter(expression_dfa("ab"))
        >>> padded.accepts((padded.alphabet[-1], "a", padded.alphabet[-1], "b"))
        True
    """
    new = _unused(dfa.alphabet)
    return DFA(
        (*dfa.alphabet, new),
        tuple((*row, state) for state, row in enumerate(dfa.transitions)),
        dfa.start,
        dfa.accepting,
    )


def _unused(letters: Sequence[str]) -> str:
    return next(each for each in ("_", "-", "~", "_neutral_") if each not in letters)
