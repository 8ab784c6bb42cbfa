"""Predictions: which programs training can find.

Minimality (ALTA paper, sections 3.2 and 4.1, appendices B.3 and C.2): `minimal` leaves of a program
what some inputs used, `generalises` asks what that is worth on others, `is_minimal` is the paper's
definition 1.
"""

from weft.theory.antecedents import Forms, minimal_forms, shortened
from weft.theory.definition import Minimality, Offence, is_minimal
from weft.theory.fired import fired_resets, fired_rules
from weft.theory.firing import Used, observe
from weft.theory.generalising import Generalisation, Outcome, generalises
from weft.theory.minimising import Dropped, Minimal, minimal

__all__ = [
    "Dropped",
    "Forms",
    "Generalisation",
    "Minimal",
    "Minimality",
    "Offence",
    "Outcome",
    "Used",
    "fired_resets",
    "fired_rules",
    "generalises",
    "is_minimal",
    "minimal",
    "minimal_forms",
    "observe",
    "shortened",
]
