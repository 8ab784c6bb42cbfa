"""Studies: the papers' tables and figures as grids of runs, with our figures beside theirs.

And verdicts: what a program can do, what the theory predicts and what was learned, side by side;
and readings: which of a program's rules are in the weights of a run that learned from its traces.
"""

from __future__ import annotations

from weft.errors import WeftError, did_you_mean
from weft.studies.explanation import RuleExplanation, explain, extract_rules
from weft.studies.parity import PARITY
from weft.studies.scan import SCAN
from weft.studies.study import Picture, Row, Scale, Study
from weft.studies.verdicts.stages import Stage
from weft.studies.verdicts.verdict import Verdict, verdict

STUDIES = {one.name: one for one in (PARITY, SCAN)}

__all__ = [
    "STUDIES",
    "Picture",
    "Row",
    "RuleExplanation",
    "Scale",
    "Stage",
    "Study",
    "Verdict",
    "explain",
    "extract_rules",
    "study",
    "verdict",
]


def study(name: str) -> Study:
    """A study by its name.

    Example:
        >>> from weft.studies import study
        >>> study("parity").rows[0].paper["longer"]
        0.6
    """
    if name not in STUDIES:
        remedy = did_you_mean(name, list(STUDIES)).capitalize()
        raise WeftError(f"there is no study '{name}'", remedy=remedy)
    return STUDIES[name]
