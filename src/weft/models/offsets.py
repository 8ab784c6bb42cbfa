"""Random position offsets per example, bounded by its length (Huang et al. 2025).

    position of token t of example i = t + o_i    o_i uniform on 0 .. positions - n_i

n_i is the example's length, so its last token still has a position. Offsets are drawn anew for
every batch in training and are 0 in evaluation. They train all rows of a learned table on short
examples; without them, the rows beyond the longest example stay random. `random_offset`, if set, is
a further upper bound on o_i. If a row holds several documents, each has its own offset. Padding has
none.

`random_offset` alone draws one offset for the whole batch, as Abacus embeddings do (McLeish et al.
2024). The scores of `rotary` depend on distances only, so offsets change them by rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


def example_offsets(
    starts: Int[Tensor, "batch length"],
    valid: Bool[Tensor, "batch length"] | None,
    positions: int | None,
    bound: int = 0,
) -> Int[Tensor, "batch length"]:
    """Draw the offset of each token's example from PyTorch's default generator.

    Args:
        starts: for each token, the place of the first token of its example.
        valid: false for padding; None if there is none.
        positions: how many positions there are; None if only `bound` limits offsets.
        bound: the largest offset; 0 if only `positions` limits them.
    """
    largest = torch.full_like(starts, bound)
    if positions is not None:
        counts = torch.zeros_like(starts).scatter_add(-1, starts, torch.ones_like(starts))
        room = (positions - counts.gather(-1, starts)).clamp(min=0)
        largest = room.clamp(max=bound) if bound else room
    drawn = torch.rand(starts.shape, dtype=torch.float64, device=starts.device).gather(-1, starts)
    offsets = torch.minimum((drawn * (largest + 1)).long(), largest)
    return offsets if valid is None else offsets.masked_fill(~valid, 0)
