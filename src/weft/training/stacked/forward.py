"""The forward pass of a stack of models: that of `Transformer`, with an axis for models in front.

    m  models   b  sequences   l  positions   d  stream   h  heads   k  key dimensions

Products of the stream with a matrix are batched matmuls over models, with sequences and positions
in one axis. Attention has no weights of its own, so models and sequences form one batch axis, and
every kernel of `weft.models` applies. With T5's bias, which differs between models, models and
heads form one axis of heads instead.

The gain and the bias of a pre-norm are multiplied into the matrix that follows it,

    (g * x + b) W  =  x (diag(g) W) + b W,

which costs the size of W instead of a pass over the stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from weft.models.bias import ScoreBias
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext, make_context
from weft.models.dropout import dropout
from weft.models.kernels import softmax_attention
from weft.models.positions import Positions
from weft.models.positions.sinusoidal import BASE

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Weights = Mapping[str, Tensor]


@dataclass(frozen=True)
class StackedInput:
    """The tokens of all models.

    Attributes:
        tokens: m b l.
        lengths: m b; None if models do not need them.
        offsets: m b, what is added to the positions of each sequence; None for nothing.
    """

    tokens: Int[Tensor, "models batch length"]
    lengths: Int[Tensor, "models batch"] | None = None
    offsets: Int[Tensor, "models batch"] | None = None


class StackedForward:
    """Runs a stack of models; one object serves any number of models and any weights."""

    def __init__(self, config: TransformerConfig, position: Positions) -> None:
        """`config` is that of all models, padded; `position` has its encodings' constants."""
        self.config, self.position = config, position

    def __call__(
        self,
        wide: Weights,
        narrow: Weights,
        batch: StackedInput,
        *,
        tabled: Float[Tensor, " models"] | None = None,
        training: bool = False,
    ) -> Float[Tensor, "models tokens outputs"]:
        """The logits of all models, with sequences and positions in one axis.

        Args:
            wide: the weights, for embeddings.
            narrow: the weights in the precision of matmuls; the same ones without bf16.
            batch: the tokens.
            tabled: 1 for models with learned positions, 0 for models without; None if all have.
            training: whether dropout applies.
        """
        config, tokens = self.config, batch.tokens
        context = self._context(batch)
        stream = gather(wide["embedding"], tokens)
        stream = self._positioned(stream, wide, batch, tabled)
        stream = stream.to(narrow["embedding"].dtype).flatten(1, 2)
        stream = embedded = dropout(stream, config.dropout, training)
        bias = self._bias(narrow, context, tokens)
        for number in range(config.layers * config.loops):
            if config.inject and number and number % config.layers == 0:
                stream = stream + embedded
            stream = self._layer(
                stream, narrow, number % config.layers, context, bias, tokens, training
            )
        last = narrow["embedding" if config.tied else "unembedding"].transpose(1, 2)
        if config.norm != "pre":
            return stream @ last
        return _linear(self._normal(stream), *self._folded(narrow, "norm.", last))

    def _context(self, batch: StackedInput) -> AttentionContext:
        """Positions and masks, with models and sequences in one axis."""
        lengths = None if batch.lengths is None or self.config.causal else batch.lengths.flatten()
        tokens = batch.tokens.flatten(0, 1)
        context = make_context(self.config, tokens, lengths)
        if batch.offsets is None or self.config.position in ("learned", "sinusoidal", "none"):
            return context  # positions of others matter in attention
        if self.config.position == "t5":
            return context  # distances do not depend on offsets
        positions = self._positions(batch).flatten(0, 1)
        return replace(context, positions=positions, key_positions=positions)

    def _positions(self, batch: StackedInput) -> Int[Tensor, "*batch length"]:
        """The position of every token: l, or m b l with offsets; padding has no offset."""
        places = torch.arange(batch.tokens.shape[2], device=batch.tokens.device)
        if batch.offsets is None:
            return places
        assert batch.lengths is not None
        inside = places < batch.lengths[..., None]
        return places + batch.offsets[..., None] * inside

    def _positioned(
        self, stream: Tensor, weights: Weights, batch: StackedInput, tabled: Tensor | None
    ) -> Tensor:
        """Embeddings with learned or sinusoidal positions."""
        config = self.config
        if config.position == "learned":
            table = weights["position.parts.learned.table"]
            if tabled is not None:
                table = table * tabled[:, None, None]
            positions = self._positions(batch).clamp(max=table.shape[1] - 1)
            if positions.dim() == 1:
                return stream + table[:, positions][:, None]
            return stream + gather(table, positions)
        if config.position == "sinusoidal":
            scale = weights["position.parts.sinusoidal.scale"]
            steps = torch.arange(0, config.width, 2, device=stream.device, dtype=stream.dtype)
            positions = self._positions(batch)[..., None].to(stream.dtype)
            angles = positions * BASE ** (-steps / config.width)
            waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[..., : config.width]
            return stream + scale[:, None, None, None] * waves
        return stream

    def _bias(
        self, weights: Weights, context: AttentionContext, tokens: Tensor
    ) -> ScoreBias | None:
        if self.config.position != "t5":
            return self.position.bias(context)
        buckets: Any = self.position.parts["t5"].causal_buckets
        table = weights["position.parts.t5.weight"][..., buckets]
        return ScoreBias(table=table.flatten(0, 1))

    def _layer(
        self,
        stream: Tensor,
        weights: Weights,
        number: int,
        context: AttentionContext,
        bias: ScoreBias | None,
        tokens: Tensor,
        training: bool,
    ) -> Tensor:
        config, name = self.config, f"layers.{number}."
        pre = config.norm == "pre"
        matrix, added = self._projection(weights, f"{name}attention.")
        read = stream
        if pre:
            read = self._normal(stream)
            matrix, added = self._folded(weights, f"{name}norms.0.", matrix, added)
        flat = _linear(read, matrix, added)
        mixed = self._attend(flat, context, bias, tokens)
        out = weights[f"{name}attention.output"].flatten(1, 2)
        stream = self._add(
            stream, mixed, out, weights.get(f"{name}attention.output_bias"), training
        )
        if config.norm == "post":
            stream = self._post(stream, weights, f"{name}norms.0.")
        stream = self._feed_forward(stream, weights, name, training)
        return self._post(stream, weights, f"{name}norms.1.") if config.norm == "post" else stream

    def _projection(self, weights: Weights, name: str) -> tuple[Tensor, Tensor | None]:
        """The matrix of queries, keys and values of all heads (m d h*s), and their biases."""
        parts = [weights[f"{name}{each}"] for each in ("query", "key", "value")]
        matrix = torch.cat(parts, -1).transpose(1, 2).flatten(2)
        if not self.config.attention_biases:
            return matrix, None
        biases = [weights[f"{name}{each}_bias"] for each in ("query", "key", "value")]
        heads = self.config.heads
        return matrix, torch.cat(
            [torch.unflatten(each, 1, (heads, -1)) for each in biases], -1
        ).flatten(1)

    def _attend(
        self, flat: Tensor, context: AttentionContext, bias: ScoreBias | None, tokens: Tensor
    ) -> Tensor:
        """The weighted means of values (m b*l h*v)."""
        config, (models, size, length) = self.config, tokens.shape
        widths = [config.key_width, config.key_width, config.value_width]
        scale = config.key_width**-0.5 if config.scaled else 1.0
        if config.position == "t5":  # the bias of a model belongs to its heads
            heads = flat.view(models, size, length, config.heads, sum(widths))
            folded = heads.permute(1, 0, 3, 2, 4).flatten(1, 2)
            query, key, value = torch.split(folded, widths, -1)
            mixed = softmax_attention(query, key, value, scale, bias, context, None)
            assert mixed is not None
            mixed = torch.unflatten(mixed, 1, (models, config.heads))
            return mixed.permute(1, 0, 3, 2, 4).reshape(models, size * length, -1)
        heads = flat.view(models * size, length, config.heads, sum(widths)).transpose(1, 2)
        query, key, value = torch.split(heads, widths, -1)
        query, key = self.position.rotate(query, key, context)
        mixed = softmax_attention(query, key, value, scale, bias, context, None)
        assert mixed is not None
        return mixed.transpose(1, 2).reshape(models, size * length, -1)

    def _feed_forward(self, stream: Tensor, weights: Weights, name: str, training: bool) -> Tensor:
        config, count = self.config, len(self.config.hidden)
        inner = stream
        for place in range(count + 1):
            matrix = weights[f"{name}feed_forward.weights.{place}"].transpose(1, 2)
            added = weights.get(f"{name}feed_forward.biases.{place}")
            if place == 0 and config.norm == "pre":
                inner = self._normal(stream)
                matrix, added = self._folded(weights, f"{name}norms.1.", matrix, added)
            if place == count:
                return self._add(stream, inner, matrix, added, training)
            inner = self._activate(_linear(inner, matrix, added))
        raise AssertionError

    def _activate(self, x: Tensor) -> Tensor:
        activation = self.config.activation
        if activation == "clipped":
            return x.clamp(0, 1)
        if activation == "relu":
            return x.relu()
        if activation == "gelu":
            return nn.functional.gelu(x)
        gate, up = x.chunk(2, -1)
        return nn.functional.silu(gate) * up

    def _add(
        self, stream: Tensor, x: Tensor, matrix: Tensor, added: Tensor | None, training: bool
    ) -> Tensor:
        """stream + x W + b, with dropout on what is added."""
        if training and self.config.dropout:
            return stream + dropout(_linear(x, matrix, added), self.config.dropout, training)
        if added is not None:
            stream = stream + added[:, None]
        return torch.baddbmm(stream, x, matrix)

    def _normal(self, stream: Tensor) -> Tensor:
        """The stream after the norm, without gain and bias."""
        width = (self.config.width,)
        if self.config.norm_type == "rms":
            return nn.functional.rms_norm(stream, width, None, 1e-6)
        return nn.functional.layer_norm(stream, width, None, None, 1e-5)

    def _folded(
        self, weights: Weights, norm: str, matrix: Tensor, added: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """The matrix and the bias that follow a norm, with the norm's gain and bias in them."""
        shift = weights.get(f"{norm}bias")
        if shift is not None:
            moved = (shift[:, None] @ matrix)[:, 0]
            added = moved if added is None else added + moved
        return weights[f"{norm}gain"][..., None] * matrix, added

    def _post(self, stream: Tensor, weights: Weights, norm: str) -> Tensor:
        result = self._normal(stream) * weights[f"{norm}gain"][:, None]
        shift = weights.get(f"{norm}bias")
        return result if shift is None else result + shift[:, None]


def _linear(x: Tensor, matrix: Tensor, added: Tensor | None) -> Tensor:
    """x W + b for every model (m n i, m i o, m o)."""
    if added is None:
        return torch.bmm(x, matrix)
    return torch.baddbmm(added[:, None], x, matrix)


class _Gather(torch.autograd.Function):
    """Rows of tables by number; the gradient is one batched matmul.

    PyTorch's own gradient sorts the numbers, which takes longer than the rest of a small model, or
    adds with atomic operations, which collide if there are few rows.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, rows: Tensor) -> Tensor:
        models, count, width = table.shape
        first = torch.arange(models, device=rows.device) * count
        ctx.save_for_backward(rows)
        ctx.count = count
        flat = (rows + first[:, None, None]).flatten()
        return table.reshape(-1, width).index_select(0, flat).view(*rows.shape, width)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        numbers = torch.arange(ctx.count, device=rows.device)
        marks = (rows.flatten(1)[:, None, :] == numbers[:, None]).to(gradient.dtype)  # m n t
        return torch.bmm(marks, gradient.flatten(1, 2)), None


def gather(
    table: Float[Tensor, "models rows width"], rows: Int[Tensor, "models batch length"]
) -> Float[Tensor, "models batch length width"]:
    """The rows of each model's table."""
    result: Tensor = _Gather.apply(table, rows)  # type: ignore[no-untyped-call]
    return result
