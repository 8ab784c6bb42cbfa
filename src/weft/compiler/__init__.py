"""Programs to weights: stream layout, attention, feed-forward, optimising passes.

Open `build` for the passes in order. `lower` (with `terms`) is what makes models small, `level0` is
the paper's own construction, `precision` says what a number format can hold; `check` compares a
model with its program on inputs, `prove` on all states.
"""

from weft.compiler.build import Compiled, compile_program
from weft.compiler.store import save

__all__ = ["Compiled", "compile_program", "save"]
