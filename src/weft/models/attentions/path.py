"""PaTH: positions as products of Householder-like transformations (Yang et al. 2025).

    s_ij = q_i^T ( prod_{l = j+1 .. i} H_l ) k_j / sqrt(D)    H_l = I - beta_l w_l w_l^T

H_i is included, H_j is not. w is a low-rank projection of the stream, mixed over three positions by
a short convolution, with SiLU, and normalised to length 1; beta = 2 sigmoid(.) lies between 0 and
2. The product of many has a closed form: with Q, K, W as rows and b = diag(beta),

    S = tril(Q K^T) - tril(Q W^T) X    (I + tril(b W W^T, -1)) X = b tril(W K^T, -1)

The triangular system is solved in float32 at least. While generating, the keys that are kept are
transformed by each new H, to K - X^T W: so a new token need not know the axes of earlier ones.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from weft.models.attentions.base import weighed
from weft.models.attentions.softmax import Softmax
from weft.models.bias import Bias
from weft.models.cache import Memory
from weft.models.canon import shifted_sum
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.drawing import normal, uniform
from weft.models.kernels import path_attention

RANK = 32
TAPS = 3


class Path(Softmax):
    """Keys are transformed by every token between them and the query."""

    def __init__(self, config: TransformerConfig, number: int) -> None:
        super().__init__(config, number)
        inner = config.heads * config.key_width
        self.down = nn.Parameter(torch.zeros(RANK, config.width))
        self.up = nn.Parameter(torch.zeros(inner, RANK))
        self.taps = nn.Parameter(torch.zeros(TAPS, inner))
        self.strength = nn.Parameter(torch.zeros(config.heads, config.width))
        self.strength_bias = nn.Parameter(torch.zeros(config.heads))

    def prepare(
        self, stream: Tensor, query: Tensor, key: Tensor, scene: Scene, memory: Memory | None
    ) -> tuple[Tensor, Tensor, Any]:
        wide = torch.float64 if stream.dtype == torch.float64 else torch.float32
        linear = nn.functional.linear
        wide_axes = linear(linear(stream, self.down), self.up)
        mixed = shifted_sum(wide_axes, self.taps, scene, memory, "axes")
        axes = nn.functional.silu(mixed).view(*mixed.shape[:2], self.config.heads, -1)
        axes = nn.functional.normalize(axes.transpose(1, 2).to(wide), dim=-1)
        beta = 2 * linear(stream, self.strength, self.strength_bias).to(wide).sigmoid()
        return query, key, (axes, beta.transpose(1, 2))  # b h l k, b h l

    def weights(
        self, query: Tensor, key: Tensor, extra: Any, bias: Bias | None, scene: Scene
    ) -> Tensor:
        scores = path_scores(query, key, *extra) * self.scale
        return weighed(scores, self.seen(scene))

    def keep(self, key: Tensor, extra: Any, memory: Memory) -> Tensor:
        """Keys of earlier tokens as they were before the new ones, and those of the new ones.

        What is kept is transformed by the new tokens, for those that come after them.
        """
        axes, beta = extra
        keys = key.to(axes.dtype)
        if "transformed" in memory:
            keys = torch.cat([memory["transformed"], keys], 2)
        memory["transformed"] = keys - _held(keys, axes, beta).transpose(-1, -2) @ axes
        return keys

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: Bias | None,
        scene: Scene,
    ) -> Tensor | None:
        axes, beta = extra
        if scene.keys > scene.queries:
            return None
        return path_attention(query, key, value, axes, beta, self.scale, scene)

    def initialise(self) -> None:
        normal(self.down, 0.02)
        normal(self.up, 0.02)
        uniform(self.taps, TAPS**-0.5)
        normal(self.strength, 0.02)
        nn.init.zeros_(self.strength_bias)


def path_scores(query: Tensor, key: Tensor, axes: Tensor, beta: Tensor) -> Tensor:
    """q_i^T (product of H) k_j for all j <= i, by the closed form.

    Where there are more keys than queries, the first ones are transformed by all H before these.
    """
    query, key = query.to(axes.dtype), key.to(axes.dtype)
    earlier = key.shape[-2] - query.shape[-2]
    plain = (query @ key.transpose(-1, -2)).tril(earlier)
    asked = (query @ axes.transpose(-1, -2)).tril()
    return plain - asked @ _held(key, axes, beta)


def _held(key: Tensor, axes: Tensor, beta: Tensor) -> Tensor:
    """X: how much of each axis is taken from each key on its way."""
    earlier = key.shape[-2] - axes.shape[-2]
    among = (beta[..., None] * (axes @ axes.transpose(-1, -2))).tril(-1)
    held = beta[..., None] * (axes @ key.transpose(-1, -2)).tril(earlier - 1)
    solved: Tensor = torch.linalg.solve_triangular(among, held, upper=False, unitriangular=True)
    return solved
