"""Which matrices a parameter is, for optimisers that treat matrices as such.

Attention keeps a matrix for every head (h d k). What the stream is multiplied by is all of them
side by side, d (h k); what comes back to it goes through (h v) d. A SwiGLU's first weight holds
two, one above the other. Views are n r c: n matrices of r rows and c columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from weft.models.attention import Attention
from weft.models.feed_forward import FeedForward


@dataclass(frozen=True)
class View:
    """How a parameter is seen as matrices.

    Attributes:
        into: whether heads (h d k) are put side by side, d (h k); else one above the other.
        parts: how many matrices lie one above the other.
    """

    into: bool = False
    parts: int = 1

    def matrices(self, tensor: Tensor) -> Tensor:
        """The tensor as n r c."""
        if self.into:
            return tensor.transpose(0, 1).flatten(1)[None]
        flat = tensor.flatten(0, -2)
        return flat.view(self.parts, -1, flat.shape[-1])

    def restored(self, matrices: Tensor, like: Tensor) -> Tensor:
        """Matrices n r c in the shape of the parameter that they are of."""
        if not self.into:
            return matrices.reshape(like.shape)
        heads, width, inner = like.shape
        return matrices[0].view(width, heads, inner).transpose(0, 1)


def views_of(model: nn.Module) -> dict[nn.Parameter, View]:
    """The matrices of all layers: those of attention and of feed-forwards."""
    found: dict[nn.Parameter, View] = {}
    for module in model.modules():
        if isinstance(module, Attention):
            for matrix in (module.query, module.key, module.value):
                found[matrix] = View(into=True)
            found[module.output] = View()
        elif isinstance(module, FeedForward):
            gated = module.activation == "swiglu"
            for place, weight in enumerate(module.weights):
                found[weight] = View(parts=2 if gated and place == 0 else 1)
    return found
