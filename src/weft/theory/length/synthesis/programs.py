"""Write a C-RASP program for a regular language that the deciders found to be inside.

A program either follows the automaton of the language and accepts by the state after the word, or
it follows, for every letter a, the automaton of the words u such that ua is in the language, and
accepts by the last letter and the state before it. The first is tried first, since one automaton
needs fewer lines than several.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from string import ascii_lowercase

from weft.automata.dfa import DFA
from weft.crasp.analysis.measures import size
from weft.crasp.expressions import Comparison, Counting, Expression, Integer, Name, Symbol, walk
from weft.crasp.program import CraspProgram, Line
from weft.errors import WeftError
from weft.theory.length.decider import Decision
from weft.theory.length.synthesis.formulas import FALSE, TRUE, conjunction, disjunction
from weft.theory.length.synthesis.pieces import Pieces, cut
from weft.theory.length.synthesis.writer import Writer
from weft.theory.length.unfolding import Unfolding

MAX_STEPS = 20_000
"""Edges of the automata that a program follows, at most: states times letters, of all together."""


def synthesise(
    dfa: DFA, witness: Decision | Unfolding, *, name: str = "", about: str = ""
) -> CraspProgram:
    """The C-RASP program for a language that a decider found to be inside.

    Args:
        dfa: the automaton of the language.
        witness: the decision without positions, or the unfolding, of this automaton. The program
            reads the position modulo the unfolding's period and as many earlier letters as its
            window has, and counts the rest.
        name: what the program is called.
        about: its idea.

    Raises:
        WeftError: if the decision is a no, or if the program would be too large to write.

    Example:
        >>> from weft.automata import expression_dfa
        >>> from weft.theory.length.decider import decide
        >>> dfa = expression_dfa("(ab)*")
        >>> print(synthesise(dfa, decide(dfa)))
        alphabet a b
        balance_1 := #[j <= i] Q_a(j) - #[j <= i] Q_b(j)
        exit_1 := Q_a and balance_1 == 2 or Q_b and balance_1 == -1
        accept := #[j <= i] exit_1(j) == 0 and balance_1 == 0
    """
    if isinstance(witness, Decision) and not witness.inside:
        raise WeftError(
            "there is no C-RASP program without positions for this language",
            remedy="Give a decision that is a yes, or an unfolding",
        )
    period, window = (witness.period, witness.window) if isinstance(witness, Unfolding) else (1, 0)
    minimal = dfa.minimal()
    candidates = _programs([("", minimal)], minimal, period, window)
    if not candidates and witness.last_symbol:
        parts = [(letter, minimal.quotient(letter)) for letter in dfa.alphabet]
        candidates = _programs(parts, minimal, period, window)
    if not candidates:
        raise WeftError("the witness is not one of this automaton")
    best = min(candidates, key=lambda program: (size(program), len(program.lines)))
    return replace(best, name=name, about=about)


def _programs(
    parts: Sequence[tuple[str, DFA]], dfa: DFA, period: int, window: int
) -> list[CraspProgram]:
    """Programs that accept by the states after the word, or before its last letter.

    Args:
        parts: automata, each with the last letter at which its state is asked for; with no letter,
            the state after the word is.
        dfa: the automaton of the language.
        period: of the positions.
        window: the number of letters that are read.

    Returns:
        A program that names the states that accept and one that names the others; none if
        potentials do not tell the states of some automaton apart.
    """
    pieces: dict[DFA, Pieces] = {}
    for automaton in dict.fromkeys(automaton for _, automaton in parts):
        found = cut(automaton, period, window)
        if found is None:
            return []
        pieces[automaton] = found
    steps = sum(each.automaton.dfa.size for each in pieces.values()) * len(dfa.alphabet)
    if steps > MAX_STEPS:
        raise WeftError(
            f"the program would follow {steps:,} steps of automata; at most {MAX_STEPS:,} are "
            "written out",
            remedy="The potentials themselves are a certificate",
        )
    programs = []
    for negative in (False, True):
        lines: dict[str, Expression] = {}
        writers: dict[DFA, Writer] = {}
        options: list[Expression] = []
        for letter, automaton in parts:
            if automaton not in writers:
                suffix = _suffix(len(writers)) if letter else ""
                writers[automaton] = Writer(pieces[automaton], lines, suffix)
            writer = writers[automaton]
            if letter:
                before = writer.before(dfa.alphabet.index(letter), negative)
                options.append(conjunction([Symbol(letter), before]))
            else:
                options.append(writer.after(negative))
        if parts[0][0] and dfa.start in dfa.accepting:
            options.insert(0, Comparison("==", Counting(TRUE), Integer(0)))
        written = [Line(line, expression) for line, expression in lines.items()]
        accept = disjunction(options) if options else FALSE
        program = CraspProgram(dfa.alphabet, (*written, Line("accept", accept)))
        programs.append(_without_dead_lines(program))
    return programs


def _suffix(number: int) -> str:
    """What the names of the lines for one automaton of several end in: a to z, then a1, b1, ..."""
    letters = len(ascii_lowercase)
    return ascii_lowercase[number % letters] + (str(number // letters) if number >= letters else "")


def _without_dead_lines(program: CraspProgram) -> CraspProgram:
    """A program with the lines that its last one uses."""
    live: set[str] = set()
    waiting = ["accept"]
    while waiting:
        line = waiting.pop()
        if line not in live:
            live.add(line)
            inside = walk(program.expressions[line])
            waiting += [part.name for part in inside if isinstance(part, Name)]
    return replace(program, lines=tuple(line for line in program.lines if line.name in live))
