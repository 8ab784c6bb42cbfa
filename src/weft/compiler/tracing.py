"""Traces of compiled models: variables read back from the residual stream, layer by layer.

Weights compute with numbers, so each value comes with a margin: how much the dimensions of its slot
may change before another value is nearest (`weft.models.slots.margin`). For attention it is the gap
between the scores that a head selects and the highest score that it does not, the sink included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from weft.compiler.execution import padded
from weft.errors import WeftError
from weft.language.ranges import UNDEFINED
from weft.language.stream import Stream
from weft.models.factory import Model
from weft.models.slots import Layout, decode, margin
from weft.models.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor


@dataclass(frozen=True)
class ModelLayer:
    """One layer of a model on one input.

    Attributes:
        attended: all variables after attention, which writes the outputs of heads.
        after: all variables after the feed-forward.
        margins: by variable, the smallest margin over positions: of heads after attention, of other
            variables after the feed-forward.
        gaps: by head of the program, the smallest gap of scores over queries; empty for models
            without an attention sink.
    """

    attended: Stream
    after: Stream
    margins: Mapping[str, float]
    gaps: Mapping[str, float]


@dataclass(frozen=True)
class ModelTrace:
    """A compiled model on one input, layer by layer.

    Attributes:
        start: all variables before the first layer.
        layers: the layers, in order.
        heads: the variables that are outputs of heads.
    """

    start: Stream
    layers: tuple[ModelLayer, ...]
    heads: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The trace as plain values, for JSON; a margin or gap without a bound is None."""
        return {
            "start": dict(self.start),
            "layers": [
                {
                    "attended": dict(layer.attended),
                    "after": dict(layer.after),
                    "margins": _finite(layer.margins),
                    "gaps": _finite(layer.gaps),
                }
                for layer in self.layers
            ],
        }


def _finite(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: number if math.isfinite(number) else None for name, number in numbers.items()}


@torch.inference_mode()
def trace_model(model: Model, numbers: Sequence[int], *, layers: int | None = None) -> ModelTrace:
    """Run a compiled model on one input and read its variables back after every layer.

    Args:
        model: a model that was compiled from a program.
        numbers: the numbers of the input's tokens.
        layers: run at most this many layers.

    Example:
        >>> import weft
        >>> from weft.compiler.tracing import trace_model
        >>> model = weft.compile(weft.program("parity"), level=0).model
        >>> trace = trace_model(model, [2, 1, 0, 1])  # s 1 0 1
        >>> [layer.after["parity"] for layer in trace.layers]
        [(0, 1, 0, 1), (0, 1, 1, 1), (0, 1, 1, 0)]
        >>> trace.layers[0].margins["parity"]
        0.5
    """
    layout = model.stream_layout
    if layout is None or not isinstance(model, Transformer):
        raise WeftError(
            "the model does not say which dimensions of its stream hold which variable, so there "
            "is nothing to trace",
            remedy="Trace a compiled model; weft explain shows what was learned from traces",
        )
    tokens, lengths = padded([numbers], model.embedding.device)
    _, cache = model.run_with_cache(tokens, lengths, layers=layers)
    count = len(numbers)
    traced = []
    number = 0
    while f"blocks.{number}.hook_resid_post" in cache:
        block = f"blocks.{number}"
        attended = cache[f"{block}.hook_resid_mid"][0, :count]
        after = cache[f"{block}.hook_resid_post"][0, :count]
        margins = {
            name: float(margin(attended if slot.is_head else after, slot).min())
            for name, slot in layout.items()
        }
        scores = cache.get(f"{block}.attn.hook_attn_scores")
        gaps = {} if scores is None else _gaps(model, number, scores[0, :, :count, :count])
        traced.append(ModelLayer(_values(attended, layout), _values(after, layout), margins, gaps))
        number += 1
    heads = tuple(name for name, slot in layout.items() if slot.is_head)
    return ModelTrace(_values(cache["hook_embed"][0, :count], layout), tuple(traced), heads)


def _values(stream: Float[Tensor, "length width"], layout: Layout) -> Stream:
    """Every variable at every position; a number as its nearest bucket."""
    return Stream(
        {
            name: tuple(
                UNDEFINED if slot.is_undefined(code) else slot.value(code)
                for code in decode(stream, slot).tolist()
            )
            for name, slot in layout.items()
        }
    )


def _gaps(
    model: Model, number: int, scores: Float[Tensor, "heads queries keys"]
) -> dict[str, float]:
    """By head of the program, the smallest gap between selected scores and the others."""
    if not model.config.sink:
        return {}
    layer: Any = model.layers[number % len(model.layers)]
    sink = layer.attention.sink.to(scores.dtype)[:, None, None]
    selected = scores > sink
    lowest = scores.masked_fill(~selected, torch.inf).amin(-1)
    highest = scores.masked_fill(selected, -torch.inf).amax(-1)
    sinks = sink[..., 0].expand_as(lowest)
    gap = torch.where(
        selected.any(-1), lowest - torch.maximum(highest, sinks), sinks - highest
    ).amin(-1)
    return {
        name: float(gap[head]) for head, names in enumerate(model.layout.heads) for name in names
    }
