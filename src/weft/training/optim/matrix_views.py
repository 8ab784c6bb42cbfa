"""Parameters viewed as matrices, for optimisers that treat matrices as such.

Attention stores one matrix per head (h d k). The residual stream is multiplied by all of them side
by side, d (h k), and the output goes through (h v) d. The first weight of a SwiGLU stacks two
matrices. Views have the shape n r c: n matrices of r rows and c columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from weft.models.attention import Attention
from weft.models.feed_forward import FeedForward


@dataclass(frozen=True)
class View:
    """How a parameter is viewed as matrices.

    Attributes:
        into: whether heads (h d k) are put side by side, d (h k), and not stacked.
        parts: number of matrices that are stacked in the parameter.
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
        """Matrices n r c in the shape of their parameter."""
        if not self.into:
            return matrices.reshape(like.shape)
        heads, width, inner = like.shape
        return matrices[0].view(width, heads, inner).transpose(0, 1)


def views_of(model: nn.Module) -> dict[nn.Parameter, View]:
    """The matrices of all layers, of attention and feed-forward."""
    views: dict[nn.Parameter, View] = {}
    for module in model.modules():
        if isinstance(module, Attention):
            for matrix in (module.query, module.key, module.value):
                views[matrix] = View(into=True)
            views[module.output] = View()
        elif isinstance(module, FeedForward):
            gated = module.activation == "swiglu"
            for place, weight in enumerate(module.weights):
                views[weight] = View(parts=2 if gated and place == 0 else 1)
    return views
