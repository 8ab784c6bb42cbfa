"""The interface of a positional encoding: it changes embeddings, queries and keys, or scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from weft.models.bias import ScoreBias
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    Stream = Float[Tensor, "batch length width"]
    Heads = Float[Tensor, "batch heads length key_width"]


class PositionalEncoding(nn.Module):
    """An encoding that does nothing; each encoding overrides what it needs."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config

    def init_weights(self, init: Initialisation) -> None:
        """Initialise the encoding's own parameters."""

    def embed(
        self, stream: Stream, tokens: Int[Tensor, "batch length"], context: AttentionContext
    ) -> Stream:
        """Add to the embeddings."""
        return stream

    def rotate(self, query: Heads, key: Heads, context: AttentionContext) -> tuple[Heads, Heads]:
        """Transform queries and keys, both of new tokens only."""
        return query, key

    def bias(self, context: AttentionContext) -> ScoreBias | None:
        """Return what is added to the attention scores."""
        return None
