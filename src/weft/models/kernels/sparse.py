"""What no fused kernel of PyTorch can express: stick-breaking, entmax and PaTH."""

from __future__ import annotations

from torch import Tensor

from weft.models.bias import Bias
from weft.models.scene import Scene


def stick_breaking_attention(
    query: Tensor, key: Tensor, value: Tensor, scale: float, scene: Scene
) -> Tensor | None:
    """What stick-breaking attention finds."""
    return None


def entmax_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    alpha: float,
    scale: float,
    bias: Bias | None,
    scene: Scene,
) -> Tensor | None:
    """What entmax attention finds."""
    return None


def path_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    axes: Tensor,
    beta: Tensor,
    scale: float,
    scene: Scene,
) -> Tensor | None:
    """What PaTH finds."""
    return None
