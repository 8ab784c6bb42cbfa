"""How a proof reads."""

from __future__ import annotations

from weft.proofs import Proof, Shown


def test_a_proof_states_its_limits_a_failure_its_reason() -> None:
    proof = Proof(verdict="proved", limits="words of up to 9 symbols")
    assert proof.proved
    assert str(proof) == "proved for words of up to 9 symbols"
    undecided = Proof(verdict="undecided", reason="head 2 compares positions")
    assert not undecided.proved
    assert str(undecided) == "undecided: head 2 compares positions"


def test_a_counterexample_comes_before_the_reason() -> None:
    shown = Shown("on the word 'ab'", "accept", "reject")
    proof = Proof(verdict="wrong", reason="a unit differs", counterexample=shown)
    expected = "on the word 'ab': the weights give accept, the program reject"
    assert str(proof) == f"wrong: {expected} (a unit differs)"
