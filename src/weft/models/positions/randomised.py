"""Randomised positions (Ruoss et al. 2023), for any other encoding.

While training, a sorted subset of 0 .. positions - 1 is drawn for every batch and replaces 0, 1, 2,
...: the encoding that uses it learns to rely on order alone. In evaluation positions are spread
evenly over the same range, so that results are deterministic. If lengths differ or a row holds
several documents, each has a subset, or a spread, of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Int


def randomised_positions(
    starts: Int[Tensor, "*batch length"], limit: int, training: bool
) -> Int[Tensor, "*batch length"]:
    """Return sorted positions below a limit: random while training, evenly spread otherwise.

    Args:
        starts: for every token, the place of the first token of its document.
        limit: the number of positions.
        training: whether to draw them.
    """
    if training:
        drawn = torch.rand(*starts.shape[:-1], limit, device=starts.device).argsort(-1)
        ordered = (starts * limit + drawn[..., : starts.shape[-1]]).sort(-1).values
        return ordered % limit
    places = torch.arange(starts.shape[-1], device=starts.device)
    counts = torch.zeros_like(starts).scatter_add(-1, starts, torch.ones_like(starts))
    return (places - starts) * limit // counts.gather(-1, starts)
