"""Structural recursion: inductive types, functions by equations, and their reduction.

Inductive, Symbols          base classes of types; constructors are subclasses of their type
recursive, table            define a function by equations, checked
definition, DEFINITIONS     functions by name, of the library or in a file
Notation, parse_term, ...   terms as sequences of tokens, and back
reduce, unroll, ...         delta, beta and iota steps, in rounds
evaluate, recursion_depth   values and measures, compiled and without a limit of depth
"""

from weft.recursion.definition import table
from weft.recursion.definitions import DEFINITIONS, definition, definition_name
from weft.recursion.evaluation import equations_applied, evaluate, recursion_depth
from weft.recursion.expressions import Call, Open, Term
from weft.recursion.function import Equation, Function, recursive
from weft.recursion.inductive import Inductive, Symbols, height, size
from weft.recursion.notation import (
    Notation,
    decode_term,
    decode_terms,
    encode_term,
    parse_term,
    show_term,
)
from weft.recursion.reduction import (
    Reduct,
    Reduction,
    Round,
    iterate,
    normal_form,
    reduce,
    unroll,
)
from weft.recursion.sampling import InputSampler, TermSampler

__all__ = [
    "DEFINITIONS",
    "Call",
    "Equation",
    "Function",
    "Inductive",
    "InputSampler",
    "Notation",
    "Open",
    "Reduct",
    "Reduction",
    "Round",
    "Symbols",
    "Term",
    "TermSampler",
    "decode_term",
    "decode_terms",
    "definition",
    "definition_name",
    "encode_term",
    "equations_applied",
    "evaluate",
    "height",
    "iterate",
    "normal_form",
    "parse_term",
    "recursion_depth",
    "recursive",
    "reduce",
    "show_term",
    "size",
    "table",
    "unroll",
]
