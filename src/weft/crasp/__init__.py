"""C-RASP[periodic, local], the programming language of counting transformers.

`expressions` and `program` say what a program is, `reference` what it means. Around them:

    syntax/       text and Python: grammar, parser, printer, builder, predicates
    batched       many words at once
    library/      the programs
    analysis/     measures, simplification, equality
    limit/        normal form, schedule, units: a program as a limit transformer
    construction  a limit transformer as the weights of a Transformer; layernorm: another way
    proof/        the verifier of those weights
    bridge/       C-RASP programs as Weft programs

What needs NumPy is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.loading import load
from weft.crasp.program import CraspProgram, Line
from weft.crasp.reference import CraspRun, run
from weft.crasp.syntax.builder import (
    Boolean,
    Count,
    CraspBuilder,
    all_of,
    any_of,
    count,
    exists,
    if_else,
    maximum,
    minimum,
    mod,
    position,
    previous,
    symbol,
)
from weft.crasp.syntax.parser import parse, read
from weft.crasp.syntax.predicates import check_local, check_periodic, local, periodic

if TYPE_CHECKING:
    from weft.crasp.analysis.equivalence import equal
    from weft.crasp.analysis.measures import Measures, measure
    from weft.crasp.analysis.simplification import simplify
    from weft.crasp.batched import BatchRun, run_batch

_HOME_OF = {
    "BatchRun": "weft.crasp.batched",
    "Measures": "weft.crasp.analysis.measures",
    "equal": "weft.crasp.analysis.equivalence",
    "measure": "weft.crasp.analysis.measures",
    "run_batch": "weft.crasp.batched",
    "simplify": "weft.crasp.analysis.simplification",
}

__all__ = [
    "Add",
    "And",
    "BatchRun",
    "Boolean",
    "Comparison",
    "Conditional",
    "Constant",
    "Count",
    "Counting",
    "CraspBuilder",
    "CraspProgram",
    "CraspRun",
    "Exists",
    "Expression",
    "Integer",
    "Line",
    "Local",
    "Maximum",
    "Measures",
    "Minimum",
    "Name",
    "Not",
    "Or",
    "Periodic",
    "Position",
    "Previous",
    "Subtract",
    "Symbol",
    "all_of",
    "any_of",
    "check_local",
    "check_periodic",
    "count",
    "equal",
    "exists",
    "if_else",
    "load",
    "local",
    "maximum",
    "measure",
    "minimum",
    "mod",
    "parse",
    "periodic",
    "position",
    "previous",
    "read",
    "run",
    "run_batch",
    "simplify",
    "symbol",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'weft.crasp' has no attribute '{name}'")
    return getattr(import_module(_HOME_OF[name]), name)
