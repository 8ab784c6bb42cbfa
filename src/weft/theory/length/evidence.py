"""Evidence by communication for what a prediction is about.

`communication_of` counts how many different first halves there are, as the second halves see them;
`protocol_of` runs the protocol by which the first half of any input of a C-RASP program is told in
C log N bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.crasp.program import CraspProgram
from weft.crasp.reference import run as run_crasp
from weft.errors import WeftError
from weft.theory.length.communication import CommunicationEvidence, communication
from weft.theory.length.protocol import ProtocolReport, protocol
from weft.theory.subjects import Subject

LONGEST = 10
"""The longest half of a table."""
ENTRIES, ENTRIES_OF_PROGRAM = 2**20, 2**12
"""At most so many words of the longest length; a C-RASP program takes about 1 ms for each."""


@dataclass(frozen=True)
class CommunicationTable:
    """Communication evidence about a subject; `str` shows it as text.

    Attributes:
        evidence: the label and the table.
    """

    evidence: CommunicationEvidence

    def __str__(self) -> str:
        found = self.evidence
        lines = [f"communication: {found.label} ({found.reason})"]
        lines.append("  N     rows  bits")
        for row in found.table:
            sampled = "" if row.exhaustive else "  at least (sampled)"
            lines.append(f"  {row.length:<3}{row.rows:>7,}{row.bits:>6}{sampled}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The evidence for JSON."""
        found = self.evidence
        return {
            "label": found.label,
            "reason": found.reason,
            "growth": found.growth,
            "table": [
                {"length": row.length, "rows": row.rows, "exhaustive": row.exhaustive}
                for row in found.table
            ],
        }


@dataclass(frozen=True)
class ProtocolTable:
    """The protocol of a C-RASP program; `str` shows it as text.

    Attributes:
        report: what was measured.
    """

    report: ProtocolReport

    def __str__(self) -> str:
        return f"protocol, Alice to Bob\n{self.report}"

    def as_dict(self) -> dict[str, Any]:
        """The report for JSON."""
        report = self.report
        return {
            "exact": report.exact,
            "factor": report.cost.factor,
            "limit_factor": report.limit_cost and report.limit_cost.factor,
            "period": report.period,
            "reach": report.reach,
            "rows": [vars(row) for row in report.rows],
        }


def communication_of(subject: Subject) -> CommunicationTable:
    """The communication table of a subject that accepts or rejects words.

    Example:
        >>> from weft.theory.subjects import read_subject
        >>> print(communication_of(read_subject("(aa)*")))  # doctest: +ELLIPSIS
        communication: consistent (measured constant to N = ...
    """
    function, program = _function(subject)
    longest = LONGEST
    entries = ENTRIES if program is None else ENTRIES_OF_PROGRAM
    while len(subject.alphabet) ** (2 * longest) > entries and longest > 2:
        longest -= 1
    return CommunicationTable(
        communication(function, subject.alphabet, max_length=longest, program=program)
    )


def _function(subject: Subject) -> tuple[Callable[..., object], CraspProgram | None]:
    """The function of words behind a subject, and its program if it is one."""
    value = subject.value
    match subject.kind:
        case "language":
            return value.accepts, None
        case "function":
            return value, None
        case "C-RASP program" if not value.next_symbols:
            return lambda word: run_crasp(value, tuple(word)).accepted, value
    raise WeftError(
        f"{subject.name} does not accept or reject words, so it has no communication table",
        remedy="Give a language, a function or an accepting C-RASP program",
    )


def protocol_of(subject: Subject) -> ProtocolTable:
    """The protocol of a C-RASP program.

    Example:
        >>> from weft.theory.subjects import read_subject
        >>> protocol_of(read_subject("crasp:majority")).report.exact
        True
    """
    if subject.kind != "C-RASP program":
        raise WeftError(
            f"{subject.name} is a {subject.kind}, and the protocol is that of a C-RASP program",
            remedy="Give one, as in weft predict crasp:dyck-1 --protocol",
        )
    return ProtocolTable(protocol(subject.value))
