"""The one Transformer: compiled and trained models are the same class.

A layer is attention and a feed-forward, each added to the residual stream. Letters name the axes of
tensors:

    b  sequences   l  positions (queries)   m  positions (keys)   h  heads   d  stream
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.language.vocabulary import Vocabulary
from weft.models.cache import KVCache
from weft.models.compact_layers import CompactLayer
from weft.models.compaction import compact
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext, make_context
from weft.models.dropout import dropout
from weft.models.forward import (
    CompactForwardPass,
    ForwardPass,
    HaltingForwardPass,
    HookedForwardPass,
    StreamObserver,
    run_layers,
)
from weft.models.hooks import Hook
from weft.models.init import Initialisation, normal
from weft.models.layer import Layer
from weft.models.norms import norm_of
from weft.models.positions import Positions
from weft.models.sequence_model import SequenceModel
from weft.models.slots import Layout
from weft.models.threads import threads_for

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

    from weft.models.text import TextFormat

MAX_COMPILED_LAYERS = 12
"""Up to this many layers are compiled into one graph."""

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Output:
    """The result of a forward pass.

    Attributes:
        logits: scores of the classes at every position.
        stream: the residual stream after the last layer.
        layers: how many layers each sequence ran.
        halted: whether each sequence halted.
    """

    logits: Float[Tensor, "batch length outputs"]
    stream: Float[Tensor, "batch length width"]
    layers: Int[Tensor, " batch"]
    halted: Bool[Tensor, " batch"]


class Transformer(SequenceModel):
    """A Transformer of any kind, from one config.

    Args:
        config: the architecture.
        layout: for a compiled model, which dimensions of the stream hold which variable.
        vocabulary: the names of its tokens, for a model that reads text.
        between_layers: applied to the stream after every layer, for instance to round variables
            to their nearest values.
        text: how the model reads and writes text (`answer`).

    Example:
        >>> import torch
        >>> from weft.models import Transformer, preset
        >>> model = Transformer(preset("nano", vocabulary=16, position="nape"))
        >>> model(torch.tensor([[0, 1, 2]])).logits.shape
        torch.Size([1, 3, 16])
    """

    architecture = "transformer"

    @torch.inference_mode(False)  # parameters made under inference mode could never be trained
    def __init__(
        self,
        config: TransformerConfig,
        layout: Layout | None = None,
        *,
        vocabulary: Vocabulary | None = None,
        between_layers: Callable[[Tensor], Tensor] | None = None,
        text: TextFormat | None = None,
    ) -> None:
        super().__init__(config, layout, vocabulary, text)
        self.between_layers = between_layers
        self._compacted: tuple[Any, tuple[CompactLayer, ...] | None] | None = None
        self.position = Positions(config)
        both = config.kind == "encoder-decoder"
        if config.encoder_position:
            self.encoder_position = Positions(config.of_encoder)
        self.layers = nn.ModuleList(Layer(config, i, cross=both) for i in range(config.layers))
        self.encoder = nn.ModuleList(
            Layer(config, i) for i in range(config.encoder_layers if both else 0)
        )
        self.norm = norm_of(config) if config.norm == "pre" else None
        self.encoder_norm = norm_of(config) if both and config.norm == "pre" else None
        self.to(DTYPES[config.dtype])
        self._body = self._run_all_layers

    def init_weights(self, init: Initialisation) -> None:
        """Draw the embedding and the output projection."""
        normal(self.embedding, init.embedding_std)
        if not self.config.tied:
            normal(self.unembedding, init.std(self.config.width))

    # Compiled models

    def compacted(self) -> tuple[CompactLayer, ...] | None:
        """The layers without their zeros; None if they have no such form or are being trained.

        They are computed once, and again after a weight has changed.
        """
        if self.stream_layout is None or self.between_layers is not None:
            return None
        weights = list(self.parameters())
        if torch.is_grad_enabled() and any(weight.requires_grad for weight in weights):
            return None
        versions = tuple((weight.data_ptr(), weight._version) for weight in weights)
        if self._compacted is None or self._compacted[0] != versions:
            self._compacted = versions, compact(self)
        return self._compacted[1]

    def refresh(self) -> None:
        """Discard the compact layers: changes to weights through `.data` are not noticed."""
        self._compacted = None

    # Running

    def forward(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        documents: Int[Tensor, "batch length"] | None = None,
        source: Int[Tensor, "batch source_length"] | None = None,
        source_lengths: Int[Tensor, " batch"] | None = None,
        layers: int | None = None,
        watch: StreamObserver | None = None,
        plain: bool = False,
        backend: str = "auto",
        hook: Hook | None = None,
        positions: Int[Tensor, "batch length"] | None = None,
        source_positions: Int[Tensor, "batch source_length"] | None = None,
    ) -> Output:
        """Run a batch of tokens, padded to one length.

        Args:
            tokens: the inputs; tokens beyond a sequence's length are ignored.
            lengths: the length of each sequence; by default all are full.
            documents: the document of each token, if rows hold several.
            source: the inputs of an encoder-decoder's encoder.
            source_lengths: their lengths.
            layers: run at most this many layers.
            watch: called with the stream after attention and after every layer.
            plain: multiply by full matrices even if a compiled model's zeros could be left out.
            backend: `dense` to compute every mechanism by its formula.
            hook: called with every activation, which it may replace (`weft.models.hooks`).
            positions: positions of the tokens, if not those of their order; they change what
                positional encodings encode, and not which tokens attention may see.
            source_positions: the same for the source.
        """
        self._check_inputs(tokens, lengths, source, watch)
        context = make_context(
            self.config, tokens, lengths, documents, self.training, backend, given=positions
        )
        limit = self._limit(layers)
        if self.config.halt is not None or watch is not None or self.stream_layout is not None:
            stream, ran, halted = self._run_halting(
                tokens, context, lengths, limit, watch, hook, plain
            )
        else:
            encoded, encoded_context = self._encode(
                source, source_lengths, context, hook, source_positions
            )
            stream = self._body(tokens, context, limit, hook, encoded, encoded_context)
            ran = torch.full((len(tokens),), limit, device=tokens.device)
            halted = torch.zeros_like(ran, dtype=torch.bool)
        return Output(self._logits(stream), stream, ran, halted)

    def compile_layers(self) -> Transformer:
        """Compile the layers by torch.compile, for training on a GPU, and return the model.

        Up to `MAX_COMPILED_LAYERS` layers become one graph. Deeper models and encoders of
        encoder-decoders compile one layer that all others share: one graph of forty layers takes
        minutes to compile.
        """
        apart: list[nn.Module] = list(self.encoder)
        if self.config.layers * self.config.loops <= MAX_COMPILED_LAYERS:
            self._body = torch.compile(self._run_all_layers, dynamic=False)
        else:
            apart += self.layers
        for layer in apart:
            layer.compile(dynamic=False)
        return self

    def _run_all_layers(
        self,
        tokens: Tensor,
        context: AttentionContext,
        count: int,
        hook: Hook | None = None,
        source: Tensor | None = None,
        source_context: AttentionContext | None = None,
    ) -> Tensor:
        """The stream after a number of layers, without halting."""
        stream = self.embed(tokens, context)
        if hook is not None:
            stream = hook("hook_embed", stream)
        if torch.is_autocast_enabled(stream.device.type):  # halves memory traffic
            stream = stream.to(torch.get_autocast_dtype(stream.device.type))
        state = ForwardPass(
            self, self.layers, self.position, stream, context,
            hook=hook, source=source, source_context=source_context,
        )  # fmt: skip
        run_layers(state, count)
        return state.stream

    def _run_halting(
        self,
        tokens: Tensor,
        context: AttentionContext,
        lengths: Tensor | None,
        limit: int,
        watch: StreamObserver | None,
        hook: Hook | None,
        plain: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The last streams, the number of layers of each sequence, and which have halted."""
        if hook is not None:
            hooked = HookedForwardPass(
                self, hook("hook_embed", self.embed(tokens, context)), context, hook
            )
            run_layers(hooked, limit)
            return hooked.stream, hooked.ran, hooked.halted
        if lengths is None:
            lengths = torch.full((len(tokens),), tokens.shape[1], device=tokens.device)
        compact_layers = None if plain or not tokens.numel() else self.compacted()
        if compact_layers is None:
            stream = self.embed(tokens, context)
            state = HaltingForwardPass(self, stream, context, lengths, watch)
            final = state.finish(run_layers(state, limit))
        else:
            work = max(layer.work(tokens) for layer in compact_layers)
            with threads_for(work, tokens.device):
                state = CompactForwardPass(compact_layers, tokens, lengths, watch)
                final = state.finish(run_layers(state, limit))
        return final, state.ran, state.halted

    def embed(
        self, tokens: Int[Tensor, "batch length"], context: AttentionContext | None = None
    ) -> Float[Tensor, "batch length width"]:
        """The stream before the first layer."""
        if context is None:
            context = make_context(self.config, tokens)
        return self._embed(tokens, context, self.position)

    def _embed(self, tokens: Tensor, context: AttentionContext, position: Positions) -> Tensor:
        stream = position.embed(nn.functional.embedding(tokens, self.embedding), tokens, context)
        return dropout(stream, self.config.dropout, self.training)

    def _encode(
        self,
        source: Tensor | None,
        lengths: Tensor | None,
        decoder: AttentionContext,
        hook: Hook | None,
        positions: Tensor | None = None,
    ) -> tuple[Tensor | None, AttentionContext | None]:
        """The encoder's output, and the context in which the decoder attends to it."""
        if source is None:
            return None, None
        config, position = self.config.of_encoder, getattr(self, "encoder_position", self.position)
        context = make_context(
            config, source, lengths, None, self.training, decoder.backend, False, positions
        )
        stream = self._embed(source, context, position)
        if hook is not None:
            stream = hook("encoder.hook_embed", stream)
        state = ForwardPass(
            self, self.encoder, position, stream, context, hook=hook, prefix="encoder."
        )
        run_layers(state, len(self.encoder) * self.config.loops)
        stream = state.stream if self.encoder_norm is None else self.encoder_norm(state.stream)
        return stream, replace(context, positions=decoder.positions)

    def _limit(self, layers: int | None) -> int:
        limit = self.config.layers * self.config.loops
        if layers is None:
            return limit
        return layers if self.config.layers == 1 else min(layers, limit)

    def _check_inputs(
        self,
        tokens: Tensor,
        lengths: Tensor | None = None,
        source: Tensor | None = None,
        watch: StreamObserver | None = None,
    ) -> None:
        config, limit = self.config, self.config.positions
        source_length = 0 if source is None else source.shape[1]
        for length, part in ((tokens.shape[1], config), (source_length, config.of_encoder)):
            tabled = {"learned", "randomised"} & set(part.encodings)
            if limit is not None and length > limit and tabled:
                raise WeftError(
                    f"the input has {length} tokens, the model {limit} positions",
                    remedy="Give a shorter input, or make the model with more positions",
                )
        both = config.kind == "encoder-decoder"
        if (source is not None) != both:
            raise WeftError(
                f"a model of kind '{config.kind}' was given {'no' if source is None else 'a'} "
                "source",
                remedy="An encoder-decoder reads a source, and no other kind does",
            )
        if watch is not None and both:
            raise WeftError(
                "an encoder-decoder cannot be watched", remedy="Use run_with_cache instead"
            )
        if config.max_length is not None and tokens.shape[1] > config.max_length:
            longest = tokens.shape[1] if lengths is None else int(lengths.max())
            if longest > config.max_length:
                raise WeftError(
                    f"the input has {longest} tokens, the model is made for at most "
                    f"{config.max_length}",
                    remedy=f"Give a shorter input, or compile with --max-length {longest}",
                )

    # Generation

    def decode(
        self, tokens: Int[Tensor, "batch length"], new: int, kv_cache: KVCache
    ) -> Float[Tensor, "batch new outputs"]:
        """The logits of the last `new` tokens, given the cache of all tokens before them."""
        self._check_inputs(tokens)
        context = make_context(self.config, tokens)
        stream = self.embed(tokens, context)[:, -new:]
        state = ForwardPass(
            self, self.layers, self.position, stream, context.last_queries(new), kv_cache=kv_cache
        )
        run_layers(state, len(kv_cache))
        return self._logits(state.stream)
