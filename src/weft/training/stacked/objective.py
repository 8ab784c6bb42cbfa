"""Losses of a stack: one number per model, as `weft.training.learner` computes it for one.

A model with fewer classes than the widest of its stack has masked logits beyond them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from weft.training.learner import IGNORED

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


def wide_logits(
    logits: Float[Tensor, "models tokens classes"], class_counts: Int[Tensor, " models"] | None
) -> Float[Tensor, "models tokens classes"]:
    """Logits in float32 at least, minus infinity beyond a model's classes."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    if class_counts is None:
        return wide
    return wide.masked_fill(~_exists(wide, class_counts), -torch.inf)


def _exists(logits: Tensor, class_counts: Tensor) -> Tensor:
    """Which classes each model has (m 1 c)."""
    classes = torch.arange(logits.shape[-1], device=logits.device)
    return classes < class_counts[:, None, None]


def summed_losses(
    logits: Float[Tensor, "models tokens classes"],
    targets: Int[Tensor, "models tokens"],
    legal: Bool[Tensor, "models tokens sets"] | None,
    label_sets: str,
    class_counts: Int[Tensor, " models"] | None,
) -> Float[Tensor, " models"]:
    """The sum of losses at all positions with a target, for each model.

    Args:
        logits: from `wide_logits`.
        targets: the class at each position, -1 for positions without a target.
        legal: the legal classes at each position, for label sets.
        label_sets: their loss, as in `SupervisionConfig`.
        class_counts: the number of classes of each model; None if all have all.
    """
    if legal is None:
        losses = nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED, reduction="none"
        )
        return losses.view(targets.shape).sum(1)
    scored = targets >= 0
    legal = nn.functional.pad(legal, (0, logits.shape[-1] - legal.shape[-1]))
    legal = legal | ~scored[..., None]  # no empty set, so that every loss is finite
    if class_counts is not None:
        legal = legal & _exists(logits, class_counts)
    losses = _label_set_losses(logits, legal, label_sets, class_counts)
    return torch.where(scored, losses, 0.0).sum(1)


def _label_set_losses(
    logits: Tensor, legal: Tensor, label_sets: str, class_counts: Tensor | None
) -> Tensor:
    """The loss at each position (m t)."""
    if label_sets == "binary":
        if class_counts is None:
            losses = nn.functional.binary_cross_entropy_with_logits(
                logits, legal.to(logits.dtype), reduction="none"
            )
            return losses.mean(-1)
        exists = _exists(logits, class_counts)
        losses = nn.functional.binary_cross_entropy_with_logits(
            logits.masked_fill(~exists, 0.0), legal.to(logits.dtype), reduction="none"
        )
        return (losses * exists).sum(-1) / class_counts[:, None]
    log_shares = logits.log_softmax(-1)
    if label_sets == "uniform":
        return -torch.where(legal, log_shares, 0.0).sum(-1) / legal.sum(-1)
    return -log_shares.masked_fill(~legal, -torch.inf).logsumexp(-1)
