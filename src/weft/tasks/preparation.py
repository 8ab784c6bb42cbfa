"""The training batches of a run: drawn, and packed or trimmed, before they become tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from weft.tasks.batch import Batch, pack
from weft.tasks.task import TRAIN, Task

Packing = Literal["masked", "unmasked", "cut"]
"""How packed examples see each other (`TrainingConfig.packing`)."""


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """How the batch of a step is made from a task; it follows from the seed and the step alone.

    Attributes:
        seed: seed of the examples.
        size: number of examples that are drawn for a step.
        pack: tokens per row of packed batches; 0 for one example per row.
        rows: number of rows of packed batches; 0 for as many as are needed.
        packing: how packed examples see each other.
        trim: whether columns that are padding in every row are left out; for rows of one example.
    """

    seed: int
    size: int
    pack: int = 0
    rows: int = 0
    packing: Packing = "masked"
    trim: bool = True

    def batch(self, task: Task, step: int) -> Batch:
        """The batch of a step."""
        drawn = task.batch(TRAIN, self.seed, step, self.size)
        if not self.pack:
            return drawn.trimmed() if self.trim else drawn
        found = pack(drawn, self.pack, cut=self.packing == "cut", rows=self.rows or None)
        if self.packing == "masked":
            return found
        return replace(found, documents=None, axes={})  # a row is read as one text
