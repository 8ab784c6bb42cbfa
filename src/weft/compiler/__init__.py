"""Programs to weights: stream layout, attention, feed-forward, optimising passes.

Open `build` for the passes in order. `lower` is what makes models small, `level0` is the paper's
own construction, `precision` says what a number format can hold.
"""

from weft.compiler.build import Compiled, compile_program

__all__ = ["Compiled", "compile_program"]
