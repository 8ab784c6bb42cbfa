"""NoPE and ALiBi side by side (NaPE): half of the heads have slopes, the others none.

`slope_share` is the share of the heads that have slopes, 1/2 by default: 0 is NoPE, and 1 is ALiBi
with the schedule `steep`. There are three schedules for the S heads with slopes (`slopes`):

    steep      the S steepest of ALiBi's slopes, 2^(-8 h / H) for h = 1 .. S if H is a power of two;
               the default
    harmonic   1 / h (Vasylenko et al. 2025)
    geometric  2^(-8 h / S): ALiBi's for S heads
"""

from __future__ import annotations

import math

from weft.models.positions.alibi import Alibi, alibi_slopes


class Nape(Alibi):
    """ALiBi in half of the heads, or in another share, no positional encoding in the others."""

    def schedule(self) -> list[float]:
        heads = self.config.heads
        sloped = sloped_heads(heads, self.config.slope_share)
        slopes = {
            "steep": sorted(alibi_slopes(heads), reverse=True)[:sloped],
            "harmonic": [1 / head for head in range(1, sloped + 1)],
            "geometric": alibi_slopes(sloped) if sloped else [],
        }[self.config.slopes]
        return slopes + [0.0] * (heads - sloped)


def sloped_heads(heads: int, share: float) -> int:
    """How many heads have slopes, the first ones: their share of the heads, rounded up.

    Example:
        >>> [sloped_heads(8, share) for share in (0, 0.25, 0.5, 1)], sloped_heads(3, 0.5)
        ([0, 2, 4, 8], 2)
    """
    return math.ceil(round(heads * share, 6))
