"""Files of certificates: what `weft predict --out` writes and `weft predict --check` verifies.

Checking uses the checker alone. Beside each certificate it compares what the file claims: the
verdict, the positional encoding and the automaton of the question.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.automata import DFA
from weft.automata.files import json_automaton
from weft.errors import WeftError
from weft.files import read_json, write_json
from weft.theory.length.checker.witnesses import Checked, check
from weft.theory.length.prediction import MEMBERSHIP, LengthPrediction
from weft.theory.subjects import Subject

FORMAT = 1
REMEDY = "Make it again with weft predict SUBJECT --out FILE"


@dataclass(frozen=True, kw_only=True)
class CheckedAnswer:
    """One answer of a file.

    Attributes:
        question: what is asked.
        positions: the positional encoding.
        verdict: the answer.
        holds: whether the certificate establishes it; None if the answer has no certificate, or one
            for an automaton that only agrees with the subject as far as the answer says.
        summary: what was checked, or what does not hold.
    """

    question: str
    positions: str
    verdict: str
    holds: bool | None
    summary: str


def write_certificates(path: Path, subject: Subject, prediction: LengthPrediction) -> None:
    """Write a prediction with its certificates as JSON."""
    write_json(
        path,
        {
            "format": FORMAT,
            "subject": subject.name,
            "description": subject.description,
            **prediction.as_dict(),
        },
    )


def check_certificates(path: Path, expected: DFA | None = None) -> list[CheckedAnswer]:
    """Check every answer of a file that `write_certificates` wrote.

    Args:
        path: the file.
        expected: the automaton that the answers must be about; by default that of the file.

    Raises:
        WeftError: if the file does not hold a prediction, or is about another language.
    """
    data = read_json(path, REMEDY)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise WeftError(f"{path} does not hold a prediction of weft predict", remedy=REMEDY)
    try:
        claims = [
            (str(reading["question"]), positions, reading[positions])
            for reading in data["readings"]
            for positions in ("none", "absolute")
        ]
        dfa = None if data["automaton"] is None else json_automaton(data["automaton"])
        last_symbol = data["last_symbol"] is True
        result = [
            _checked(question, positions, claim, dfa, last_symbol)
            for question, positions, claim in claims
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise WeftError(
            f"{path} is incomplete ({type(error).__name__}: {error})", remedy=REMEDY
        ) from None
    if not result:
        raise WeftError(f"{path} holds no answers", remedy=REMEDY)
    if expected is not None:
        _compare(path, dfa, expected)
    return result


def _compare(path: Path, dfa: DFA | None, expected: DFA) -> None:
    if dfa is None:
        raise WeftError(f"{path} is not about a regular language", remedy=REMEDY)
    if set(dfa.alphabet) != set(expected.alphabet):
        raise WeftError(
            f"{path} is about the alphabet {' '.join(dfa.alphabet)}, "
            f"not {' '.join(expected.alphabet)}",
            remedy=REMEDY,
        )
    if (word := _reordered(dfa, expected.alphabet).difference(expected)) is not None:
        raise WeftError(
            f"{path} is about another language: they differ on {word or 'the empty word'}",
            remedy=REMEDY,
        )


def _reordered(dfa: DFA, alphabet: tuple[str, ...]) -> DFA:
    """The same automaton with its letters in another order."""
    columns = [dfa.alphabet.index(letter) for letter in alphabet]
    rows = tuple(tuple(row[column] for column in columns) for row in dfa.transitions)
    return DFA(alphabet, rows, dfa.start, dfa.accepting)


def _checked(
    question: str,
    positions: str,
    claim: Mapping[str, Any],
    dfa: DFA | None,
    last_symbol: bool,
) -> CheckedAnswer:
    verdict, support = str(claim["verdict"]), claim["support"]
    certificate = claim["certificate"]
    holds: bool | None
    if certificate is None:
        holds, summary = None, UNCHECKED.get(support, "there is nothing to check")
        if support == "proved":
            holds, summary = False, "the file claims a proof, but the answer has no certificate"
    else:
        try:
            found = check(certificate)
        except WeftError as error:
            holds, summary = False, error.what
        else:
            wrong = _mismatch(found, question, positions, verdict, dfa, last_symbol)
            holds, summary = not wrong, wrong or found.summary
            if not wrong and dfa is None:
                holds, summary = _of_an_agreeing_automaton(found, support)
    return CheckedAnswer(
        question=question, positions=positions, verdict=verdict, holds=holds, summary=summary
    )


UNCHECKED = {
    "theorem": "no certificate that a machine can check; docs/length-theory.md has the argument",
    "checked": "no certificate; the answer rests on the words that were tried",
}
"""By what an answer rests on, what is said if it has no certificate."""


def _of_an_agreeing_automaton(found: Checked, support: object) -> tuple[bool | None, str]:
    """What a valid certificate says if the subject is a function, a program or a task."""
    if support == "proved":
        return False, "the file claims a proof, but is not about a regular language"
    states = f"{found.dfa.size} state{'s' * (found.dfa.size > 1)}"
    return None, (
        f"the certificate holds for an automaton of {states}; whether the subject is its language "
        "cannot be checked"
    )


def _mismatch(
    found: Checked,
    question: str,
    positions: str,
    verdict: str,
    dfa: DFA | None,
    last_symbol: bool,
) -> str:
    """Why a valid certificate does not establish a claim; empty if it does.

    Without an automaton in the file, what the certificate says of its own is compared.
    """
    if question != (MEMBERSHIP if dfa else ""):
        return f"the certificate is about membership, but the file claims {question or 'more'}"
    if verdict not in ("yes", "no") or found.inside != (verdict == "yes"):
        shown = "yes" if found.inside else "no"
        return f"the certificate shows a {shown}, but the file claims {verdict}"
    if found.inside and found.positions and positions == "none":
        return "the certificate uses positions, but the file claims an answer without them"
    if not found.inside and not found.positions and positions == "absolute":
        return "the certificate is about programs without positions, but the file claims more"
    if dfa is None:
        return ""
    if found.dfa.alphabet != dfa.alphabet or found.dfa.difference(dfa) is not None:
        return "the certificate is about another language than the file"
    if (
        positions == "none"
        and found.last_symbol != last_symbol
        and found.inside == found.last_symbol
    ):
        may = ("may not", "may")
        return (
            f"the certificate is about programs that {may[found.last_symbol]} read the last "
            f"symbol, but the file is about programs that {may[last_symbol]}"
        )
    return ""
