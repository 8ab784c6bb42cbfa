"""Canon layers (Allen-Zhu 2025): each token takes something of the last three.

    y_t = x_t + sum_{k = 0 .. 3} w_k * x_{t-k}

a weight for every channel and tap, no bias, no activation. A is on the stream before attention, B
on queries, keys and values, C on the stream before the feed-forward, D on its hidden layer before
the activation. Taps do not reach across the start of a document.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.models.cache import Memory
from weft.models.context import Scene
from weft.models.drawing import uniform

TAPS = 4


class Canon(nn.Module):
    """A short causal convolution with a residual, channel by channel."""

    def __init__(self, place: str, width: int) -> None:
        super().__init__()
        self.place = place
        self.taps = nn.Parameter(torch.zeros(TAPS, width))

    def forward(self, stream: Tensor, scene: Scene, memory: Memory | None) -> Tensor:
        """The stream (b l d), mixed, in the precision of the products that follow."""
        kind = stream.device.type
        if torch.is_autocast_enabled(kind):
            stream = stream.to(torch.get_autocast_dtype(kind))
        if stream.is_cuda and memory is None and scene.backend == "auto":
            from weft.models.kernels.triton_canon import canon

            return canon(stream, self.taps, scene.documents)
        return stream + shifted_sum(stream, self.taps, scene, memory, self.place)

    def initialise(self) -> None:
        """As PyTorch starts a convolution of this size."""
        uniform(self.taps, TAPS**-0.5)


def shifted_sum(
    stream: Tensor, taps: Tensor, scene: Scene, memory: Memory | None, name: str
) -> Tensor:
    """sum_k w_k x_{t-k}, within documents; `memory` keeps the last few x under a name."""
    reach, length = len(taps) - 1, stream.shape[1]
    taps = taps.to(stream.dtype)
    whole = nn.functional.pad(stream, (0, 0, reach, 0))
    if memory is not None:
        if f"before {name}" in memory:
            whole = torch.cat([memory[f"before {name}"], stream], 1)
        memory[f"before {name}"] = whole[:, -reach:]
    total = taps[0] * stream
    for back in range(1, reach + 1):
        shifted = whole[:, reach - back : reach - back + length]
        if scene.documents is not None:
            shifted = shifted * _same_document(scene.documents, back, length)[..., None]
        total = total + taps[back] * shifted
    return total


def _same_document(documents: Tensor, back: int, length: int) -> Tensor:
    """b l: whether the token so many places back belongs to the same document."""
    same = torch.zeros_like(documents, dtype=torch.bool)
    same[:, back:] = documents[:, back:] == documents[:, :-back]
    return same[:, -length:]
