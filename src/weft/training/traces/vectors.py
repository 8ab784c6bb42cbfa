"""Trace supervision: states as vectors of the compiled residual stream.

    x  =  sum of table[code of variable], plus the averages of heads with a numerical output
    y  =  sum of table[code of variable after the step]

At level 0 every variable has its own dimensions: one-hot, multi-hot, or one for a number. An
undefined head is zero, and after the step all heads are. So x and y are the residual stream of a
compiled model before and after its feed-forward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from weft.errors import WeftError
from weft.language.program import Program
from weft.models.slots import Layout, encode
from weft.training.traces.dataset import Array, TraceSet, averaging_heads

if TYPE_CHECKING:
    from jaxtyping import Float, Int

MAX_DENSE = 1 << 26
"""Up to this many numbers, all vectors are computed ahead; beyond, per batch from codes."""


@dataclass(frozen=True)
class Encoder:
    """Maps codes to vectors.

    Attributes:
        table: c d, the encodings of all values of all variables.
        starts: v, the first row of each variable in the table.
        averaged: h, the dimension of each head with a numerical output.
    """

    table: Array
    starts: Array
    averaged: Array

    def vectors(self, codes: Array, averages: Array | None = None) -> Array:
        """Vectors (n d) of codes (n v) and, before the step, averages (n h)."""
        vectors = np.zeros((len(codes), self.table.shape[1]))
        for column, start in enumerate(self.starts):
            vectors += self.table[codes[:, column] + start]
        if averages is not None:
            vectors[:, self.averaged] += averages
        return vectors


def encoder_of(program: Program, layout: Layout) -> Encoder:
    """The encoder of a program's states in a residual stream."""
    averaging = averaging_heads(program)
    rows: list[Array] = []
    starts = []
    for name, variable in program.variables.items():
        starts.append(len(rows))
        for code in range(len(variable) + 1):
            row = np.zeros(layout.width)
            if code < len(variable) and name not in averaging:
                for dimension, amount in encode(layout[name], code).items():
                    row[dimension] = amount
            rows.append(row)
    averaged = [layout[name].start for name in averaging]
    return Encoder(np.stack(rows), np.array(starts), np.array(averaged, np.intp))


class VectorPairs:
    """The pairs of a trace set on a device, to draw batches from; `of` makes them.

    Attributes:
        count: number of distinct states.
        dense: all vectors x and y, if they fit; otherwise they are built from codes per batch.
    """

    def __init__(
        self,
        counts: Int[Tensor, " states"],
        encoder: Encoder,
        codes: tuple[Int[Tensor, "states variables"], Int[Tensor, "states variables"]],
        averages: Float[Tensor, "states heads"],
        dense: tuple[Float[Tensor, "states width"], Float[Tensor, "states width"]] | None = None,
    ) -> None:
        """`codes` are rows of the encoder's table, before and after the step."""
        self.count = len(counts)
        self.dense, self._codes, self._averages = dense, codes, averages
        self._ends = counts.cumsum(0)
        self._total = int(counts.sum())
        self._table = _tensor(encoder.table).to(counts.device)
        self._averaged = encoder.averaged.tolist()

    @classmethod
    def of(cls, traces: TraceSet, layout: Layout, device: torch.device) -> VectorPairs:
        """Encode the states of a trace set in a model's residual stream."""
        if not len(traces):
            raise WeftError(
                "its runs have no states to learn from",
                subject=traces.program.name,
                remedy="Use inputs with at least one token, on which it runs at least one layer",
            )
        encoder = encoder_of(traces.program, layout)
        before, after = traces.states.codes, traces.after
        dense = None
        if len(traces) * layout.width <= MAX_DENSE:
            vectors = encoder.vectors(before, traces.averages), encoder.vectors(after)
            dense = _tensor(vectors[0]).to(device), _tensor(vectors[1]).to(device)
        starts = encoder.starts.astype(np.int32)
        rows = [torch.from_numpy(np.asarray(codes, np.int32) + starts) for codes in (before, after)]
        return cls(
            torch.from_numpy(np.array(traces.counts)).to(device),
            encoder,
            (rows[0].to(device), rows[1].to(device)),
            _tensor(traces.averages).to(device),
            dense,
        )

    @property
    def device(self) -> torch.device:
        """The device that holds the pairs."""
        return self._ends.device

    def draw(self, size: int, *, by_counts: bool) -> Int[Tensor, " size"]:
        """The numbers of random states: each as often as it occurred, or all equally often."""
        if not by_counts:
            return torch.randint(self.count, (size,), device=self.device)
        drawn = torch.randint(self._total, (size,), device=self.device)
        return torch.searchsorted(self._ends, drawn, right=True)

    def at(
        self, index: Int[Tensor, " size"]
    ) -> tuple[Float[Tensor, "size width"], Float[Tensor, "size width"]]:
        """The residual stream before and after the feed-forward, at some states."""
        if self.dense is not None:
            return self.dense[0][index], self.dense[1][index]
        before, after = (self._table[codes[index]].sum(1) for codes in self._codes)
        for column, dimension in enumerate(self._averaged):
            before[:, dimension] += self._averages[index, column]
        return before, after


def _tensor(values: Array) -> Tensor:
    return torch.from_numpy(np.array(values)).float()
