"""Certificates of regular languages: synthesised programs, their proofs, and the checker."""

from __future__ import annotations

import random
import time

from measure import Figure, seconds
from random_automata import random_dfas, sparse_dfa
from weft.automata.dfa import DFA
from weft.automata.languages import TABLE
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.certificates import (
    block_certificate,
    decision_certificate,
    program_certificate,
    unfolding_certificate,
)
from weft.theory.length.checker.exploration import prove_equal
from weft.theory.length.checker.witnesses import check
from weft.theory.length.decider import Decision, decide
from weft.theory.length.synthesis import synthesise
from weft.theory.length.unfolding import Unfolding, unfold


def figures() -> list[Figure]:
    start = time.perf_counter()
    certified = sum(_certified(dfa) for dfa in random_dfas(2026, 300))
    elapsed = time.perf_counter() - start
    rng = random.Random(0)
    programs = [_timed(dfa) for dfa in (sparse_dfa(rng) for _ in range(300)) if decide(dfa).inside]
    return [
        Figure(
            "the 34 flags of the published table, all certificates checked",
            seconds(_table, 1),
            "s",
            most=30,
        ),
        Figure("300 random automata: proved program or checked witness", certified, least=300),
        Figure("the same", elapsed, "s"),
        Figure(
            f"{len(programs)} sparse automata inside: slowest program and proof",
            max(programs),
            "s",
            most=5,
        ),
        Figure(f"{len(programs)} sparse automata inside: all", sum(programs), "s"),
    ]


def _yes(dfa: DFA, witness: Decision | Unfolding) -> bool:
    """Whether a yes has a program that is proved equal to the automaton."""
    return check(program_certificate(dfa, synthesise(dfa, witness))).inside


def _certified(dfa: DFA) -> bool:
    """Whether the answer without positions has a certificate that is accepted."""
    decision = decide(dfa)
    found = check(decision_certificate(dfa, decision)).inside == decision.inside
    return found and (not decision.inside or _yes(dfa, decision))


def _timed(dfa: DFA) -> float:
    start = time.perf_counter()
    assert prove_equal(dfa, synthesise(dfa, decide(dfa))).status == "proved"
    return time.perf_counter() - start


def _table() -> None:
    for language in TABLE:
        dfa = language.dfa
        decision = decide(dfa)
        assert _certified(dfa)
        assert decision.inside == language.nope
        blocks = None if decision.inside else block_obstruction(dfa)
        if blocks is not None:
            found = check(block_certificate(dfa, blocks))
        else:
            unfolding = unfold(dfa)
            assert unfolding is not None
            assert _yes(dfa, unfolding)
            found = check(unfolding_certificate(dfa, unfolding))
        assert found.inside == language.ape
