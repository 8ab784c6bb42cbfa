"""Predictions: which programs training can find.

Minimality (ALTA paper, sections 3.2 and 4.1, appendices B.3 and C.2): `minimal` leaves of a program
what some inputs used, `generalises` asks what that is worth on others, `is_minimal` is the paper's
definition 1.

Optimality (appendix B.4 to B.8): `is_strict_coordinate_optimum` asks whether training would stay at
compiled weights. `weft.theory.reading` and `weft.theory.reading_distance` go the other way: which
rules are in weights that were trained, and how far those are from compiled ones.
"""

from weft.theory.antecedents import Forms, minimal_forms, shortened
from weft.theory.definition import Minimality, Offence, is_minimal
from weft.theory.fired import fired_resets, fired_rules
from weft.theory.firing import Used, observe
from weft.theory.generalising import Generalisation, Outcome, generalises
from weft.theory.minimising import Dropped, Minimal, minimal
from weft.theory.optimum import Optimum, is_strict_coordinate_optimum

__all__ = [
    "Dropped",
    "Forms",
    "Generalisation",
    "Minimal",
    "Minimality",
    "Offence",
    "Optimum",
    "Outcome",
    "Used",
    "fired_resets",
    "fired_rules",
    "generalises",
    "is_minimal",
    "is_strict_coordinate_optimum",
    "minimal",
    "minimal_forms",
    "observe",
    "shortened",
]
