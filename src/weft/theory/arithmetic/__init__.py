"""Arithmetic: what a model that is trained on short numbers does on long ones, in advance.

    prediction   the accuracy at every length, with the reason
    accuracy     what a prediction says, as plain values
    counting     exact accuracy of an operation on the last n digits
    products     residues of products: exact, and the product over prime powers
    coverage     which digit and carry patterns a training set exercises
    encodings    what is claimed about each positional encoding and layout
    sentences    a prediction in words and as a table

docs/arithmetic.md states and derives the theory (Xu et al. 2025).
"""

from weft.theory.arithmetic.accuracy import (
    AccuracyRange,
    ArithmeticPrediction,
    LengthPrediction,
)
from weft.theory.arithmetic.counting import Distribution, Truncation, reduced_modulus
from weft.theory.arithmetic.coverage import Patterns, patterns
from weft.theory.arithmetic.encodings import ENCODINGS
from weft.theory.arithmetic.prediction import predict_arithmetic
from weft.theory.arithmetic.products import product_over_primes
from weft.theory.arithmetic.sentences import sentences, table_rows

__all__ = [
    "ENCODINGS",
    "AccuracyRange",
    "ArithmeticPrediction",
    "Distribution",
    "LengthPrediction",
    "Patterns",
    "Truncation",
    "patterns",
    "predict_arithmetic",
    "product_over_primes",
    "reduced_modulus",
    "sentences",
    "table_rows",
]
