"""Studies: many runs compared.

study          a paper's table as a grid of runs, with our results beside the paper's
verdict        what a program expresses, what theory predicts and what training learned
explain        what the model of one run has learned
run_table      runs as a table, sorted, and grouped with means over seeds
plotting       the style and palette of all figures
"""

from __future__ import annotations

from weft.errors import check_known
from weft.studies.explanation import RuleExplanation, explain, extract_rules
from weft.studies.parity import PARITY
from weft.studies.scan import SCAN
from weft.studies.study import Picture, Row, Scale, Study
from weft.studies.verdicts.stages import Stage
from weft.studies.verdicts.verdict import Verdict, verdict

STUDIES = {study_.name: study_ for study_ in (PARITY, SCAN)}

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
    check_known(name, STUDIES, f"there is no study '{name}'")
    return STUDIES[name]
