"""Lowering the regulariser of a trained model without changing what it computes in distribution.

Training lowers the differentiable terms of R(T) and leaves the two that are counted as they are: a
trained matrix has full rank, and its numbers have as many bits as their format. `reduce` finds, for
a model that fits,

    1. the least rank k such that the model still fits with every head's value matrix
       V = W_v W_o truncated to its k largest singular values, and then
    2. the least p such that it still fits with every parameter rounded to a multiple of 2^-p.

To fit means to be right on all given inputs at every offset, so inputs that are longer than those
in distribution have no influence on the choice.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from weft.crasp.regulariser import TABLE
from weft.errors import WeftError
from weft.models.transformer import Transformer
from weft.tasks import Batch
from weft.training.evaluation import evaluate

if TYPE_CHECKING:
    from torch import Tensor

MAX_BITS = 24
"""Fractional bits beyond which parameters are not rounded."""


@dataclass(frozen=True, eq=False)
class Reduced:
    """A model with a lower rank and precision.

    Attributes:
        model: the model.
        rank: the rank that value matrices were truncated to.
        bits: the fractional bits that parameters were rounded to; None if no number of them up to
            `MAX_BITS` fits, so that they are as trained.
    """

    model: Transformer
    rank: int
    bits: int | None


@contextmanager
def offset_by(model: Transformer, offset: int) -> Iterator[None]:
    """Let the model start at a later position in this block: row 0 of its table is row `offset`."""
    table = dict(model.named_parameters())[TABLE]
    before = table.detach().clone()
    try:
        with torch.no_grad():
            table.copy_(before.roll(-offset, 0))
        yield
    finally:
        with torch.no_grad():
            table.copy_(before)


def fits_at_all_offsets(model: Transformer, examples: Batch, batch: int = 512) -> bool:
    """Whether the model is right on all examples, at every offset at which its table has room.

    Args:
        model: a model with learned positions.
        examples: the examples; shorter ones have more offsets.
        batch: examples per forward pass.
    """
    rows = model.config.positions
    if model.config.encodings != ("learned",) or rows is None:
        raise WeftError(
            f"the model has no table of positions (its encoding is '{model.config.position}')",
            remedy="Give a model with learned absolute positions",
        )
    if int(examples.lengths.max()) > rows:
        raise WeftError(
            f"an example has {int(examples.lengths.max())} tokens, and the table {rows} positions",
            remedy="Give shorter examples",
        )
    for offset in range(rows - int(examples.lengths.min()) + 1):
        there = examples.take(examples.lengths + offset <= rows)
        with offset_by(model, offset):
            for start in range(0, len(there), batch):
                part = there.take(slice(start, start + batch)).trimmed()
                if not evaluate(model, {"part": part}, batch=batch)["part"].right.all():
                    return False
    return True


def truncated(model: Transformer, rank: int) -> Transformer:
    """A copy whose value matrices have their `rank` largest singular values only.

    W_v and W_o become the factors U sqrt(S) and sqrt(S) V^T, with zeros beyond the rank.
    """
    result = copy.deepcopy(model)
    weights = dict(result.named_parameters())
    for name in [name for name in weights if name.endswith(".attention.value")]:
        value, output = weights[name], weights[name.removesuffix("value") + "output"]
        left, singular, right = torch.linalg.svd(
            value.detach().double() @ output.detach().double(), full_matrices=False
        )
        kept = min(rank, singular.shape[-1], value.shape[-1])
        roots = singular[:, :kept].sqrt()
        with torch.no_grad():
            value.zero_()
            output.zero_()
            value[..., :kept] = (left[..., :kept] * roots[:, None]).to(value.dtype)
            output[:, :kept] = (roots[..., None] * right[:, :kept]).to(output.dtype)
    return result


def rounded(model: Transformer, bits: int) -> Transformer:
    """A copy with every parameter rounded to a multiple of 2^-bits."""
    result = copy.deepcopy(model)
    with torch.no_grad():
        for weight in result.parameters():
            weight.copy_(_round(weight, bits))
    return result


def _round(weight: Tensor, bits: int) -> Tensor:
    return (weight.double() * 2.0**bits).round() / 2.0**bits


def reduce(model: Transformer, fits: Callable[[Transformer], bool]) -> Reduced:
    """Truncate value matrices, then round parameters, as far as the model still fits.

    Args:
        model: a model that fits.
        fits: whether a model is right in distribution.
    """
    widest = model.config.value_width
    smaller, rank = model, widest
    for candidate in range(widest):
        tried = truncated(model, candidate)
        if fits(tried):
            smaller, rank = tried, candidate
            break
    for bits in range(MAX_BITS + 1):
        tried = rounded(smaller, bits)
        if fits(tried):
            return Reduced(tried, rank, bits)
    return Reduced(smaller, rank, None)
