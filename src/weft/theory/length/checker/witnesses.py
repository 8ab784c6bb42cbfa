"""Check certificates of length generalisation from the automaton and the certificate alone.

Nothing of the deciders is used. What is checked:

    potentials  in every component of every automaton, weights and potentials agree on every edge,
                and in the end all states have potentials of their own
    unfolding   the same for the automaton with windows and residues: what shares window, residue
                and potentials is one state of the automaton
    flows       every flow carries its units from source to target and uses every label net zero
                times, with labels (class of the source, letter); the flows link two states
    blocks      frame and middles have one length, the frame acts twice as once, and the flows
                hold in the automaton that reads frame, middle, frame as one letter

That a language with potentials is in C-RASP and one with flows is not are theorems
(docs/length-theory.md). The checker establishes their conditions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.automata.dfa import DFA, strong_components
from weft.automata.files import json_automaton
from weft.errors import WeftError

Edge = tuple[Any, int, Any]
"""The source, the index of the letter, the target."""
MAX_UNFOLDED = 1_000_000


@dataclass(frozen=True)
class Checked:
    """What a valid certificate establishes.

    Attributes:
        positions: whether it is about programs with periodic and local predicates.
        inside: whether the language is in the class.
        dfa: the automaton of the question.
        summary: what was checked, in a sentence.
    """

    positions: bool
    inside: bool
    dfa: DFA
    summary: str


class _Invalid(Exception):
    """The certificate does not hold."""


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
    }
    try:
        kind = certificate["kind"]
        if kind not in checks:
            raise _Invalid(f"there is no kind of certificate called {kind!r}")
        dfa = json_automaton(certificate["automaton"])
        return checks[kind](certificate, dfa)
    except _Invalid as error:
        what = str(error)
    except WeftError as error:
        what = error.what
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        what = f"it is malformed ({type(error).__name__}: {error})"
    raise WeftError(
        f"the certificate does not hold: {what}",
        remedy="Make it again with weft predict SUBJECT --out FILE",
    )


def _part(dfa: DFA, letter: Any) -> DFA:
    """The minimal automaton of the language, or of the quotient by a letter."""
    return (dfa.quotient(letter) if letter else dfa).minimal()


def _letters(certificate: Mapping[str, Any], dfa: DFA) -> Sequence[str]:
    wanted = dfa.alphabet if certificate["last_symbol"] is True else ("",)
    if [part["letter"] for part in certificate["parts"]] != list(wanted):
        raise _Invalid("it does not treat every last letter once")
    return wanted


def _check_potentials(certificate: Mapping[str, Any], dfa: DFA) -> Checked:
    components = 0
    for letter, part in zip(_letters(certificate, dfa), certificate["parts"], strict=True):
        minimal = _part(dfa, letter)
        edges: list[Edge] = [
            (q, a, then) for q, row in enumerate(minimal.transitions) for a, then in enumerate(row)
        ]
        given = {frozenset(each["states"]): each for each in part["components"]}
        for states in minimal.components():
            final = _rounds(states, edges, dict.fromkeys(states, ()), given, frozenset(states))
            if len(set(final.values())) < len(states):
                raise _Invalid(f"states {list(states)} are not all separated")
            components += 1
    return Checked(False, True, dfa, f"{components:,} components, all states separated")


def _check_unfolding(certificate: Mapping[str, Any], dfa: DFA) -> Checked:
    period, window = certificate["period"], certificate["window"]
    if not (isinstance(period, int) and isinstance(window, int) and period > 0 <= window):
        raise _Invalid("period and window must be whole numbers")
    components = 0
    for letter, part in zip(_letters(certificate, dfa), certificate["parts"], strict=True):
        minimal = _part(dfa, letter)
        nodes, edges = _unfolded(minimal, period, window)
        number = {node: place for place, node in enumerate(nodes)}
        given = {
            frozenset((q, tuple(seen), place) for q, seen, place in each["states"]): {
                **each,
                "states": [(q, tuple(seen), place) for q, seen, place in each["states"]],
                "rounds": [
                    {
                        **one,
                        "weights": [
                            [(q, tuple(seen), place), a, w]
                            for (q, seen, place), a, w in one["weights"]
                        ],
                    }
                    for one in each["rounds"]
                ],
            }
            for each in part["components"]
        }
        successors: list[set[int]] = [set() for _ in nodes]
        for source, _, target in edges:
            successors[number[source]].add(number[target])
        for members in strong_components(successors):
            states = [nodes[place] for place in members]
            known: dict[Hashable, Hashable] = {node: node[1:] for node in states}
            final = _rounds(states, edges, known, given, frozenset(states))
            if len({(final[node], node[0]) for node in states}) > len(set(final.values())):
                raise _Invalid("two states share a window, a residue and all potentials")
            components += 1
    summary = (
        f"{components:,} components with period {period} and the last {window} symbols, all states "
        "separated"
    )
    return Checked(True, True, dfa, summary)


def _unfolded(
    dfa: DFA, period: int, window: int
) -> tuple[list[tuple[int, tuple[int, ...], int]], list[Edge]]:
    """The states (state, last symbols, residue) that words reach, and the edges between them."""
    nodes: list[tuple[int, tuple[int, ...], int]] = [(dfa.start, (), 0)]
    known = set(nodes)
    edges: list[Edge] = []
    for node in nodes:  # grows while it is read
        state, seen, place = node
        for a, then in enumerate(dfa.transitions[state]):
            last = ((*seen, a))[-window:] if window else ()
            target = (then, last, (place + 1) % period)
            edges.append((node, a, target))
            if target not in known:
                known.add(target)
                nodes.append(target)
        if len(nodes) > MAX_UNFOLDED:
            raise _Invalid(f"the unfolded automaton has more than {MAX_UNFOLDED:,} states")
    return nodes, edges


def _rounds(
    states: Sequence[Any],
    edges: Sequence[Edge],
    known: Mapping[Any, Hashable],
    given: Mapping[frozenset[Any], Mapping[str, Any]],
    key: frozenset[Any],
) -> dict[Any, Hashable]:
    """What the rounds of one component tell of its states, after checking every edge."""
    if key not in given:
        raise _Invalid(f"a component of {len(states)} states is missing")
    inside = [edge for edge in edges if edge[0] in key and edge[2] in key]
    now = dict(known)
    for one in given[key]["rounds"]:
        listed = given[key]["states"]
        rows = one["potentials"]
        if not all(type(n) is int for row in rows for n in row):
            raise _Invalid("potentials must be whole numbers")
        size = len(rows[0])
        potentials = {q: tuple(row) for q, row in zip(listed, rows, strict=True)}
        weights = {(now[member], a): tuple(w) for member, a, w in one["weights"]}
        none = (0,) * size
        for source, a, target in inside:
            weight = weights.get((now[source], a), none)
            steps = zip(potentials[source], weight, potentials[target], strict=True)
            if any(before + step != after for before, step, after in steps):
                raise _Invalid(f"weights and potentials disagree on the edge {source} - {a}")
        now = {q: (now[q], potentials[q]) for q in states}
    return now


def _linked(certificate: Mapping[str, Any], edges: Sequence[tuple[int, int, int]]) -> int:
    """Check flows in a component; gives the number of states that are never separated."""
    blocks: list[list[int]] = certificate["classes"]
    block_of = {state: number for number, block in enumerate(blocks) for state in block}
    if len(block_of) != sum(map(len, blocks)):
        raise _Invalid("the classes overlap")
    allowed = {edge for edge in edges if edge[0] in block_of and edge[2] in block_of}
    joined = {state: state for state in block_of}

    def root(state: int) -> int:
        while joined[state] != state:
            state = joined[state]
        return state

    for flow in certificate["flows"]:
        source, target, units = flow["source"], flow["target"], flow["units"]
        if block_of[source] != block_of[target] or source == target or units == 0:
            raise _Invalid("a flow does not link two states of a class")
        balance: dict[int, int] = {source: units, target: -units}
        labels: dict[tuple[int, int], int] = {}
        for begin, a, end, amount in flow["edges"]:
            if (begin, a, end) not in allowed or type(amount) is not int:
                raise _Invalid(f"a flow uses the edge {begin} - {a} -> {end}, which is not there")
            balance[begin] = balance.get(begin, 0) - amount
            balance[end] = balance.get(end, 0) + amount
            label = (block_of[begin], a)
            labels[label] = labels.get(label, 0) + amount
        if any(balance.values()) or any(labels.values()):
            raise _Invalid(f"the flow from state {source} to state {target} does not balance")
        joined[root(source)] = root(target)
    if any(len({root(state) for state in block}) > 1 for block in blocks):
        raise _Invalid("the flows do not link all states of a class")
    return sum(len(block) for block in blocks if len(block) > 1)


def _check_flows(certificate: Mapping[str, Any], dfa: DFA) -> Checked:
    letter = certificate["letter"]
    if certificate["last_symbol"] is not bool(letter):
        raise _Invalid("with the last symbol, it must name the letter whose quotient fails")
    minimal = _part(dfa, letter)
    states = {state for block in certificate["classes"] for state in block}
    if tuple(sorted(states)) not in minimal.components():
        raise _Invalid("its classes are not those of a component")
    edges = [(q, a, then) for q in states for a, then in enumerate(minimal.transitions[q])]
    count = _linked(certificate, edges)
    if not count:
        raise _Invalid("all classes have one state")
    return Checked(False, False, dfa, f"{count:,} states of one component are never separated")


def _check_blocks(certificate: Mapping[str, Any], dfa: DFA) -> Checked:
    minimal = dfa.minimal()
    frame, middles = certificate["frame"], certificate["middles"]
    if not frame or any(len(word) != len(frame) for word in middles):
        raise _Invalid("frame and middles do not have one length")

    def act(word: Sequence[str]) -> list[int]:
        result = list(range(minimal.size))
        for a in minimal.read_word(word):
            result = [minimal.transitions[q][a] for q in result]
        return result

    framed = act(frame)
    if any(framed[framed[q]] != framed[q] for q in range(minimal.size)):
        raise _Invalid("the frame, read twice, does not act as once")
    moves = [[framed[act(word)[framed[q]]] for q in range(minimal.size)] for word in middles]
    edges = [(q, k, move[q]) for q in sorted(set(framed)) for k, move in enumerate(moves)]
    states = {state for block in certificate["classes"] for state in block}
    if not states <= set(framed):
        raise _Invalid("its classes name states that no frame ends in")
    successors: list[set[int]] = [set() for _ in range(minimal.size)]
    for source, _, target in edges:
        successors[source].add(target)
    if tuple(sorted(states)) not in strong_components(successors):
        raise _Invalid("its classes are not those of a component")
    count = _linked(certificate, edges)
    if not count:
        raise _Invalid("all classes have one state")
    return Checked(True, False, dfa, f"{len(moves):,} blocks; {count:,} states never separated")
