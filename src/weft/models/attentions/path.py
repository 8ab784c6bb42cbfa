"""PaTH: positions as products of Householder-like transformations (Yang et al. 2025).

    s_ij = q_i^T ( prod_{l = j+1 .. i} H_l ) k_j / sqrt(D)    H_l = I - beta_l w_l w_l^T

H_i is included, H_j is not. w is a low-rank projection of the stream, mixed over three positions by
a short convolution, with SiLU, and normalised to length 1; beta = 2 sigmoid(.) lies between 0 and
2. The product has a closed form: with Q, K, W as rows and b = diag(beta),

    S = tril(Q K^T) - tril(Q W^T) X    (I + tril(b W W^T, -1)) X = b tril(W K^T, -1)

The triangular system is solved in float32 at least. While generating, each new H transforms the
cached keys, to K - X^T W, so that a new token needs no axes of earlier ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from weft.models.attentions.base import masked_weights, wide_dtype
from weft.models.attentions.softmax import Softmax
from weft.models.bias import ScoreBias
from weft.models.cache import LayerCache
from weft.models.canon import causal_convolution
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation, normal, uniform
from weft.models.kernels import path_attention

if TYPE_CHECKING:
    from jaxtyping import Float

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

    def init_weights(self, init: Initialisation) -> None:
        normal(self.down, 0.02)
        normal(self.up, 0.02)
        uniform(self.taps, TAPS**-0.5)
        normal(self.strength, 0.02)
        nn.init.zeros_(self.strength_bias)

    def prepare(
        self,
        stream: Tensor,
        query: Tensor,
        key: Tensor,
        context: AttentionContext,
        cache: LayerCache | None,
    ) -> tuple[Tensor, Tensor, Any]:
        wide, linear = wide_dtype(stream), nn.functional.linear
        wide_axes = linear(linear(stream, self.down), self.up)
        mixed = causal_convolution(wide_axes, self.taps, context, cache, "axes")
        axes = nn.functional.silu(mixed).view(*mixed.shape[:2], self.config.heads, -1)
        axes = nn.functional.normalize(axes.transpose(1, 2).to(wide), dim=-1)
        beta = 2 * linear(stream, self.strength, self.strength_bias).to(wide).sigmoid()
        return query, key, (axes, beta.transpose(1, 2))  # b h l k, b h l

    def weights(
        self,
        query: Tensor,
        key: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor:
        scores = path_scores(query, key, *extra) * self.scale
        return masked_weights(scores, self.visible(context))

    def cache_keys(self, key: Tensor, extra: Any, cache: LayerCache) -> Tensor:
        """Return earlier keys as they were before the new tokens, and the keys of the new ones.

        The cache holds them transformed by the new tokens, for the tokens that come next.
        """
        axes, beta = extra
        keys = key.to(axes.dtype)
        if "transformed" in cache:
            keys = torch.cat([cache["transformed"], keys], 2)
        cache["transformed"] = keys - _solve(keys, axes, beta).transpose(-1, -2) @ axes
        return keys

    def fast(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        extra: Any,
        bias: ScoreBias | None,
        context: AttentionContext,
    ) -> Tensor | None:
        if context.keys > context.queries:
            return None
        axes, beta = extra
        return path_attention(query, key, value, axes, beta, self.scale, context)


def path_scores(
    query: Float[Tensor, "batch heads queries key_width"],
    key: Float[Tensor, "batch heads keys key_width"],
    axes: Float[Tensor, "batch heads queries key_width"],
    beta: Float[Tensor, "batch heads queries"],
) -> Float[Tensor, "batch heads queries keys"]:
    """q_i^T (product of H) k_j for all j <= i, by the closed form.

    If there are more keys than queries, the first ones are already transformed by all earlier H.
    """
    query, key = query.to(axes.dtype), key.to(axes.dtype)
    earlier = key.shape[-2] - query.shape[-2]
    products = (query @ key.transpose(-1, -2)).tril(earlier)
    along_axes = (query @ axes.transpose(-1, -2)).tril()
    return products - along_axes @ _solve(key, axes, beta)


def _solve(key: Tensor, axes: Tensor, beta: Tensor) -> Tensor:
    """X: how much of each axis is taken from each key on its way."""
    earlier = key.shape[-2] - axes.shape[-2]
    system = (beta[..., None] * (axes @ axes.transpose(-1, -2))).tril(-1)
    right = beta[..., None] * (axes @ key.transpose(-1, -2)).tril(earlier - 1)
    solved: Tensor = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
    return solved
