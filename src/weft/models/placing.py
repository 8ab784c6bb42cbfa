"""Where the tokens of a batch stand."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.positions.randomised import randomised


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
    places = torch.arange(tokens.shape[1], device=tokens.device)
    valid = None if lengths is None else places < lengths[:, None]
    positions = places if documents is None else places - beginnings(documents)
    if "randomised" in config.encodings:
        assert config.positions is not None
        positions = randomised(_parts(places, documents, valid), config.positions, training)
    offset = None
    if training and config.random_offset:
        offset = torch.randint(_farthest(config, len(places)) + 1, (), device=tokens.device)
        positions = positions + offset
    scene = Scene(
        positions=positions,
        key_positions=positions,
        counted="randomised" not in config.encodings,
        documents=documents,
        valid=valid,
        causal=config.causal if causal is None else causal,
        offset=offset,
        backend=backend,
    )
    if tokens.is_cuda and backend == "auto" and len(places) >= 128 and wants_blocks(config, scene):
        from weft.models.kernels.flex import blocks_of

        windows: set[int | None] = {None, config.window} if config.attention == "swan" else {None}
        return replace(scene, blocks=blocks_of(scene, windows))
    return scene


def wants_blocks(config: TransformerConfig, scene: Scene) -> bool:
    """Whether FlexAttention is the quickest way: biases on distances, windows, documents."""
    if config.attention not in ("softmax", "swan", "log-scaled") or config.sink:
        return False
    biased = {"alibi", "nape"} & set(config.encodings)
    return bool(biased) or config.attention == "swan" or not scene.is_plain


def beginnings(documents: Tensor) -> Tensor:
    """Where the document of each token begins (b l)."""
    places = torch.arange(documents.shape[1], device=documents.device).expand_as(documents)
    begins = torch.ones_like(documents, dtype=torch.bool)
    begins[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return torch.where(begins, places, 0).cummax(-1).values


def _parts(places: Tensor, documents: Tensor | None, valid: Tensor | None) -> Tensor:
    """l or b l: where the document of each token begins; padding is one more document."""
    begins = torch.zeros_like(places) if documents is None else beginnings(documents)
    if valid is None:
        return begins
    return torch.where(valid, begins, valid.sum(-1, keepdim=True))


def _farthest(config: TransformerConfig, length: int) -> int:
    """How far positions may be moved: a table of them must hold the last one."""
    if "learned" not in config.encodings:
        return config.random_offset
    assert config.positions is not None
    return min(config.random_offset, config.positions - length)


def key_scene(scene: Scene, new: int) -> Scene:
    """The same scene with only the last few tokens as queries."""
    return replace(scene, positions=scene.positions[..., -new:])
