"""C-RASP[periodic, local], the programming language of counting transformers.

`expressions` and `program` say what a program is, `reference` what it means.
"""

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
from weft.crasp.parser import parse, read
from weft.crasp.program import CraspProgram, Line
from weft.crasp.reference import CraspRun, run

__all__ = [
    "Add",
    "And",
    "Comparison",
    "Conditional",
    "Constant",
    "Counting",
    "CraspProgram",
    "CraspRun",
    "Exists",
    "Expression",
    "Integer",
    "Line",
    "Local",
    "Maximum",
    "Minimum",
    "Name",
    "Not",
    "Or",
    "Periodic",
    "Position",
    "Previous",
    "Subtract",
    "Symbol",
    "load",
    "parse",
    "read",
    "run",
]
