"""Randomised positions (Ruoss et al. 2023), for any other encoding.

While training, a sorted subset of 0 .. positions - 1 is drawn for every batch and takes the place
of 0, 1, 2, ...: the encoding that follows learns to count on order alone. In evaluation the
positions are spread evenly over the same range, so that results do not depend on luck. Where
lengths differ, or several documents share a row, each has a subset, or a spread, of its own.
"""

from __future__ import annotations

import torch
from torch import Tensor


def randomised(begins: Tensor, limit: int, training: bool) -> Tensor:
    """Sorted positions below a limit: drawn while training, spread evenly otherwise.

    Args:
        begins: l or b l, for every token where the document that it belongs to begins.
        limit: how many positions there are.
        training: whether they are drawn.
    """
    if training:
        drawn = torch.rand(*begins.shape[:-1], limit, device=begins.device).argsort(-1)
        ordered = (begins * limit + drawn[..., : begins.shape[-1]]).sort(-1).values
        return ordered % limit
    places = torch.arange(begins.shape[-1], device=begins.device)
    counts = torch.zeros_like(begins).scatter_add(-1, begins, torch.ones_like(begins))
    return (places - begins) * limit // counts.gather(-1, begins)
