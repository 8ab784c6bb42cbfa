"""Abacus embeddings (McLeish et al. 2024).

    x_t = E[token_t] + A[place of token t within its number + offset]

The place of a digit counts from 1 at the number's first digit; other tokens have place 0. While
training, an offset is drawn for every batch (`random_offset`), so that the rows of longer numbers
are trained. The config says which tokens are digits.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.init import Initialisation, normal
from weft.models.positions.base import PositionalEncoding


class Abacus(PositionalEncoding):
    """A learned vector for the place of a digit within its number."""

    digits: Tensor

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        assert config.positions is not None
        self.table = nn.Parameter(torch.zeros(config.positions + 1, config.width))
        marks = torch.zeros(config.vocabulary, dtype=torch.bool)
        marks[list(config.digits)] = True
        self.register_buffer("digits", marks)

    def embed(self, stream: Tensor, tokens: Tensor, context: AttentionContext) -> Tensor:
        if not self.config.digits:
            raise WeftError(
                "abacus needs to know which tokens are digits",
                subject="TransformerConfig",
                remedy="Give digits, as in digits=(4, 5, 6)",
            )
        places = digit_places(self.digits[tokens], context.documents)
        if context.offset is not None:
            places = torch.where(places > 0, places + context.offset, places)
        return stream + self.table[places.clamp(max=len(self.table) - 1)]

    def init_weights(self, init: Initialisation) -> None:
        normal(self.table, init.embedding_std)
        with torch.no_grad():
            self.table[0] = 0


def digit_places(is_digit: Tensor, documents: Tensor | None = None) -> Tensor:
    """1, 2, 3, ... along every run of digits (b l) within a document, and 0 elsewhere."""
    counted = is_digit.long().cumsum(-1)
    before = torch.where(is_digit, 0, counted)
    if documents is not None:
        begins = documents[:, 1:] != documents[:, :-1]
        before[:, 1:] = torch.where(begins, counted[:, :-1], before[:, 1:])
    return torch.where(is_digit, counted - before.cummax(-1).values, 0)
