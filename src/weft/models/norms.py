"""Norms of the residual stream.

    rms     x / sqrt(mean(x^2) + 1e-6) * g                     (Zhang and Sennrich 2019)
    layer   (x - mean(x)) / sqrt(var(x) + 1e-5) * g + b        (Ba, Kiros and Hinton 2016)

The gain g and the bias b are learned, one number per dimension. `norm_type` chooses between the
two, `norm` where they are applied. LayerNorm is that of PyTorch and GPT-2: var is the biased
variance, and `norm_bias=False` leaves b out, as nanoGPT does. Both are computed in float32 at
least. A LayerNorm cannot tell x from x + c, an RMSNorm can.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from weft.models.config import TransformerConfig
from weft.models.init import Initialisation

if TYPE_CHECKING:
    from jaxtyping import Float


class Norm(nn.Module):
    """RMSNorm: x / rms(x) * g."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, stream: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        """Normalise the stream at every position."""
        return nn.functional.rms_norm(stream, self.gain.shape, self.gain.to(stream.dtype), 1e-6)

    def init_weights(self, init: Initialisation) -> None:
        """Set gains to 1."""
        nn.init.ones_(self.gain)


class LayerNorm(Norm):
    """LayerNorm: (x - mean(x)) / std(x) * g + b, or without b."""

    def __init__(self, width: int, bias: bool = True) -> None:
        super().__init__(width)
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, stream: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch width"]:
        gain = self.gain.to(stream.dtype)
        bias = None if self.bias is None else self.bias.to(stream.dtype)
        normed = nn.functional.layer_norm(stream, gain.shape, gain, bias, 1e-5)
        return normed.to(stream.dtype)  # autocast computes it in float32

    def init_weights(self, init: Initialisation) -> None:
        """Set gains to 1 and biases to 0."""
        super().init_weights(init)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


def norm_of(config: TransformerConfig) -> Norm:
    """Return the norm that a config asks for."""
    if config.norm_type == "layer":
        return LayerNorm(config.width, config.norm_bias)
    return Norm(config.width)
