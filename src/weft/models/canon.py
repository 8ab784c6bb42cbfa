"""Canon layers (Allen-Zhu 2025): each token is mixed with the three before it.

    y_t = x_t + sum_{k = 0 .. 3} w_k * x_{t-k}

with one weight per channel and tap, no bias and no activation. A is on the stream before attention,
B on queries, keys and values, C on the stream before the feed-forward, D on its hidden layer before
the activation. Taps do not reach across the start of a document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from weft.models.cache import LayerCache
from weft.models.context import AttentionContext
from weft.models.init import Initialisation, uniform
from weft.models.kernels.dispatch import triton_available

if TYPE_CHECKING:
    from jaxtyping import Float

TAPS = 4


class Canon(nn.Module):
    """A short causal convolution with a residual, channel by channel."""

    def __init__(self, point: str, width: int) -> None:
        super().__init__()
        self.point = point
        self.taps = nn.Parameter(torch.zeros(TAPS, width))

    def forward(
        self,
        stream: Float[Tensor, "batch length channels"],
        context: AttentionContext,
        cache: LayerCache | None,
    ) -> Float[Tensor, "batch length channels"]:
        """Mix neighbouring positions, in the precision of the products that follow."""
        kind = stream.device.type
        if torch.is_autocast_enabled(kind):
            stream = stream.to(torch.get_autocast_dtype(kind))
        by_kernel = triton_available(stream, context) and context.backend in ("auto", "triton")
        if by_kernel and cache is None:
            from weft.models.kernels.triton_canon import canon

            return canon(stream, self.taps, context.documents)
        return stream + causal_convolution(stream, self.taps, context, cache, self.point)

    def init_weights(self, init: Initialisation) -> None:
        """Draw taps as PyTorch does for a convolution of this size."""
        uniform(self.taps, TAPS**-0.5)


def causal_convolution(
    stream: Float[Tensor, "batch length channels"],
    taps: Float[Tensor, "taps channels"],
    context: AttentionContext,
    cache: LayerCache | None,
    name: str,
) -> Float[Tensor, "batch length channels"]:
    """sum_k w_k x_{t-k} within documents; the last few x are kept in the cache under a name."""
    reach, length = len(taps) - 1, stream.shape[1]
    taps = taps.to(stream.dtype)
    padded = nn.functional.pad(stream, (0, 0, reach, 0))
    if cache is not None:
        if f"before {name}" in cache:
            padded = torch.cat([cache[f"before {name}"], stream], 1)
        cache[f"before {name}"] = padded[:, -reach:]
    total = taps[0] * stream
    for back in range(1, reach + 1):
        shifted = padded[:, reach - back : reach - back + length]
        if context.documents is not None:
            shifted = shifted * _same_document(context.documents, back, length)[..., None]
        total = total + taps[back] * shifted
    return total


def _same_document(documents: Tensor, back: int, length: int) -> Tensor:
    """Whether the token `back` places before each of the last tokens is of the same document."""
    same = torch.zeros_like(documents, dtype=torch.bool)
    same[:, back:] = documents[:, back:] == documents[:, :-back]
    return same[:, -length:]
