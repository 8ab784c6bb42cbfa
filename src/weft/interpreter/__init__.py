"""Running a program symbolically.

`reference` is the specification: clear, exact, one position at a time. `batched` gives the same
results for many inputs at once. `generate` lets a causal program continue a prompt. `trace` records
runs, `states` counts the states that occur in them, `inputs` reads and draws inputs.
"""

from weft.interpreter.failures import StepError
from weft.interpreter.reference import run
from weft.interpreter.trace import Run, Trace

__all__ = ["Run", "StepError", "Trace", "run"]
