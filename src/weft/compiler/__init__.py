"""Programs to weights: stream layout, attention, feed-forward, optimising passes.

Open `build` for the passes in order. `lower` (with `terms`) makes models small, `level0` is the
paper's own construction. `check` compares a model with its program on inputs, `prove` in all
states. `model_files` adds to a model folder what belongs to the program.
"""

from weft.compiler.build import Compiled, compile_program
from weft.compiler.model_files import save

__all__ = ["Compiled", "compile_program", "save"]
