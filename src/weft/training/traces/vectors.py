"""States as vectors of the compiled stream: what the feed-forward reads, and what it leaves.

    x  =  sum of table[code of variable], plus what heads of numbers averaged
    y  =  sum of table[code of variable after the step]

Every variable has its dimensions (level 0's layout): one-hot, multi-hot, or one for a number; an
undefined head is zero, and after the step all are. So x and y are what a compiled model's stream
holds before and after its feed-forward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from weft.errors import WeftError
from weft.language.program import Program
from weft.models.slots import Layout, encode
from weft.training.traces.dataset import Array, TraceSet, averaging_heads

DENSE = 1 << 26
"""Up to how many numbers vectors are made ahead; more are made from codes, batch by batch."""


@dataclass(frozen=True)
class Encoder:
    """Codes to vectors.

    Attributes:
        table: c d, the encoding of every value of every variable, one below the other.
        starts: v, where each variable's values begin there.
        averaged: h, the dimension of each head that averages.
    """

    table: Array
    starts: Array
    averaged: Array

    def vectors(self, codes: Array, averages: Array | None = None) -> Array:
        """Vectors (n d) of codes (n v) and, before the step, averages (n h)."""
        found = np.zeros((len(codes), self.table.shape[1]))
        for column, start in enumerate(self.starts):
            found += self.table[codes[:, column] + start]
        if averages is not None:
            found[:, self.averaged] += averages
        return found


def encoder_of(program: Program, layout: Layout) -> Encoder:
    """The encoder of a program's states in a stream."""
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
    """The pairs of a trace set on a device, to be drawn from."""

    def __init__(self, traces: TraceSet, layout: Layout, device: torch.device) -> None:
        self.encoder = encoder_of(traces.program, layout)
        self.count = len(traces)
        if not self.count:
            raise WeftError(
                "its runs have no states to learn from",
                subject=traces.program.name,
                remedy="Take inputs with at least one token, on which it runs at least one layer",
            )
        self._ends = torch.from_numpy(np.cumsum(traces.counts)).to(device)
        self._total = traces.occurrences
        self._dense: tuple[Tensor, Tensor] | None = None
        if self.count * layout.width <= DENSE:
            read = self.encoder.vectors(traces.states.codes, traces.averages)
            left = self.encoder.vectors(traces.after)
            self._dense = _tensor(read).to(device), _tensor(left).to(device)
        else:
            self._codes = [self._placed(c).to(device) for c in (traces.states.codes, traces.after)]
            self._table = _tensor(self.encoder.table).to(device)
            self._averages = _tensor(traces.averages).to(device)

    def _placed(self, codes: Array) -> Tensor:
        return torch.from_numpy(np.asarray(codes, np.int32) + self.encoder.starts.astype(np.int32))

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self._ends.device

    def draw(self, size: int, *, by_counts: bool) -> Tensor:
        """Random states: each as often as it occurred, or all alike."""
        if not by_counts:
            return torch.randint(self.count, (size,), device=self.device)
        drawn = torch.randint(self._total, (size,), device=self.device)
        return torch.searchsorted(self._ends, drawn, right=True)

    def at(self, index: Tensor) -> tuple[Tensor, Tensor]:
        """What the feed-forward reads and leaves (b d) at some states."""
        if self._dense is not None:
            return self._dense[0][index], self._dense[1][index]
        read, left = (self._table[codes[index]].sum(1) for codes in self._codes)
        for column, place in enumerate(self.encoder.averaged.tolist()):
            read[:, place] += self._averages[index, column]
        return read, left


def _tensor(values: Array) -> Tensor:
    return torch.from_numpy(np.array(values)).float()
