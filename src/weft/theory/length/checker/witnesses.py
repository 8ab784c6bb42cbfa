"""Check certificates of length generalisation from the automaton and the certificate alone.

Nothing of the deciders or of the synthesis is used. What is checked:

    potentials  in every component of every automaton, weights and potentials agree on every edge,
                and in the end all states have potentials of their own
    unfolding   the same for the automaton with windows and residues: what shares window, residue
                and potentials is one state of the automaton
    flows       every flow carries its units from source to target and uses every label net zero
                times, with labels (class of the source, letter); the flows link two states
    blocks      frame and middles have one length, the frame acts twice as once, and the flows
                hold in the automaton that reads frame, middle, frame as one letter
    program     a program accepts exactly the words that the automaton accepts (see `exploration`)

That a language with potentials is in C-RASP and one with flows is not are theorems
(docs/length-theory.md). The checker establishes their conditions. A certificate may hold anything:
each check is bounded, and what is not a valid certificate is a `WeftError`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from weft.automata.dfa import DFA
from weft.automata.files import json_automaton
from weft.crasp.expressions import Counting, Exists, Name, Previous, Symbol, operands
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.parser import parse
from weft.errors import WeftError
from weft.theory.length.checker.exploration import prove_equal
from weft.theory.length.checker.flows import block_edges, letter_edges, linked_states, read_classes
from weft.theory.length.checker.potentials import (
    node_reader,
    separated_components,
    state_reader,
    unfolded,
)
from weft.theory.length.checker.reading import (
    Budget,
    Invalid,
    bool_field,
    field,
    integer_field,
    list_field,
    text_field,
)

MAX_STATES = 2_000
"""States of the automaton of a certificate, at most."""
MAX_TEXT = 100_000
"""Characters of a program, at most."""
MAX_MESSAGE = 400
"""Characters of an error's text, at most; it may quote what the certificate holds."""


@dataclass(frozen=True)
class Checked:
    """What a valid certificate establishes.

    Attributes:
        positions: whether it is about programs with periodic and local predicates.
        inside: whether the language is in the class.
        dfa: the automaton of the question.
        summary: what was checked, in a sentence.
        last_symbol: whether it is about programs that may read the last symbol. A no about programs
            that may not leaves open whether one that may exists; a program that does not read it
            answers yes for both.
    """

    positions: bool
    inside: bool
    dfa: DFA
    summary: str
    last_symbol: bool = True


def check(certificate: Any) -> Checked:
    """Check a certificate, or raise a `WeftError` that says what does not hold.

    Args:
        certificate: the plain values of a certificate.

    Example:
        >>> from weft.automata import expression_dfa
        >>> from weft.theory.length.certificates import decision_certificate
        >>> from weft.theory.length.decider import decide
        >>> dfa = expression_dfa("(b|aa)*")
        >>> check(decision_certificate(dfa, decide(dfa))).inside
        False
    """
    checks = {
        "potentials": _check_potentials,
        "unfolding": _check_unfolding,
        "flows": _check_flows,
        "blocks": _check_blocks,
        "program": _check_program,
    }
    try:
        kind = text_field(certificate, "kind")
        if kind not in checks:
            raise Invalid(f"there is no kind of certificate called {kind[:40]!r}")
        dfa = json_automaton(field(certificate, "automaton"))
        if dfa.size > MAX_STATES:
            raise Invalid(f"its automaton has more than {MAX_STATES:,} states")
        return checks[kind](certificate, dfa, Budget())
    except Invalid as error:
        what = str(error)
    except WeftError as error:
        what = error.what
    except (TypeError, ValueError, RecursionError) as error:  # in the automaton, deeply nested
        what = f"it is malformed ({type(error).__name__}: {error})"
    if len(what) > MAX_MESSAGE:
        what = what[:MAX_MESSAGE] + " ..."
    raise WeftError(
        f"the certificate does not hold: {what}",
        remedy="Make it again with weft predict SUBJECT --out FILE",
    )


def _minimal(dfa: DFA, budget: Budget) -> DFA:
    budget.spend(dfa.size * dfa.size * len(dfa.alphabet) // 10)
    return dfa.minimal()


def _parts(certificate: Any, dfa: DFA, budget: Budget) -> Iterator[tuple[DFA, Any]]:
    """The minimal automaton and the witness of each part.

    With the last symbol there is one part for every letter, the quotient by it; without, one.
    """
    parts = list_field(certificate, "parts")
    wanted = dfa.alphabet if bool_field(certificate, "last_symbol") else ("",)
    if [text_field(part, "letter") for part in parts] != list(wanted):
        raise Invalid("it does not treat every last letter once")
    minimal = _minimal(dfa, budget)
    budget.spend(len(parts) * minimal.size * len(dfa.alphabet))
    quotients: dict[frozenset[int], DFA] = {}
    for letter, part in zip(wanted, parts, strict=True):
        yield (_quotient(minimal, letter, quotients, budget) if letter else minimal), part


def _quotient(minimal: DFA, letter: str, known: dict[frozenset[int], DFA], budget: Budget) -> DFA:
    """The minimal automaton of the words that are accepted if a letter follows."""
    (index,) = minimal.read_word((letter,))
    budget.spend(minimal.size)
    accepting = frozenset(
        state for state, row in enumerate(minimal.transitions) if row[index] in minimal.accepting
    )
    if accepting not in known:
        before = DFA(minimal.alphabet, minimal.transitions, minimal.start, accepting)
        known[accepting] = _minimal(before, budget)
    return known[accepting]


def _check_potentials(certificate: Any, dfa: DFA, budget: Budget) -> Checked:
    components = 0
    for minimal, part in _parts(certificate, dfa, budget):
        components += separated_components(
            minimal.transitions,
            known=[None] * minimal.size,
            kinds=range(minimal.size),
            components=field(part, "components"),
            state_of=state_reader(minimal.size),
            budget=budget,
        )
    summary = f"{components:,} components, all states separated"
    return Checked(False, True, dfa, summary, bool_field(certificate, "last_symbol"))


def _check_unfolding(certificate: Any, dfa: DFA, budget: Budget) -> Checked:
    period, window = integer_field(certificate, "period"), integer_field(certificate, "window")
    components = 0
    for minimal, part in _parts(certificate, dfa, budget):
        nodes, rows = unfolded(minimal.transitions, minimal.start, period, window, budget)
        components += separated_components(
            rows,
            known=[(seen, place) for _, seen, place in nodes],
            kinds=[state for state, _, _ in nodes],
            components=field(part, "components"),
            state_of=node_reader(nodes),
            budget=budget,
        )
    summary = (
        f"{components:,} components with period {period} and the last {window} symbols, all states "
        "separated"
    )
    return Checked(True, True, dfa, summary, bool_field(certificate, "last_symbol"))


def _check_flows(certificate: Any, dfa: DFA, budget: Budget) -> Checked:
    letter, last_symbol = text_field(certificate, "letter"), bool_field(certificate, "last_symbol")
    if last_symbol is not bool(letter):
        raise Invalid("with the last symbol, it must name the letter whose quotient fails")
    minimal = _minimal(dfa, budget)
    if letter:
        minimal = _quotient(minimal, letter, {}, budget)
    classes = read_classes(certificate)
    count = linked_states(certificate, classes, letter_edges(minimal, classes), budget)
    summary = f"{count:,} states of one component are never separated"
    return Checked(False, False, dfa, summary, last_symbol)


def _check_blocks(certificate: Any, dfa: DFA, budget: Budget) -> Checked:
    minimal = _minimal(dfa, budget)
    classes = read_classes(certificate)
    edges, blocks = block_edges(certificate, minimal, classes, budget)
    count = linked_states(certificate, classes, edges, budget)
    return Checked(True, False, dfa, f"{blocks:,} blocks; {count:,} states never separated")


def _check_program(certificate: Any, dfa: DFA, budget: Budget) -> Checked:
    text = text_field(certificate, "program")
    if len(text) > MAX_TEXT:
        raise Invalid(f"its program has more than {MAX_TEXT:,} characters")
    program = parse(text)
    result = prove_equal(dfa, program)
    if result.status != "proved":
        raise Invalid(result.reason)
    positions = bool(program.periodics or program.locals)
    summary = f"the program is {result.reason}"
    return Checked(positions, True, dfa, summary, _reads_last_symbol(program))


def _reads_last_symbol(program: CraspProgram) -> bool:
    """Whether acceptance reads the last symbols other than by counts over all positions."""
    seen: set[str] = {program.accepting}
    waiting = [program.expressions[program.accepting]]
    while waiting:
        match expression := waiting.pop():
            case Counting(_, None) | Exists(_, None):
                continue
            case Symbol() | Previous() | Counting() | Exists():
                return True
            case Name(name):
                if name not in seen:
                    seen.add(name)
                    waiting.append(program.expressions[name])
            case _:
                waiting.extend(operands(expression))
    return False
