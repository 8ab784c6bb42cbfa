"""Forgetting attention (FoX, Lin et al. 2025).

    A_ij = softmax_j( q_i · k_j / sqrt(D) + sum_{l = j+1 .. i} log f_l )
    f_t = sigmoid(w_h · x_t + b_h)

With c_t = sum_{l <= t} log f_l the bias is c_i - c_j. c_i is the same for a whole row and falls out
of the softmax, so a key bias of -c_j is all that kernels need. c is summed in float32 at least: in
bfloat16 a sum over 4,096 tokens is off by up to 8.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from weft.models.attentions.base import weighed
from weft.models.attentions.softmax import Softmax
from weft.models.bias import Bias
from weft.models.cache import Memory, remembered
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.drawing import normal
from weft.models.kernels import forgetting_attention


class Forgetting(Softmax):
    """Softmax with a gate for every head that fades what came before."""

    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__(config, number)
        self.gate = nn.Parameter(torch.zeros(config.heads, config.width))
        self.gate_bias = nn.Parameter(torch.zeros(config.heads))

    def prepare(
        self, stream: Tensor, query: Tensor, key: Tensor, scene: Scene, memory: Memory | None
    ) -> tuple[Tensor, Tensor, Any]:
        wide = torch.float64 if stream.dtype == torch.float64 else torch.float32
        gates = nn.functional.linear(stream, self.gate, self.gate_bias).to(wide)
        kept = nn.functional.logsigmoid(gates).transpose(1, 2)  # b h l
        sums = kept.cumsum(-1)
        if memory is not None and "sums" in memory:
            sums = sums + memory["sums"][..., -1:]
        return query, key, remembered(memory, "sums", sums, -1)

    def weights(
        self, query: Tensor, key: Tensor, extra: Any, bias: Bias | None, scene: Scene
    ) -> Tensor:
        sums: Tensor = extra
        mine = sums[..., scene.keys - scene.queries :]
        fading = (mine[..., :, None] - sums[..., None, :]).to(sums.dtype)
        scores = self.scores(query, key, bias, scene) + fading
        return weighed(scores, self.seen(scene))

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: Bias | None,
        scene: Scene,
    ) -> Tensor | None:
        return forgetting_attention(query, key, value, extra, self.scale, bias, scene)

    def initialise(self) -> None:
        normal(self.gate, 0.02)
        nn.init.zeros_(self.gate_bias)
