"""Program trace generation: a small imperative language, its execution, traces and samplers.

Language, Limits            which programs are allowed, and bounds of a run
parse, source_of            source to a Program, and back
run                         execute a program: its Trace
document, TraceFormat       programs, calls and traces as text
source_hash                 what identifies a program, whatever its variables are called
first_error, align          a written trace judged by the right one
reads_of                    what each step reads, and which step wrote it
"""

from weft.ptg.alignment import align
from weft.ptg.first_errors import CATEGORIES, Category, FirstError, first_error
from weft.ptg.inputs import read_inputs
from weft.ptg.interpreter import run
from weft.ptg.language import PAPER, RICH, Language, Limits, Program
from weft.ptg.parser import parse
from weft.ptg.reads import Read, reads_of
from weft.ptg.source import canonical_source, source_hash, source_of
from weft.ptg.tracing import Document, Step, Trace, TraceFormat, document, trace_text

__all__ = [
    "CATEGORIES",
    "PAPER",
    "RICH",
    "Category",
    "Document",
    "FirstError",
    "Language",
    "Limits",
    "Program",
    "Read",
    "Step",
    "Trace",
    "TraceFormat",
    "align",
    "canonical_source",
    "document",
    "first_error",
    "parse",
    "read_inputs",
    "reads_of",
    "run",
    "source_hash",
    "source_of",
    "trace_text",
]
