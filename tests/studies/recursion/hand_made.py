"""A Transformer whose weights are set by hand: it copies its input, token by token, by position.

Width: one dimension per token, one per position, one per output class. Head 0 of cross-attention
compares positions, copies the token there, and does everything; head 1 does nothing.
"""

from __future__ import annotations

import torch

from weft.models import Transformer, TransformerConfig
from weft.tasks.recursion import Recursion

POSITIONS = 24
SHARP = 40.0
END = 2


def copying_model(task: Recursion) -> Transformer:
    """A model that copies inputs of up to about 15 tokens, and ends."""
    tokens = len(task.vocabulary)
    width = 2 * tokens + POSITIONS
    config = TransformerConfig(
        vocabulary=tokens, outputs=tokens, width=width, heads=2, hidden=(1,),
        key_width=POSITIONS, value_width=tokens, kind="encoder-decoder", position="learned",
        positions=POSITIONS, layers=1, norm="none", activation="relu", biases=False,
    )  # fmt: skip
    model = Transformer(config).eval()
    place, out = tokens, tokens + POSITIONS
    with torch.no_grad():
        model.embedding[:, :tokens] = torch.eye(tokens)
        model.position.parts["learned"].table[:, place:out] = torch.eye(POSITIONS)
        cross = model.layers[0].cross
        assert cross is not None
        cross.query[0, place:out] = SHARP * torch.eye(POSITIONS)
        cross.key[0, place:out] = SHARP * torch.eye(POSITIONS)
        cross.value[0, :tokens] = torch.eye(tokens)
        cross.output[0, :, out:] = torch.eye(tokens)
        model.unembedding[:, out:] = torch.eye(tokens)
        # Beyond the input, weights are equal, and no token has a share of 0.95.
        model.unembedding[END, place:out] = 0.95
    return model
