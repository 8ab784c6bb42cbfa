"""What an encoding of positions can do: change embeddings, turn queries and keys, bias scores."""

from __future__ import annotations

from torch import Tensor, nn

from weft.models.bias import Bias
from weft.models.config import TransformerConfig
from weft.models.context import Scene


class Position(nn.Module):
    """An encoding that does nothing; others override what they need."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config

    def embed(self, stream: Tensor, tokens: Tensor, scene: Scene) -> Tensor:
        """Add to the embeddings (b l d)."""
        return stream

    def turn(self, query: Tensor, key: Tensor, scene: Scene) -> tuple[Tensor, Tensor]:
        """Change queries and keys (b h l k), both of the new tokens alone."""
        return query, key

    def bias(self, scene: Scene) -> Bias | None:
        """Add to the scores."""
        return None

    def initialise(self, embedded: float) -> None:
        """Set what it learns to its first values; `embedded` is the deviation of embeddings."""
