"""NoPE and ALiBi side by side (NaPE): half of the heads have slopes, the others none.

There are three schedules for the H / 2 heads with slopes (`slopes`):

    steep      the steeper half of ALiBi's slopes, 2^(-8 h / H) for h = 1 .. H / 2 if H is a power
               of two; the default
    harmonic   1 / h (Vasylenko et al. 2025)
    geometric  2^(-8 h / (H / 2)): ALiBi's for half as many heads
"""

from __future__ import annotations

from weft.models.positions.alibi import Alibi, alibi_slopes


class Nape(Alibi):
    """ALiBi in half of the heads, no positional encoding in the others."""

    def schedule(self) -> list[float]:
        heads = self.config.heads
        half = (heads + 1) // 2
        slopes = {
            "steep": sorted(alibi_slopes(heads), reverse=True)[:half],
            "harmonic": [1 / head for head in range(1, half + 1)],
            "geometric": alibi_slopes(half),
        }[self.config.slopes]
        return slopes + [0.0] * (heads - half)
