"""Sliding-window attention with global layers (SWAN, Puvvada et al. 2025).

    every `global_every`-th layer, the first included, attends to everything and has no positional
    encoding; the others attend to the last `window` tokens, with positions (rotary, say)

The authors interleave one global layer with three local ones of window 512, and report that placing
all global layers first is clearly worse.
"""

from __future__ import annotations

from weft.models.attentions.softmax import Softmax


class Swan(Softmax):
    """Softmax over a window, or over everything in global layers."""

    @property
    def is_global(self) -> bool:
        """Whether this layer attends to everything."""
        return self.number % self.config.global_every == 0

    @property
    def window(self) -> int | None:
        return None if self.is_global else self.config.window
