"""Where the tokens of a batch stand."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from weft.models.config import TransformerConfig
from weft.models.positions.randomised import randomised
from weft.models.scene import Scene


def place(
    config: TransformerConfig,
    tokens: Tensor,
    lengths: Tensor | None = None,
    documents: Tensor | None = None,
    training: bool = False,
    backend: str = "auto",
    causal: bool | None = None,
) -> Scene:
    """The scene of a batch (b l); the arguments are those of the model."""
    length, device = tokens.shape[1], tokens.device
    positions = torch.arange(length, device=device)
    offset = None
    if "randomised" in config.encodings:
        assert config.positions is not None
        positions = randomised(length, config.positions, training, device)
    elif documents is not None:
        positions = within_documents(documents)
    if training and config.random_offset:
        offset = torch.randint(config.random_offset + 1, (), device=device)
        positions = positions + offset
        if config.positions is not None:
            positions = positions.clamp(max=config.positions - 1)
    valid = None if lengths is None else torch.arange(length, device=device) < lengths[:, None]
    return Scene(
        positions=positions,
        key_positions=positions,
        documents=documents,
        valid=valid,
        causal=config.causal if causal is None else causal,
        offset=offset,
        backend=backend,
    )


def within_documents(documents: Tensor) -> Tensor:
    """The position of each token within its document (b l)."""
    places = torch.arange(documents.shape[1], device=documents.device).expand_as(documents)
    begins = torch.ones_like(documents, dtype=torch.bool)
    begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return places - torch.where(begins, places, 0).cummax(-1).values


def key_scene(scene: Scene, new: int) -> Scene:
    """The same scene with only the last few tokens as queries."""
    return replace(scene, positions=scene.positions[..., -new:])
