"""Batches with the trace of a program beside every example, for supervision by streams.

    t  layers   b  examples   l  positions   s  variables that a step writes   h  outputs of heads

A position of the task's question and of the program's input are the same counted from the end.
After an example has halted its variables stay as they are; what heads would fetch then is not asked
for, and neither is what is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from weft.interpreter.batched import BatchRun, run_batch
from weft.models.config import TransformerConfig
from weft.tasks import Batch, Task
from weft.training.config import TrainingConfig
from weft.training.data import Feed, Tensors, tensors_of
from weft.training.distributed import Group
from weft.training.program_task import ProgramTask
from weft.training.traces.dataset import Array

NONE = -1


@dataclass(frozen=True, kw_only=True)
class Traced(Tensors):
    """A batch with its traces.

    Attributes:
        after: t b l s, the code of each variable after each layer; -1 where none is asked for.
        fetched: t b l h, the code of each head's output between attention and feed-forward.
        layers: how many layers the deepest example takes.
        told: how many codes the whole batch has, heads' too.
    """

    after: Tensor
    fetched: Tensor
    layers: int
    told: int


@dataclass(frozen=True)
class Traces:
    """The codes of a batch (t b l s and t b l h), as the task's positions have them."""

    after: Array
    fetched: Array


def traces_of(task: ProgramTask, batch: Batch) -> Traces:
    """The program's traces of a batch of the inner task's examples."""
    inputs = task.encoded(batch)
    run = run_batch(task.program, inputs, trace=True)
    variables = task.program.variables
    stepped = [name for name, one in variables.items() if not one.is_head]
    shape = (run.traced, len(batch), batch.tokens.shape[1])
    after = np.full((*shape, len(stepped)), NONE, np.int64)
    fetched = np.full((*shape, len(task.program.heads)), NONE, np.int64)
    for layer in range(1, run.traced + 1):
        rows, places = _positions(run, layer, batch.lengths)
        kept = places >= 0
        rows, places = rows[kept], places[kept]
        if layer > 1:
            after[layer - 1] = after[layer - 2]  # what has halted stays
        states, attended = run.states(layer, "after"), run.states(layer, "attended")
        for column, name in enumerate(stepped):
            after[layer - 1, rows, places, column] = states[name][kept]
        for column, name in enumerate(task.program.heads):
            codes = attended[name][kept].astype(np.int64)
            defined = np.where(codes < len(variables[name]), codes, NONE)
            fetched[layer - 1, rows, places, column] = defined
    return Traces(after, fetched)


def _positions(run: BatchRun, layer: int, lengths: Array) -> tuple[Array, Array]:
    """The example, and the place in the task's question, of each position that ran a layer."""
    running = [row for row, ran in enumerate(run.layers) if ran >= layer and run.tokens[row]]
    sizes = [len(run.tokens[row]) for row in running]
    rows = np.repeat(np.array(running, np.intp), sizes)
    inside = np.concatenate([np.arange(size) for size in sizes] or [np.zeros(0, np.intp)])
    shift = lengths[rows] - np.repeat(np.array(sizes, np.intp), sizes)
    return rows, inside + shift


class TracedFeed(Feed):
    """The batches of a run with their traces."""

    def __init__(
        self,
        task: Task,
        config: TrainingConfig,
        model: TransformerConfig,
        traced: ProgramTask,
        *,
        first: int,
        pinned: bool = False,
        group: Group | None = None,
    ) -> None:
        self.traced = traced
        super().__init__(task, config, model, first=first, pinned=pinned, group=group)

    def _batch(self, step: int) -> Tensors:
        found = with_traces(self.traced, self._drawn(step).trimmed(), self.model, self.group)
        return found.pinned() if self.pinned else found


def with_traces(
    task: ProgramTask, batch: Batch, model: TransformerConfig, group: Group | None = None
) -> Traced:
    """A batch as tensors with the program's traces, or one process's part of it."""
    plain = tensors_of(batch, model, group)
    traces = traces_of(task, batch)
    told = int((traces.after >= 0).sum() + (traces.fetched >= 0).sum())
    share = slice(None) if group is None else slice(group.rank, None, group.size)
    return Traced(
        **{one.name: getattr(plain, one.name) for one in fields(plain)},
        after=torch.from_numpy(traces.after[:, share].copy()),
        fetched=torch.from_numpy(traces.fetched[:, share].copy()),
        layers=len(traces.after),
        told=told,
    )
