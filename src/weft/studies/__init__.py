"""Studies: many runs compared.

arithmetic     which digits and moduli carry over, predicted and measured
length         length generalisation beside the predictions of C-RASP
ptg            program traces: which mechanism survives longer executions
recursion      what is learned of structural recursion, and by which supervision
experiment     studies whose results are more than the accuracies of runs
study          a paper's table as a grid of runs, with our results beside the paper's
verdict        what a program expresses, what theory predicts and what training learned
explain        what the model of one run has learned
run_table      runs as a table, sorted, and grouped with means over seeds
plotting       the style and palette of all figures
"""

from __future__ import annotations

from weft.errors import check_known
from weft.studies.arithmetic.study import ARITHMETIC
from weft.studies.experiment import Experiment, RecordedExperiment
from weft.studies.explanation import RuleExplanation, explain, extract_rules
from weft.studies.length.algorithmic import CRASP_ALGORITHMIC
from weft.studies.length.disputed import CRASP_DISPUTED
from weft.studies.length.formal import CRASP_FORMAL
from weft.studies.length.inference import INFERENCE
from weft.studies.length.position_terms import POSITION_TERMS
from weft.studies.length.variations import CRASP_ENCODINGS, CRASP_OFFSETS, CRASP_PENALTY
from weft.studies.parity import PARITY
from weft.studies.ptg.study import PROGRAM_TRACES
from weft.studies.recursion.study import RECURSION
from weft.studies.scan import SCAN
from weft.studies.study import Picture, Row, Scale, Study
from weft.studies.verdicts.stages import Stage
from weft.studies.verdicts.verdict import Verdict, verdict

LENGTH_STUDIES = (
    CRASP_ALGORITHMIC,
    CRASP_FORMAL,
    CRASP_DISPUTED,
    CRASP_PENALTY,
    CRASP_ENCODINGS,
    CRASP_OFFSETS,
)
"""Studies of length generalisation, whose reports are made from records."""
STUDIES = {study_.name: study_ for study_ in (PARITY, SCAN, *LENGTH_STUDIES)}
RECORDED: dict[str, RecordedExperiment] = {
    ARITHMETIC.name: ARITHMETIC,
    PROGRAM_TRACES.name: PROGRAM_TRACES,
    RECURSION.name: RECURSION,
}
"""Experiments that can report the records of other machines."""
EXPERIMENTS: dict[str, Experiment] = {
    POSITION_TERMS.name: POSITION_TERMS,
    INFERENCE.name: INFERENCE,
    **RECORDED,
}
"""Studies that compute their own cells."""

__all__ = [
    "EXPERIMENTS",
    "LENGTH_STUDIES",
    "RECORDED",
    "STUDIES",
    "Experiment",
    "Picture",
    "RecordedExperiment",
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
