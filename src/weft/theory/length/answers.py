"""Answers of the predictor of length generalisation, as plain values.

A prediction holds two answers: for transformers without positional encoding, predicted by C-RASP
without positions, and for transformers with learned absolute positions, predicted by C-RASP with
periodic and local predicates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Positions = Literal["none", "absolute"]
"""The positional encoding that an answer is about."""
Verdict = Literal["yes", "no", "unknown"]
Support = Literal["proved", "theorem", "checked", "none"]
"""What an answer rests on.

proved   a certificate that `weft predict --check` verifies without the predictor
theorem  a written argument in docs/length-theory.md, with tests of its premises
checked  agreement on words up to a stated length: with a program, with an automaton that was
         learned from answers, or with a language that communication refutes
none     nothing: the answer is unknown
"""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Whether the theory predicts length generalisation, with its reason.

    Attributes:
        positions: the positional encoding.
        verdict: yes, no or unknown.
        support: what the verdict rests on.
        reason: in a sentence.
        details: lines that a reader can check by hand.
        change: what would change the answer.
        program: a C-RASP program that computes the function, as text; empty if there is none.
        checked_to: the length up to which the program was compared on all words; None if it is
            proved, or if there is no program.
        certificate: plain values that the checker verifies; None if there is none.
    """

    positions: Positions
    verdict: Verdict
    support: Support
    reason: str
    details: tuple[str, ...] = ()
    change: str = ""
    program: str = ""
    checked_to: int | None = None
    certificate: Mapping[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """The answer for JSON."""
        return {**vars(self), "details": list(self.details)}
