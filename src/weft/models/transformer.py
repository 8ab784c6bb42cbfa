"""The one Transformer: compiled and trained models are the same class.

A layer is attention and a feed-forward, each added to the stream. The position of every tensor's
axes is given by letters:

    b  sequences   l  positions (queries)   m  positions (keys)   h  heads   d  stream
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.cache import Memory
from weft.models.compact_layers import CompactLayer
from weft.models.compaction import compact
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.forward import CompactRunning, Running, Watcher, injects, run_tapped
from weft.models.hooks import Tap, recording, replacing, within
from weft.models.layer import Layer, Norm
from weft.models.placing import key_scene, place
from weft.models.positions import Positions
from weft.models.reading import read_stream
from weft.models.slots import Layout
from weft.models.threads import threads_for

WHOLE = 12
"""So many layers are compiled as one."""

DTYPES = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16}


@dataclass(frozen=True)
class Output:
    """What a forward pass gives.

    Attributes:
        logits: b l outputs.
        stream: b l d, the last stream.
        layers: b, how many layers each sequence ran.
        halted: b, whether each sequence has halted.
    """

    logits: Tensor
    stream: Tensor
    layers: Tensor
    halted: Tensor


class Transformer(nn.Module):
    """A Transformer of any kind, from one config.

    Example:
        >>> import torch
        >>> from weft.models import Transformer, preset
        >>> model = Transformer(preset("nano", vocabulary=16, position="nape"))
        >>> model(torch.tensor([[0, 1, 2]])).logits.shape
        torch.Size([1, 3, 16])
    """

    def __init__(self, config: TransformerConfig, layout: Layout | None = None) -> None:
        super().__init__()
        self.config = config
        self.stream_layout = layout
        self.vocabulary: Any = None
        self._compacted: tuple[Any, CompactLayer | None] | None = None
        self.embedding = nn.Parameter(torch.zeros(config.vocabulary, config.width))
        self.position = Positions(config)
        both = config.kind == "encoder-decoder"
        if config.encoder_position:
            self.encoder_position = Positions(config.of_encoder)
        self.layers = nn.ModuleList(Layer(config, i, cross=both) for i in range(config.layers))
        self.encoder = nn.ModuleList(
            Layer(config, i) for i in range(config.encoder_layers if both else 0)
        )
        self.norm = Norm(config.width) if config.norm == "pre" else None
        self.encoder_norm = Norm(config.width) if both and config.norm == "pre" else None
        if not config.tied:
            self.unembedding = nn.Parameter(torch.zeros(config.outputs, config.width))
        self.to(DTYPES[config.dtype])
        self._body = self._layers

    # Compiled models

    @property
    def layout(self) -> Layout:
        """Which dimensions hold which variable; only a compiled model has one."""
        if self.stream_layout is None:
            raise WeftError(
                "this model's stream has no layout", remedy="Only compiled models have one"
            )
        return self.stream_layout

    def read(self, stream: Tensor) -> dict[str, list[Any]]:
        """The variables of a compiled model's stream (... d) as nested lists; None: undefined."""
        return read_stream(stream, self.layout)

    def compacted(self) -> CompactLayer | None:
        """The looped layer with its zeros left out, where that is possible and nothing is learned.

        It is made once, and again after a weight was changed.
        """
        if self.stream_layout is None:
            return None
        weights = list(self.parameters())
        if torch.is_grad_enabled() and any(weight.requires_grad for weight in weights):
            return None
        now = tuple((weight.data_ptr(), weight._version) for weight in weights)
        if self._compacted is None or self._compacted[0] != now:
            self._compacted = now, compact(self)
        return self._compacted[1]

    def refresh(self) -> None:
        """Forget the compacted layer: weights changed through `.data` are not noticed otherwise."""
        self._compacted = None

    # Running

    def forward(
        self,
        tokens: Tensor,
        lengths: Tensor | None = None,
        *,
        documents: Tensor | None = None,
        source: Tensor | None = None,
        source_lengths: Tensor | None = None,
        layers: int | None = None,
        watch: Watcher | None = None,
        plain: bool = False,
        backend: str = "auto",
        tap: Tap | None = None,
    ) -> Output:
        """Run a batch (b l) of token numbers, padded to one length.

        Args:
            tokens: the inputs; what lies beyond a sequence's length is not looked at.
            lengths: the length of each sequence (b); all of them full where it is left out.
            documents: which document each token belongs to (b l), where several share a row.
            source: what an encoder-decoder's encoder reads (b l).
            source_lengths: the lengths of these.
            layers: run this many, unless a sequence halts before.
            watch: called with every stream on the way.
            plain: multiply all matrices in full, where zeros could be left out.
            backend: `dense` for every mechanism's formula as it stands.
            tap: sees, and may change, what is computed on the way.
        """
        self._fits(tokens, source, watch)
        self._refuse_longer(tokens, lengths)
        scene = place(self.config, tokens, lengths, documents, self.training, backend)
        if self.config.halt is not None or watch is not None or self.stream_layout is not None:
            if tap is not None:
                return self._run_tapped(tokens, scene, layers, tap)
            return self._run(tokens, scene, lengths, layers, watch, plain)
        read, read_scene = self._encode(source, source_lengths, scene, tap)
        stream = self._body(tokens, scene, self._limit(layers), tap, read, read_scene)
        ran = torch.full((len(tokens),), self._limit(layers), device=tokens.device)
        return Output(self._logits(stream), stream, ran, torch.zeros_like(ran, dtype=torch.bool))

    def fused(self) -> Transformer:
        """The same model with its layers compiled by torch.compile, for training on a GPU.

        Up to `WHOLE` layers are compiled as one. Of deeper models, and of encoders that are read
        from, one layer is, which all others share: forty as one would take minutes.
        """
        apart: list[nn.Module] = list(self.encoder)
        if self.config.layers * self.config.loops <= WHOLE:
            self._body = torch.compile(self._layers, dynamic=False)
        else:
            apart += self.layers
        for layer in apart:
            layer.compile(dynamic=False)
        return self

    def _layers(
        self,
        tokens: Tensor,
        scene: Scene,
        count: int,
        tap: Tap | None = None,
        read: Tensor | None = None,
        read_scene: Scene | None = None,
    ) -> Tensor:
        """The stream after so many layers."""
        stream = self.embed(tokens, scene)
        if tap is not None:
            stream = tap("hook_embed", stream)
        bias = self.position.bias(scene)
        if torch.is_autocast_enabled(stream.device.type):  # half of the memory to go through
            stream = stream.to(torch.get_autocast_dtype(stream.device.type))
        first = stream
        for number in range(count):
            if injects(self.config, number, len(self.layers)):
                stream = stream + first
            stream = self.layers[number % len(self.layers)](
                stream, scene, self.position, bias,
                tap=within(tap, f"blocks.{number}."), source=read, source_scene=read_scene,
            )  # fmt: skip
        return stream

    def embed(self, tokens: Tensor, scene: Scene | None = None) -> Tensor:
        """The first stream (b l d)."""
        if scene is None:
            scene = place(self.config, tokens)
        return self._embed(tokens, scene, self.position)

    def _embed(self, tokens: Tensor, scene: Scene, position: Positions) -> Tensor:
        return position.embed(nn.functional.embedding(tokens, self.embedding), tokens, scene)

    def _encode(
        self, source: Tensor | None, lengths: Tensor | None, reader: Scene, tap: Tap | None
    ) -> tuple[Tensor | None, Scene | None]:
        """What the decoder of an encoder-decoder attends to, and how it sees it."""
        if source is None:
            return None, None
        backend = reader.backend
        own, position = self.config.of_encoder, getattr(self, "encoder_position", self.position)
        scene = place(own, source, lengths, None, self.training, backend, causal=False)
        stream = self._embed(source, scene, position)
        if tap is not None:
            stream = tap("encoder.hook_embed", stream)
        bias, first = position.bias(scene), stream
        for number in range(len(self.encoder) * self.config.loops):
            if injects(self.config, number, len(self.encoder)):
                stream = stream + first
            stream = self.encoder[number % len(self.encoder)](
                stream, scene, position, bias, tap=within(tap, f"encoder.blocks.{number}.")
            )
        stream = stream if self.encoder_norm is None else self.encoder_norm(stream)
        return stream, replace(scene, positions=reader.positions)

    def _run(
        self,
        tokens: Tensor,
        scene: Scene,
        lengths: Tensor | None,
        layers: int | None,
        watch: Watcher | None,
        plain: bool,
    ) -> Output:
        """Layer by layer, until everything has halted."""
        if lengths is None:
            lengths = torch.full((len(tokens),), tokens.shape[1], device=tokens.device)
        small = None if plain or not tokens.numel() else self.compacted()
        if small is None:
            state = Running(self, self.embed(tokens, scene), lengths, scene)
            return self._run_layers(state, layers, watch)
        with threads_for(small.work(tokens), tokens.device):
            return self._run_layers(CompactRunning(small, tokens, lengths), layers, watch)

    def _run_layers(self, state: Running, layers: int | None, watch: Watcher | None) -> Output:
        number, limit = 0, self._limit(layers)
        state.finish(number)
        while state.rows.numel() and number < limit:
            layer = self.layers[number % len(self.layers)]
            number += 1
            state.step(layer, number, watch)
            state.finish(number)
        state.stop(number)
        stream = state.finals()
        return Output(self._logits(stream), stream, state.ran, state.halted)

    def _run_tapped(self, tokens: Tensor, scene: Scene, layers: int | None, tap: Tap) -> Output:
        """The same with a tap, all products in full."""
        stream = tap("hook_embed", self.embed(tokens, scene))
        found = run_tapped(self, stream, scene, self._limit(layers), tap)
        return Output(self._logits(found[0]), *found)

    def _logits(self, stream: Tensor) -> Tensor:
        if self.norm is not None:
            stream = self.norm(stream)
        return nn.functional.linear(
            stream, self.embedding if self.config.tied else self.unembedding
        )

    def _limit(self, layers: int | None) -> int:
        most = self.config.layers * self.config.loops
        if layers is None:
            return most
        return layers if self.config.layers == 1 else min(layers, most)

    def _refuse_longer(self, tokens: Tensor, lengths: Tensor | None) -> None:
        """Refuse inputs that are longer than the model is made for."""
        limit = self.config.max_length
        if limit is None or tokens.shape[1] <= limit:
            return
        longest = tokens.shape[1] if lengths is None else int(lengths.max())
        if longest > limit:
            raise WeftError(
                f"the input has {longest} tokens, the model is made for at most {limit}",
                remedy=f"Give a shorter input, or compile with --max-length {longest}",
            )

    def _fits(
        self, tokens: Tensor, source: Tensor | None = None, watch: Watcher | None = None
    ) -> None:
        limit, config = self.config.positions, self.config
        read = 0 if source is None else source.shape[1]
        for length, own in ((tokens.shape[1], config), (read, config.of_encoder)):
            tabled = {"learned", "randomised"} & set(own.encodings)
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

    # Looking inside

    def run_with_cache(
        self,
        tokens: Tensor,
        lengths: Tensor | None = None,
        *,
        names: Callable[[str], bool] | Sequence[str] | None = None,
        **arguments: Any,
    ) -> tuple[Output, dict[str, Tensor]]:
        """Run a batch and give back what was computed on the way, by name.

        Args:
            tokens: the inputs.
            lengths: their lengths.
            names: which to keep, as names or a test; all where it is left out.
            arguments: whatever else `forward` takes.

        Example:
            >>> import torch
            >>> from weft.models import Transformer, preset
            >>> model = Transformer(preset("nano", vocabulary=16))
            >>> _, cache = model.run_with_cache(torch.tensor([[3, 1, 2]]))
            >>> cache["blocks.0.attn.hook_pattern"].shape
            torch.Size([1, 3, 3, 3])
        """
        found: dict[str, Tensor] = {}
        wanted = names if callable(names) else (lambda name: names is None or name in names)
        out = self(tokens, lengths, tap=recording(found, wanted), **arguments)
        return out, found

    def run_with_hooks(
        self,
        tokens: Tensor,
        lengths: Tensor | None = None,
        *,
        hooks: Mapping[str, Callable[[Tensor], Tensor]],
        **arguments: Any,
    ) -> Output:
        """Run a batch with some of what is computed replaced by what hooks make of it."""
        met: set[str] = set()
        out: Output = self(tokens, lengths, tap=replacing(hooks, met), **arguments)
        for name in hooks:
            if name not in met:
                raise WeftError(
                    f"nothing is called '{name}' in this model",
                    remedy="run_with_cache gives all names",
                )
        return out

    # Continuing a text

    def continued(self, tokens: Tensor, new: int, memories: list[Memory]) -> Tensor:
        """The logits (b new outputs) of the last few tokens, given what is kept of the others."""
        self._fits(tokens)
        self._refuse_longer(tokens, None)
        scene = place(self.config, tokens)
        stream = self.embed(tokens, scene)[:, -new:]
        scene = key_scene(scene, new)
        bias = self.position.bias(scene)
        first = stream
        for number, memory in enumerate(memories):
            if injects(self.config, number, len(self.layers)):
                stream = stream + first
            layer = self.layers[number % len(self.layers)]
            stream = layer(stream, scene, self.position, bias, memory)
        return self._logits(stream)
