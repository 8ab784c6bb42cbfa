"""Randomised positions (Ruoss et al. 2023), for any other encoding.

While training, a sorted subset of 0 .. positions - 1 is drawn for every batch and takes the place
of 0, 1, 2, ...: the encoding that follows learns to count on order alone. In evaluation the
positions are spread evenly over the same range, so that results do not depend on luck.
"""

from __future__ import annotations

import torch
from torch import Tensor


def randomised(count: int, limit: int, training: bool, device: torch.device) -> Tensor:
    """Sorted positions below a limit: drawn while training, spread evenly otherwise."""
    if training:
        return torch.randperm(limit, device=device)[:count].sort().values
    steps = torch.arange(count, device=device)
    return steps * limit // max(1, count)
