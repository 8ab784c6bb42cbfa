"""Trace supervision: states as vectors of the compiled residual stream.

    x  =  sum of table[code of variable], plus the averages of heads with a numerical output
    y  =  sum of table[code of variable after the step]

At level 0 every variable has its own dimensions: one-hot, multi-hot, or one for a number. An
undefined head is zero, and after the step all heads are. So x and y are the residual stream of a
compiled model before and after its feed-forward.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from weft.errors import WeftError
from weft.language.program import Program
from weft.models.slots import Layout, encodings
from weft.training.traces.dataset import Array, TraceSet, averaging_heads

if TYPE_CHECKING:
    from jaxtyping import Float, Int

MAX_DENSE = 1 << 26
"""Up to this many numbers, all vectors are computed ahead; beyond, per batch from codes."""
CHUNK = 256
"""Number of states that are encoded at a time."""


@dataclass(frozen=True, eq=False)
class VectorPairs:
    """The pairs of a trace set on a device, to draw batches from; `of` makes them.

    Attributes:
        ends: cumulative counts of the states.
        total: sum of all counts.
        table: the encodings of all values of all variables.
        codes: rows of the table for the variables of each state, before and after the step.
        averages: what heads with a numerical output averaged, before the step.
        averaged: the dimensions of these heads.
        dense: all vectors x and y, if they fit; otherwise they are built from codes per batch.
    """

    ends: Int[Tensor, " states"]
    total: int
    table: Float[Tensor, "codes width"]
    codes: tuple[Int[Tensor, "states variables"], Int[Tensor, "states variables"]]
    averages: Float[Tensor, "states heads"]
    averaged: tuple[int, ...]
    dense: tuple[Float[Tensor, "states width"], Float[Tensor, "states width"]] | None = None

    @classmethod
    def of(cls, traces: TraceSet, layout: Layout, device: torch.device) -> VectorPairs:
        """Encode the states of a trace set in a model's residual stream."""
        if not len(traces):
            raise WeftError(
                "its runs have no states to learn from",
                subject=traces.program.name,
                remedy="Use inputs with at least one token, on which it runs at least one layer",
            )
        blocks = _encodings(traces.program, layout)
        starts = np.cumsum([0, *map(len, blocks[:-1])], dtype=np.int32)
        before, after = (
            torch.from_numpy(np.asarray(codes, np.int32) + starts).to(device)
            for codes in (traces.states.codes, traces.after)
        )
        pairs = cls(
            ends=torch.from_numpy(np.cumsum(np.asarray(traces.counts))).to(device),
            total=traces.occurrences,
            table=torch.from_numpy(np.concatenate(blocks)).float().to(device),
            codes=(before, after),
            averages=torch.from_numpy(np.array(traces.averages)).float().to(device),
            averaged=tuple(layout[name].start for name in averaging_heads(traces.program)),
        )
        if len(traces) * layout.width > MAX_DENSE:
            return pairs
        states = torch.split(torch.arange(pairs.count, device=device), CHUNK)
        parts = [pairs.at(index) for index in states]
        x, y = (torch.cat(vectors) for vectors in zip(*parts, strict=True))
        return replace(pairs, dense=(x, y))

    @property
    def count(self) -> int:
        """The number of distinct states."""
        return len(self.ends)

    @property
    def device(self) -> torch.device:
        """The device that holds the pairs."""
        return self.ends.device

    def draw(self, size: int, *, by_counts: bool) -> Int[Tensor, " size"]:
        """The numbers of random states: each as often as it occurred, or all equally often."""
        if not by_counts:
            return torch.randint(self.count, (size,), device=self.device)
        drawn = torch.randint(self.total, (size,), device=self.device)
        return torch.searchsorted(self.ends, drawn, right=True)

    def at(
        self, index: Int[Tensor, " size"]
    ) -> tuple[Float[Tensor, "size width"], Float[Tensor, "size width"]]:
        """The residual stream before and after the feed-forward, at some states."""
        if self.dense is not None:
            return self.dense[0][index], self.dense[1][index]
        before, after = (self.table[codes[index]].sum(1) for codes in self.codes)
        for column, dimension in enumerate(self.averaged):
            before[:, dimension] += self.averages[index, column]
        return before, after


def _encodings(program: Program, layout: Layout) -> list[Array]:
    """For each variable, the vectors of its values, and zeros for undefined.

    Heads that average have no values in the table: their averages are added.
    """
    blocks = []
    for name, variable in program.variables.items():
        block = np.zeros((len(variable) + 1, layout.width))
        if name not in averaging_heads(program):
            block[:-1, layout[name].dimensions] = encodings(layout[name])
        blocks.append(block)
    return blocks
