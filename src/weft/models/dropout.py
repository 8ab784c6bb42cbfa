"""Dropout (Srivastava et al. 2014).

    x -> x * m / (1 - p)    m = 0 with probability p, else 1, drawn per number

`dropout` is applied to the embeddings, after positions are added, and to what attention,
cross-attention and feed-forward add to the stream: GPT-2's embd_pdrop and resid_pdrop. In an LSTM
it is applied to the embeddings and to the output of every layer.

`attention_dropout` is applied to the attention weights: GPT-2's attn_pdrop. Fused kernels either
have no dropout or draw from generators of their own, so with it training computes all weights by
the dense formula. Memory is then quadratic in the length, and all paths give the same result.

Evaluation drops nothing. Masks are drawn from PyTorch's default generator, whose state is part of
every checkpoint: a run that is killed and resumed draws the masks that it would have drawn.
"""

from __future__ import annotations

from torch import Tensor, nn


def dropout(tensor: Tensor, p: float, training: bool) -> Tensor:
    """In training, set a share p of the numbers to 0 and scale up the others."""
    return nn.functional.dropout(tensor, p) if training and p else tensor
