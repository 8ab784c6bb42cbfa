"""Where a model's parts come to lie in the weights of another, and what is written there.

A `clipped` unit is planted in a model of ReLUs as two:

    min(max(x, 0), 1) = max(x, 0) - max(x - 1, 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

import torch
from torch import Tensor, nn

from weft.errors import WeftError
from weft.models.feed_forward import FeedForward
from weft.models.layer import Layer
from weft.models.transformer import Transformer
from weft.models.validation import BIASED, ROTATED

Part = Literal["embedding", "position", "attention", "feed_forward", "unembedding"]
PARTS: tuple[Part, ...] = ("embedding", "position", "attention", "feed_forward", "unembedding")


@dataclass(frozen=True)
class Entries:
    """Some entries of a weight (`where` is true), and what is planted there."""

    weight: nn.Parameter
    where: Tensor
    values: Tensor

    @torch.no_grad()
    def put(self) -> None:
        """Write them."""
        where, values = self.where.to(self.weight.device), self.values.to(self.weight)
        self.weight.copy_(torch.where(where, values, self.weight))

    @property
    def stand(self) -> bool:
        """Whether they are as they were planted."""
        where, values = self.where.to(self.weight.device), self.values.to(self.weight)
        return torch.equal(self.weight.detach()[where], values[where])


@dataclass(frozen=True)
class Plot:
    """Where a source comes to lie in a model; the arguments are those of `plant`."""

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
        """The source's part of the stream."""
        return slice(self.dimension, self.dimension + self.source.config.width)

    def entries(self, part: Part) -> Iterator[Entries]:
        """All that is planted of a part."""
        source, into = self.source, self.into
        if min(self.dimension, self.head, self.unit, *(self.heads or ())) < 0:
            _refuse("places are counted from 0", "Leave out negative numbers")
        _reaches("dimensions of the stream", self.dimensions.stop, into.config.width)
        if part == "embedding":
            return self._rows("tokens", source.embedding, into.embedding)
        if part == "unembedding":
            if source.config.tied != into.config.tied:
                _refuse("of the models, one is tied, one is not", "Make both alike")
            return self._rows("outputs", _unembedding(source), _unembedding(into))
        if part == "position":
            return self._rows("positions", _positions(source), _positions(into))
        if part == "attention":
            self._fits_heads()
            return self._heads()
        self._fits_units()
        return self._units()

    def _rows(self, what: str, ours: nn.Parameter, theirs: nn.Parameter) -> Iterator[Entries]:
        """The first rows of a table, in the source's dimensions."""
        _reaches(what, len(ours), len(theirs))
        yield _block(theirs, (slice(0, len(ours)), self.dimensions), ours)

    # Attention

    def _heads(self) -> Iterator[Entries]:
        """Whole heads: what they have beyond the source's dimensions is zero."""
        ours = _layer(self.source, self.source_layer).attention
        theirs = _layer(self.into, self.layer).attention
        chosen = list(range(self.source.config.heads) if self.heads is None else self.heads)
        own, wide = self.source.config, self.into.config
        keys, values = slice(0, own.key_width), slice(0, own.value_width)
        sharpness = _root(wide.key_width, wide.scaled) / _root(own.key_width, own.scaled)
        blocks = {
            "query": (self.dimensions, keys, sharpness),
            "key": (self.dimensions, keys, 1.0),
            "value": (self.dimensions, values, 1.0),
            "output": (values, self.dimensions, 1.0),
        }
        rows = slice(self.head, self.head + len(chosen))
        for name, (first, second, factor) in blocks.items():
            made = torch.zeros_like(getattr(theirs, name)[rows])
            made[:, first, second] = getattr(ours, name).detach()[chosen].to(made) * factor
            yield _block(getattr(theirs, name), (rows,), made)
        if wide.offsets is not None:
            yield _block(theirs.bias, (rows,), self._offsets(wide.offsets)[chosen])
        if wide.sink:
            sink = ours.sink if own.sink else torch.full((own.heads,), float("-inf"))
            yield _block(theirs.sink, (rows,), sink.detach()[chosen])

    def _offsets(self, window: int) -> Tensor:
        """The biases of the source's heads (h offsets), in a window at least as large."""
        narrow = self.source.config.offsets
        if narrow is None:
            return torch.zeros(self.source.config.heads, 2 * window + 3)
        offsets = torch.arange(-window - 1, window + 2).clamp(-narrow - 1, narrow + 1)
        table: Tensor = _layer(self.source, self.source_layer).attention.bias.detach()
        return table[:, offsets + narrow + 1]

    def _fits_heads(self) -> None:
        own, wide = self.source.config, self.into.config
        _reads_as_it_is(self.source, self.into, "AB")
        if own.causal != wide.causal:
            _refuse("heads of an encoder see to both sides, of a decoder to the left",
                    "Plant them in a model of the same kind")  # fmt: skip
        if {own.attention, wide.attention} != {"softmax"}:
            _refuse("only heads of softmax attention can be planted", "Use attention='softmax'")
        told = [name for name in (*own.encodings, *wide.encodings) if name in (*BIASED, *ROTATED)]
        if told:
            _refuse(f"{told[0]} changes the scores of planted heads", "Use another position")
        count = own.heads if self.heads is None else len(self.heads)
        _reaches("heads", self.head + count, wide.heads)
        _reaches("heads", 1 + max(self.heads or (-1,)), own.heads)
        _reaches("dimensions of a key", own.key_width, wide.key_width)
        _reaches("dimensions of a value", own.value_width, wide.value_width)
        if own.offsets is not None and wide.offsets is None:
            _refuse("the source's heads look at offsets", f"Use offsets={own.offsets} or more")
        _reaches("offsets", own.offsets or 0, wide.offsets or 0)
        if own.sink and not wide.sink:
            _refuse("the source's heads can attend to nothing", "Make the model with sink=True")

    # Feed-forward

    def _units(self) -> Iterator[Entries]:
        """Whole units: what they read or write beyond the source's dimensions is zero."""
        theirs = _layer(self.into, self.layer).feed_forward
        weights, biases = self._own_units()
        last = len(weights) - 1
        hidden = [slice(self.unit, self.unit + len(weight)) for weight in weights[:-1]]
        places = [self.dimensions, *hidden, self.dimensions]
        for n, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            made = torch.zeros_like(theirs.weights[n])
            made[places[n + 1], places[n]] = weight.to(made)
            rows = slice(None) if n == last and last else places[n + 1]
            columns = slice(None) if n < last else places[n]
            yield _block(theirs.weights[n], (rows, columns), made[rows, columns])
            if theirs.biases:
                yield _block(theirs.biases[n], (places[n + 1],), bias)

    def _own_units(self) -> tuple[list[Tensor], list[Tensor]]:
        """The source's weights and biases, for the model's activation."""
        ours: FeedForward = _layer(self.source, self.source_layer).feed_forward
        weights = [weight.detach() for weight in ours.weights]
        biases = [bias.detach() for bias in ours.biases] or [w.new_zeros(len(w)) for w in weights]
        if self.source.config.activation == self.into.config.activation:
            return weights, biases
        for n in range(len(weights) - 1):
            weights[n] = torch.cat([weights[n], weights[n]])
            biases[n] = torch.cat([biases[n], biases[n] - 1])
            weights[n + 1] = torch.cat([weights[n + 1], -weights[n + 1]], 1)
        return weights, biases

    def _fits_units(self) -> None:
        own, wide = self.source.config, self.into.config
        _reads_as_it_is(self.source, self.into, "CD")
        if own.activation == "swiglu":
            _refuse("units of a SwiGLU cannot be planted", "Use another activation")
        if own.activation != wide.activation and (own.activation, wide.activation) != (
            "clipped", "relu",
        ):  # fmt: skip
            _refuse(f"units with '{own.activation}' cannot be planted among '{wide.activation}'",
                    f"Make the model with activation='{own.activation}'")  # fmt: skip
        if len(own.hidden) != len(wide.hidden):
            _refuse(f"the source has {len(own.hidden)} hidden layers, the model {len(wide.hidden)}",
                    "Make the model with as many")  # fmt: skip
        twice = 1 + (own.activation != wide.activation)
        for size, space in zip(own.hidden, wide.hidden, strict=True):
            _reaches("hidden units", self.unit + twice * size, space)
        if own.biases and not wide.biases:
            _refuse("the source's units have biases", "Make the model with biases=True")


def _block(weight: nn.Parameter, place: tuple[slice, ...], values: Tensor) -> Entries:
    """A block of a weight, with its values."""
    where, made = torch.zeros_like(weight, dtype=torch.bool), torch.zeros_like(weight)
    where[place] = True
    with torch.no_grad():
        made[place] = values.to(made)
    return Entries(weight, where, made)


def _root(width: int, scaled: bool) -> float:
    """What scores are divided by."""
    return float(width**0.5) if scaled else 1.0


def _layer(model: Transformer, number: int) -> Layer:
    if not 0 <= number < len(model.layers):
        _refuse(f"there is no layer {number}", f"The model has {len(model.layers)}, from 0 on")
    return model.layers[number]  # type: ignore[return-value]


def _unembedding(model: Transformer) -> nn.Parameter:
    return model.embedding if model.config.tied else model.unembedding


def _positions(model: Transformer) -> nn.Parameter:
    if "learned" not in model.config.encodings:
        _refuse("there is no table of learned positions", "Use position='learned'")
    return model.position.parts["learned"].table  # type: ignore[return-value]


def _reads_as_it_is(source: Transformer, into: Transformer, places: str) -> None:
    """Nothing stands between the stream and what is planted."""
    for model in (source, into):
        if model.config.norm != "none":
            _refuse("planted parts read the stream as it is", "Use norm='none' in both models")
        if set(model.config.canon) & set(places):
            _refuse("Canon layers change what planted parts read", f"Leave out {places}")


def _reaches(what: str, needed: int, there: int) -> None:
    if needed > there:
        _refuse(f"{needed} {what} are needed, and there are {max(there, 0)}",
                "Make the model larger, or plant elsewhere")  # fmt: skip


def _refuse(what: str, remedy: str) -> NoReturn:
    raise WeftError(what, subject="plant", remedy=remedy)
