"""Predictions: which programs training is expected to find.

`predict` asks every theory that applies to a subject: a language, function, program or task.

`length` (Huang et al., 2025): C-RASP says which tasks generalise to longer inputs, with
certificates (docs/length-theory.md). `arithmetic` (Xu et al., 2024): accuracy by number of digits.

`minimal` (ALTA paper, sections 3.2 and 4.1, appendices B.3 and C.2): `minimal_program` keeps the
rules that the training inputs use, `generalises` runs the result on other inputs, `is_minimal` is
the paper's definition 1; `predict_minimal` does the first two in one call.

`optimum` (appendices B.4 to B.8): `is_strict_coordinate_optimum` asks whether training would stay
at the compiled weights.

`extraction` goes the other way: which rules are in trained weights, and how far those weights are
from compiled ones.
"""

from weft.theory.minimal.generalisation import Generalisation, InputOutcome, generalises
from weft.theory.minimal.minimality import Minimality, Offence, is_minimal
from weft.theory.minimal.minimise import Dropped, Minimal, minimal_program
from weft.theory.minimal.observation import Observation, fired_resets, fired_rules, observe
from weft.theory.minimal.prediction import MinimalPrediction, predict_minimal
from weft.theory.minimal.shortening import MinimalForms, minimal_forms, shortened
from weft.theory.optimum.coordinatewise import Optimum, is_strict_coordinate_optimum
from weft.theory.prediction import Prediction, predict

__all__ = [
    "Dropped",
    "Generalisation",
    "InputOutcome",
    "Minimal",
    "MinimalForms",
    "MinimalPrediction",
    "Minimality",
    "Observation",
    "Offence",
    "Optimum",
    "Prediction",
    "fired_resets",
    "fired_rules",
    "generalises",
    "is_minimal",
    "is_strict_coordinate_optimum",
    "minimal_forms",
    "minimal_program",
    "observe",
    "predict",
    "predict_minimal",
    "shortened",
]
