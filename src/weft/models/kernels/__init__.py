"""Fast implementations of attention mechanisms; each returns None if it does not apply.

q, k  b h l k      v  b h m v
"""

from weft.models.kernels.fused_softmax import forgetting_attention, softmax_attention
from weft.models.kernels.fused_sparse import (
    entmax_attention,
    path_attention,
    stick_breaking_attention,
)

__all__ = [
    "entmax_attention",
    "forgetting_attention",
    "path_attention",
    "softmax_attention",
    "stick_breaking_attention",
]
