"""Plant parts of one model in another: a compiled feed-forward under trained attention, say.

The source's stream takes some dimensions of the target's stream, its heads and hidden units some of
those of a layer. What is planted computes there what it computed in the source: it reads and writes
its own dimensions only, and everything beyond them is free. Neither model may have norms, since
compiled parts read the stream unnormalised. A `clipped` unit becomes two units in a ReLU model:

    min(max(x, 0), 1) = max(x, 0) - max(x - 1, 0)

Training does not change what is frozen. A weight that is planted as a whole has no gradient, and
optimisers skip it. In one that is planted in part, planted entries have zero gradient, and weight
decay, which needs no gradient, is undone after each step of any PyTorch optimiser. All this belongs
to a model in memory: plant again in a copy or after loading.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NoReturn, get_args

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from weft.errors import WeftError, check_known
from weft.models.attention import Attention
from weft.models.config import BIASED, ROTATED, TransformerConfig
from weft.models.feed_forward import FeedForward
from weft.models.layer import Layer
from weft.models.transformer import Transformer

Part = Literal["embedding", "position", "attention", "feed_forward", "unembedding"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class PlantedEntries:
    """The entries of a weight where `mask` is true, and the values planted there."""

    weight: nn.Parameter
    mask: Tensor
    values: Tensor

    @torch.no_grad()
    def write(self) -> None:
        """Write the values into the weight."""
        mask, values = self.mask.to(self.weight.device), self.values.to(self.weight)
        self.weight.copy_(torch.where(mask, values, self.weight))

    @property
    def intact(self) -> bool:
        """Whether the weight still holds the values."""
        mask, values = self.mask.to(self.weight.device), self.values.to(self.weight)
        return torch.equal(self.weight.detach()[mask], values[mask])


@dataclass(frozen=True)
class Planted:
    """What was planted in a model, by the names of its weights."""

    entries: dict[str, PlantedEntries]
    _undo: list[Callable[[], Any]] = field(default_factory=list, repr=False)

    @property
    def count(self) -> int:
        """How many numbers were planted."""
        return sum(int(entries.mask.sum()) for entries in self.entries.values())

    @property
    def intact(self) -> bool:
        """Whether all of them are unchanged."""
        return all(entries.intact for entries in self.entries.values())

    def write(self) -> None:
        """Write all of them, again or for the first time."""
        for entries in self.entries.values():
            entries.write()

    def freeze(self, model: Transformer) -> None:
        """Keep what is planted in a model unchanged by training."""
        for entries in self.entries.values():
            if entries.weight.requires_grad:
                self._undo.append(_stop_gradient(entries))
        _register()
        writers = FROZEN.setdefault(model, [])
        writers.append(self.write)
        self._undo.append(lambda: writers.remove(self.write))

    def release(self) -> None:
        """Let training change it from now on."""
        while self._undo:
            self._undo.pop()()


FROZEN: weakref.WeakKeyDictionary[Transformer, list[Callable[[], None]]]
FROZEN = weakref.WeakKeyDictionary()
"""For each model with frozen parts, the functions that write them again.

One hook serves all models and stays registered. With a hook per model, a model that is collected
during a step would remove its own while PyTorch iterates over the hooks.
"""


def _write_frozen(*_: Any) -> None:
    for writers in list(FROZEN.values()):
        for write in list(writers):
            write()


@cache
def _register() -> None:
    register_optimizer_step_post_hook(_write_frozen)


def plant(
    source: Transformer,
    *,
    into: Transformer,
    parts: Part | Sequence[Part] = "feed_forward",
    layer: int = 0,
    source_layer: int = 0,
    heads: Sequence[int] | None = None,
    dimension: int = 0,
    head: int = 0,
    unit: int = 0,
    freeze: bool = True,
) -> Planted:
    """Copy parts of a model into another one, which may be larger.

    Args:
        source: the model they come from, compiled or not.
        into: the model that is changed.
        parts: `embedding`, `position` (a learned table), `attention`, `feed_forward`,
            `unembedding`, or several of them.
        layer: the layer that attention and feed-forward are planted in.
        source_layer: the layer that they come from.
        heads: the heads of the source to plant; all by default.
        dimension: the dimension of the stream that becomes the source's first.
        head: the head that becomes the source's first.
        unit: the hidden unit that becomes the source's first, in every hidden layer.
        freeze: whether to keep it unchanged by training.

    Example:
        >>> import torch, weft
        >>> from dataclasses import replace
        >>> from weft.models import Transformer, initialise, plant
        >>> compiled = weft.compile(weft.program("parity")).model
        >>> config = replace(compiled.config, width=16, hidden=(32,), heads=6, halt=None, loops=4)
        >>> model = initialise(Transformer(config))
        >>> planted = plant(compiled, into=model, parts=("embedding", "feed_forward"))
        >>> optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
        >>> model(torch.tensor([[2, 1, 0, 1]])).logits.sum().backward()
        >>> optimiser.step()
        >>> planted.intact
        True
    """
    placement = _Placement(source, into, layer, source_layer, dimension, head, unit, heads)
    entries: dict[str, PlantedEntries] = {}
    names = {weight: name for name, weight in into.named_parameters()}
    for part in (parts,) if isinstance(parts, str) else parts:
        check_known(part, PARTS, f"no part of a model is called '{part}'")
        entries |= {names[block.weight]: block for block in placement.entries(part)}
    planted = Planted(entries)
    planted.write()
    if freeze:
        planted.freeze(into)
    return planted


def _stop_gradient(entries: PlantedEntries) -> Callable[[], Any]:
    """Zero the gradient of entries; returns a function that undoes it."""
    weight, mask = entries.weight, entries.mask
    if bool(mask.all()):
        weight.requires_grad_(False)
        return lambda: weight.requires_grad_(True)

    def masked(gradient: Tensor) -> Tensor:
        return gradient.masked_fill(mask.to(gradient.device), 0.0)

    return weight.register_hook(masked).remove  # type: ignore[no-any-return, no-untyped-call]


@dataclass(frozen=True)
class _Placement:
    """Where a source is planted in a model; attributes as for `plant`."""

    source: Transformer
    into: Transformer
    layer: int
    source_layer: int
    dimension: int
    head: int
    unit: int
    heads: Sequence[int] | None

    @property
    def dimensions(self) -> slice:
        """The source's dimensions of the stream."""
        return slice(self.dimension, self.dimension + self.source.config.width)

    def entries(self, part: Part) -> Iterator[PlantedEntries]:
        """The entries of all weights of a part."""
        source, into = self.source, self.into
        if min(self.dimension, self.head, self.unit, *(self.heads or ())) < 0:
            _refuse("dimension, head, unit and heads count from 0", "Give no negative numbers")
        _check_space("dimensions of the stream", self.dimensions.stop, into.config.width)
        if part == "embedding":
            return self._rows("tokens", source.embedding, into.embedding)
        if part == "unembedding":
            if source.config.tied != into.config.tied:
                _refuse("one model has tied embeddings, the other not", "Set `tied` alike in both")
            return self._rows("outputs", source.output_projection, into.output_projection)
        if part == "position":
            return self._rows("positions", _positions(source), _positions(into))
        if part == "attention":
            self._check_heads()
            return self._heads()
        self._check_units()
        return self._units()

    def _rows(
        self, what: str, table: nn.Parameter, target: nn.Parameter
    ) -> Iterator[PlantedEntries]:
        """The first rows of a table, in the source's dimensions."""
        _check_space(what, len(table), len(target))
        yield _block(target, (slice(0, len(table)), self.dimensions), table)

    # Attention

    def _heads(self) -> Iterator[PlantedEntries]:
        """Heads as a whole: their entries beyond the source's dimensions become zero."""
        source = _layer(self.source, self.source_layer).attention
        target = _layer(self.into, self.layer).attention
        chosen = list(range(self.source.config.heads) if self.heads is None else self.heads)
        narrow, wide = self.source.config, self.into.config
        key_slice, value_slice = slice(0, narrow.key_width), slice(0, narrow.value_width)
        sharpness = _divisor(wide) / _divisor(narrow)
        blocks = {
            "query": (self.dimensions, key_slice, sharpness),
            "key": (self.dimensions, key_slice, 1.0),
            "value": (self.dimensions, value_slice, 1.0),
            "output": (value_slice, self.dimensions, 1.0),
        }
        rows = slice(self.head, self.head + len(chosen))
        for name, (first, second, factor) in blocks.items():
            values = torch.zeros_like(getattr(target, name)[rows])
            values[:, first, second] = getattr(source, name).detach()[chosen].to(values) * factor
            yield _block(getattr(target, name), (rows,), values)
        if wide.attention_biases:
            yield from self._head_biases(source, target, chosen, sharpness)
        if wide.offsets is not None:
            yield _block(target.bias, (rows,), self._offset_biases(wide.offsets)[chosen])
        if wide.sink:
            sink = source.sink if narrow.sink else torch.full((narrow.heads,), float("-inf"))
            yield _block(target.sink, (rows,), sink.detach()[chosen])

    def _head_biases(
        self, source: Attention, target: Attention, chosen: list[int], sharpness: float
    ) -> Iterator[PlantedEntries]:
        """The biases of whole heads, and of the output in the source's dimensions."""
        narrow, wide = self.source.config, self.into.config
        widths = {"query": "key_width", "key": "key_width", "value": "value_width"}
        for name, width in widths.items():
            size, space = getattr(narrow, width), getattr(wide, width)
            bias = getattr(target, f"{name}_bias")
            values = torch.zeros(len(chosen), space, dtype=bias.dtype)
            if narrow.attention_biases:
                biases = getattr(source, f"{name}_bias").detach().view(narrow.heads, size)[chosen]
                values[:, :size] = biases.to(values) * (sharpness if name == "query" else 1.0)
            entries = slice(self.head * space, (self.head + len(chosen)) * space)
            yield _block(bias, (entries,), values.flatten())
        output = torch.zeros(narrow.width)
        if narrow.attention_biases:
            output = source.output_bias.detach()
        yield _block(target.output_bias, (self.dimensions,), output)

    def _offset_biases(self, window: int) -> Tensor:
        """The biases of the source's heads (h offsets), for a window at least as large."""
        narrow = self.source.config.offsets
        if narrow is None:
            return torch.zeros(self.source.config.heads, 2 * window + 3)
        offsets = torch.arange(-window - 1, window + 2).clamp(-narrow - 1, narrow + 1)
        table: Tensor = _layer(self.source, self.source_layer).attention.bias.detach()
        return table[:, offsets + narrow + 1]

    def _check_heads(self) -> None:
        narrow, wide = self.source.config, self.into.config
        _check_unnormalised(self.source, self.into, "AB")
        if narrow.causal != wide.causal:
            _refuse(
                "one model is causal, the other attends in both directions",
                "Plant heads in a model of the same kind",
            )
        if {narrow.attention, wide.attention} != {"softmax"}:
            _refuse("only heads of softmax attention can be planted", "Use attention='softmax'")
        for name in (*narrow.encodings, *wide.encodings):
            if name in (*BIASED, *ROTATED):
                _refuse(f"{name} changes the scores of planted heads", "Use another position")
        if narrow.attention_biases and not wide.attention_biases:
            _refuse("the source's heads have biases", "Make the model with attention_biases=True")
        if narrow.attention_biases and self.heads is not None and len(self.heads) != narrow.heads:
            _refuse("the output bias belongs to all heads of the source", "Leave out heads")
        count = narrow.heads if self.heads is None else len(self.heads)
        _check_space("heads", self.head + count, wide.heads)
        _check_space("heads", 1 + max(self.heads or (-1,)), narrow.heads)
        _check_space("dimensions of a key", narrow.key_width, wide.key_width)
        _check_space("dimensions of a value", narrow.value_width, wide.value_width)
        if narrow.offsets is not None and wide.offsets is None:
            _refuse(
                "the source's heads have biases by offset", f"Use offsets={narrow.offsets} or more"
            )
        _check_space("offsets", narrow.offsets or 0, wide.offsets or 0)
        if narrow.sink and not wide.sink:
            _refuse("the source's heads have sinks", "Make the model with sink=True")

    # Feed-forward

    def _units(self) -> Iterator[PlantedEntries]:
        """Units as a whole: their weights beyond the source's dimensions become zero."""
        target = _layer(self.into, self.layer).feed_forward
        weights, biases = self._source_units()
        last = len(weights) - 1
        hidden = [slice(self.unit, self.unit + len(weight)) for weight in weights[:-1]]
        places = [self.dimensions, *hidden, self.dimensions]
        for n, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            values = torch.zeros_like(target.weights[n])
            values[places[n + 1], places[n]] = weight.to(values)
            rows = slice(None) if n == last and last else places[n + 1]
            columns = slice(None) if n < last else places[n]
            yield _block(target.weights[n], (rows, columns), values[rows, columns])
            if target.biases:
                yield _block(target.biases[n], (places[n + 1],), bias)

    def _source_units(self) -> tuple[list[Tensor], list[Tensor]]:
        """The source's weights and biases, for the target's activation."""
        source: FeedForward = _layer(self.source, self.source_layer).feed_forward
        weights = [weight.detach() for weight in source.weights]
        biases = [bias.detach() for bias in source.biases] or [w.new_zeros(len(w)) for w in weights]
        if self.source.config.activation == self.into.config.activation:
            return weights, biases
        for n in range(len(weights) - 1):
            weights[n] = torch.cat([weights[n], weights[n]])
            biases[n] = torch.cat([biases[n], biases[n] - 1])
            weights[n + 1] = torch.cat([weights[n + 1], -weights[n + 1]], 1)
        return weights, biases

    def _check_units(self) -> None:
        narrow, wide = self.source.config, self.into.config
        _check_unnormalised(self.source, self.into, "CD")
        if narrow.activation == "swiglu":
            _refuse("units of a SwiGLU cannot be planted", "Use another activation")
        activations = narrow.activation, wide.activation
        if narrow.activation != wide.activation and activations != ("clipped", "relu"):
            _refuse(
                f"units with '{narrow.activation}' cannot be planted among '{wide.activation}'",
                f"Make the model with activation='{narrow.activation}'",
            )
        if len(narrow.hidden) != len(wide.hidden):
            _refuse(
                f"the source has {len(narrow.hidden)} hidden layers, the model {len(wide.hidden)}",
                "Make the model with as many",
            )
        per_unit = 1 + (narrow.activation != wide.activation)
        for size, space in zip(narrow.hidden, wide.hidden, strict=True):
            _check_space("hidden units", self.unit + per_unit * size, space)
        if narrow.biases and not wide.biases:
            _refuse("the source's units have biases", "Make the model with biases=True")


def _block(weight: nn.Parameter, place: tuple[slice, ...], values: Tensor) -> PlantedEntries:
    """The entries of a block of a weight."""
    mask, full = torch.zeros_like(weight, dtype=torch.bool), torch.zeros_like(weight)
    mask[place] = True
    with torch.no_grad():
        full[place] = values.to(full)
    return PlantedEntries(weight, mask, full)


def _divisor(config: TransformerConfig) -> float:
    """What scores are divided by."""
    return float(config.key_width**0.5) if config.scaled else 1.0


def _layer(model: Transformer, number: int) -> Layer:
    if not 0 <= number < len(model.layers):
        _refuse(f"there is no layer {number}", f"The model has {len(model.layers)}, counted from 0")
    return model.layers[number]  # type: ignore[return-value]


def _positions(model: Transformer) -> nn.Parameter:
    if "learned" not in model.config.encodings:
        _refuse("a model has no learned positions", "Use position='learned'")
    return model.position.parts["learned"].table  # type: ignore[return-value]


def _check_unnormalised(source: Transformer, into: Transformer, places: str) -> None:
    """Refuse norms and Canon layers between the stream and what is planted."""
    for model in (source, into):
        if model.config.norm != "none":
            _refuse("planted parts read the stream without norms", "Use norm='none' in both models")
        if set(model.config.canon) & set(places):
            _refuse("Canon layers change what planted parts read", f"Leave out {places}")


def _check_space(what: str, needed: int, available: int) -> None:
    if needed > available:
        _refuse(
            f"{needed} {what} are needed, and there are {max(available, 0)}",
            "Make the model larger, or plant elsewhere",
        )


def _refuse(what: str, remedy: str) -> NoReturn:
    raise WeftError(what, subject="plant", remedy=remedy)
