"""Random first values, drawn on the CPU in float32, so that all devices and precisions agree."""

from __future__ import annotations

import torch
from torch import Tensor


@torch.no_grad()
def normal(tensor: Tensor, std: float) -> None:
    """Fill with normally distributed values."""
    tensor.copy_(torch.randn(tensor.shape) * std)


@torch.no_grad()
def uniform(tensor: Tensor, most: float) -> None:
    """Fill with values between -most and most."""
    tensor.copy_((2 * torch.rand(tensor.shape) - 1) * most)
