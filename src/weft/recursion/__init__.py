"""Structural recursion: inductive types, functions by equations, and their reduction.

Inductive, Symbols          base classes of types; constructors are subclasses of their type
recursive, table            define a function by equations, checked
definition, DEFINITIONS     functions by name, of the library or in a file
Notation, parse_term, ...   terms as sequences of tokens, and back
reduce, unroll, ...         delta, beta and iota steps, in rounds
steps, trace_lines, ...     their traces as text and as JSON
evaluate, measure           values and recursion depths, compiled and without a limit of depth
TermSampler, InputSampler   terms by size, height and shape; arguments by recursion depth
"""

from weft.recursion.definitions import DEFINITIONS, definition, definition_name
from weft.recursion.evaluation import (
    Measure,
    evaluate,
    measure,
    recursion_depth,
)
from weft.recursion.expressions import Call, Open, Term
from weft.recursion.function import Equation, Function, recursive
from weft.recursion.inductive import Inductive, Symbols
from weft.recursion.notation import Notation, encode_term, show_term
from weft.recursion.reading import decode_term, decode_terms, parse_term
from weft.recursion.reduction import (
    Reduction,
    combination,
    next_term,
    normal_form,
    reduce,
    unroll,
)
from weft.recursion.rounds import Reduct, Round, iterate
from weft.recursion.sampling import InputSampler, TermSampler
from weft.recursion.tables import table
from weft.recursion.terms import height, size
from weft.recursion.trace import Step, reduction_json, steps, trace_lines, trace_texts
from weft.recursion.vocabulary import vocabulary

__all__ = [
    "DEFINITIONS",
    "Call",
    "Equation",
    "Function",
    "Inductive",
    "InputSampler",
    "Measure",
    "Notation",
    "Open",
    "Reduct",
    "Reduction",
    "Round",
    "Step",
    "Symbols",
    "Term",
    "TermSampler",
    "combination",
    "decode_term",
    "decode_terms",
    "definition",
    "definition_name",
    "encode_term",
    "evaluate",
    "height",
    "iterate",
    "measure",
    "next_term",
    "normal_form",
    "parse_term",
    "recursion_depth",
    "recursive",
    "reduce",
    "reduction_json",
    "show_term",
    "size",
    "steps",
    "table",
    "trace_lines",
    "trace_texts",
    "unroll",
    "vocabulary",
]
