"""Positions and masks of a batch, shared by all layers of a forward pass.

b  sequences   l  queries   m  keys; the last query is at the position of the last key
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from weft.models.config import TransformerConfig
from weft.models.offsets import example_offsets

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

MIN_FLEX_LENGTH = 128
"""FlexAttention computes in blocks of 128 tokens."""


@dataclass(frozen=True)
class AttentionContext:
    """Positions of the tokens of a batch, and which keys each query may attend to.

    Attributes:
        positions: l, or b l if sequences differ: the positions of the queries within their
            documents, or those that were drawn at random for them.
        key_positions: the same for the keys; more than queries while generating.
        consecutive: whether positions grow by one from token to token within a document.
        documents: b m, the document of each key; None if a row is one document.
        valid: b m, false for padding; None if there is none.
        causal: whether a query attends only to keys up to its own position.
        offset: the random offset that was added to positions, if any: one, or b l.
        blocks: FlexAttention's block mask for each window.
        backend: `auto` for the fastest implementation that applies, `dense` for the formula.
    """

    positions: Int[Tensor, "*batch queries"]
    key_positions: Int[Tensor, "*batch keys"]
    consecutive: bool = False
    documents: Int[Tensor, "batch keys"] | None = None
    valid: Bool[Tensor, "batch keys"] | None = None
    causal: bool = False
    offset: Int[Tensor, "*batch"] | None = None
    blocks: dict[int | None, Any] = field(default_factory=dict)
    backend: str = "auto"

    @property
    def queries(self) -> int:
        """The number of queries."""
        return self.positions.shape[-1]

    @property
    def keys(self) -> int:
        """The number of keys."""
        return self.key_positions.shape[-1]

    @property
    def is_unmasked(self) -> bool:
        """Whether there is neither padding nor a border between documents."""
        return self.documents is None and self.valid is None

    def distances(self) -> Int[Tensor, "*batch queries keys"]:
        """How far to the left of each query each key is, by their positions."""
        return self.positions[..., :, None] - self.key_positions[..., None, :]

    def token_distances(self) -> Int[Tensor, "queries keys"]:
        """How many tokens to the left of each query each key is, whatever their positions."""
        keys = torch.arange(self.keys, device=self.positions.device)
        return keys[self.keys - self.queries :, None] - keys[None, :]

    def visible(
        self, window: int | None = None, strict: bool = False
    ) -> Bool[Tensor, "*batch queries keys"] | None:
        """Attention mask (l m or b 1 l m), true if a query may attend to a key; None: to all.

        Args:
            window: attend only to this many tokens, the query's own included.
            strict: do not attend to the query's own token.
        """
        mask: Tensor | None = None
        if self.causal or window is not None or strict:
            distances = self.token_distances()
            mask = torch.ones_like(distances, dtype=torch.bool)
            if self.causal:
                mask = distances >= int(strict)
            if window is not None:
                mask = mask & (distances.abs() < window)
        if self.documents is not None:
            documents = self.documents[:, self.keys - self.queries :]
            mask = _both(mask, (documents[:, None, :, None] == self.documents[:, None, None, :]))
        if self.valid is not None:
            mask = _both(mask, self.valid[:, None, None, :])
        return mask

    def last_queries(self, count: int) -> AttentionContext:
        """The same context with only the last tokens as queries."""
        return replace(self, positions=self.positions[..., -count:])

    def select(
        self, rows: Int[Tensor, " rows"], valid: Bool[Tensor, "rows length"]
    ) -> AttentionContext:
        """The context of some rows, cut to the length of `valid`, which is theirs."""
        length = valid.shape[1]
        positions, documents = self.positions[..., :length], self.documents
        if positions.dim() == 2:
            positions = positions[rows]
        return replace(
            self,
            positions=positions,
            key_positions=positions,
            documents=None if documents is None else documents[rows, :length],
            valid=None if bool(valid.all()) else valid,
        )


def _both(first: Tensor | None, second: Tensor) -> Tensor:
    return second if first is None else first & second


def make_context(
    config: TransformerConfig,
    tokens: Int[Tensor, "batch length"],
    lengths: Int[Tensor, " batch"] | None = None,
    documents: Int[Tensor, "batch length"] | None = None,
    training: bool = False,
    backend: str = "auto",
    causal: bool | None = None,
    given: Int[Tensor, "batch length"] | None = None,
) -> AttentionContext:
    """Return the context of a batch; arguments as for `Transformer.forward`.

    `given` are positions in place of those that the tokens have by their order.
    """
    causal = config.causal if causal is None else causal
    places = torch.arange(tokens.shape[1], device=tokens.device)
    valid = None if lengths is None else places < lengths[:, None]
    positions = places if documents is None else places - document_starts(documents)
    if given is not None:
        return AttentionContext(
            positions=given,
            key_positions=given,
            documents=documents,
            valid=valid,
            causal=causal,
            backend="dense",
        )
    randomised = "randomised" in config.encodings
    if randomised:
        from weft.models.positions.randomised import randomised_positions  # which imports this

        assert config.positions is not None
        starts = _segment_starts(places, documents, valid)
        positions = randomised_positions(starts, config.positions, training)
    offset = None
    if training and config.example_offsets:
        starts = _segment_starts(places, documents, valid).expand_as(tokens)
        offset = example_offsets(starts, valid, config.positions, config.random_offset)
        positions = positions + offset
    elif training and config.random_offset:
        offset = torch.randint(_max_offset(config, len(places)) + 1, (), device=tokens.device)
        positions = positions + offset
    if config.example_offsets and causal and config.halt is None:
        valid = None  # only the offsets needed lengths: nothing attends to padding on the right
    context = AttentionContext(
        positions=positions,
        key_positions=positions,
        consecutive=not randomised,
        documents=documents,
        valid=valid,
        causal=causal,
        offset=offset,
        backend=backend,
    )
    flex = tokens.is_cuda and backend == "auto" and len(places) >= MIN_FLEX_LENGTH
    if flex and uses_flex_attention(config, context):
        from weft.models.kernels.flex import block_masks

        windows: set[int | None] = {None, config.window} if config.attention == "swan" else {None}
        return replace(context, blocks=block_masks(context, windows))
    return context


def uses_flex_attention(config: TransformerConfig, context: AttentionContext) -> bool:
    """Whether FlexAttention is fastest: for biases by distance, windows, documents, padding."""
    if config.attention not in ("softmax", "swan", "log-scaled") or config.sink:
        return False
    biased = {"alibi", "nape"} & set(config.encodings)
    if biased and config.attention == "softmax" and not context.is_unmasked:
        has_kernel = context.causal and context.valid is None and context.consecutive
        return not has_kernel  # which needs no block mask; one per batch would take long to make
    return bool(biased) or config.attention == "swan" or not context.is_unmasked


def document_starts(documents: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """For each token, the place of the first token of its document."""
    places = torch.arange(documents.shape[1], device=documents.device).expand_as(documents)
    is_first = torch.ones_like(documents, dtype=torch.bool)
    is_first[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return torch.where(is_first, places, 0).cummax(-1).values


def _segment_starts(places: Tensor, documents: Tensor | None, valid: Tensor | None) -> Tensor:
    """Document starts (l or b l), with padding as one more document."""
    starts = torch.zeros_like(places) if documents is None else document_starts(documents)
    if valid is None:
        return starts
    return torch.where(valid, starts, valid.sum(-1, keepdim=True))


def _max_offset(config: TransformerConfig, length: int) -> int:
    """The largest random offset with which a table of positions still holds the last token."""
    if "learned" not in config.encodings:
        return config.random_offset
    assert config.positions is not None
    return min(config.random_offset, config.positions - length)
