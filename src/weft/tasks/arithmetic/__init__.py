"""Arithmetic in any base: numbers written digit by digit, on the domains of Xu et al. (2025).

domains       D_n, D~_n and mixtures, with exact probabilities
sampling      drawing operands from them
operations    what each operation computes and carries
notation      how questions and answers are written and read
splits        splits by digit count, and gaps in training
arithmetic    the base class: drawing, what is held out, the truncated function
tasks         the tasks
tokens        modular operations with one token per number
scores        a model's outputs against the truth and the truncated function, by digit
"""

from weft.tasks.arithmetic.arithmetic import Arithmetic
from weft.tasks.arithmetic.scores import (
    LengthScores,
    OutputScores,
    answers_of,
    outputs_of,
    score_outputs,
)
from weft.tasks.arithmetic.tasks import (
    Addition,
    ModularAddition,
    ModularMultiplication,
    Multiplication,
    MultiplyAdd,
    Subtraction,
    SumOfThree,
)

__all__ = [
    "Addition",
    "Arithmetic",
    "LengthScores",
    "ModularAddition",
    "ModularMultiplication",
    "Multiplication",
    "MultiplyAdd",
    "OutputScores",
    "Subtraction",
    "SumOfThree",
    "answers_of",
    "outputs_of",
    "score_outputs",
]
