"""The batches of all models for one tick of the stack, in one block of memory.

A tick is one step of every model. Each model may be at a step of its own: a run that ends early
leaves its place to another. So a tick says for every model which run it is for (`serial`) and which
step of it; 0 stands for an idle place.

`TickArrays` are arrays over a block of bytes, which may be shared with other processes. `Source`
fills the rows of one model. Batches and random offsets are those of a run alone: batches follow
from seed and step, and offsets come from a generator with the run's seed, which draws as many
numbers as the run alone would have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from weft.models.config import TransformerConfig
from weft.tasks import Batch, Task
from weft.training.config import TrainingConfig
from weft.training.data import drawn
from weft.training.stacked.shape import Member

RANDOM_STATE = len(torch.Generator().get_state())
"""Bytes of the state of PyTorch's generator."""
ALIGNMENT = 64


@dataclass(frozen=True)
class TickShape:
    """The sizes of a tick.

    Attributes:
        models: number of models.
        batch: examples per model.
        width: tokens per example.
        classes: classes of label sets; 0 if there are none.
    """

    models: int
    batch: int
    width: int
    classes: int


@dataclass(frozen=True)
class TickArrays:
    """A tick: what the models read, and bookkeeping.

    Attributes:
        tokens: m b l.
        targets: m b l, -1 for positions without a target.
        lengths: m b.
        offsets: m b, added to the positions of an example.
        legal: m b l c, for label sets.
        serial: m, the number of the run that a batch is for; 0 if the place is idle.
        step: m, its step.
        width: m, the number of columns that are used.
        target_count: m, number of targets.
        token_count: m, number of tokens without padding.
        random: m, state of the run's generator after the step.
    """

    tokens: Any
    targets: Any
    lengths: Any
    offsets: Any
    legal: Any
    serial: Any
    step: Any
    width: Any
    target_count: Any
    token_count: Any
    random: Any

    @classmethod
    def over(cls, memory: Any, shape: TickShape, start: int = 0) -> TickArrays:
        """The arrays of a tick, over a block of bytes from `start` on."""
        arrays = {}
        for name, (sizes, kind) in _fields(shape).items():
            arrays[name] = np.ndarray(sizes, kind, buffer=memory, offset=start)
            start += _bytes(sizes, kind)
        return cls(**arrays)


def tick_bytes(shape: TickShape) -> int:
    """How many bytes a tick takes."""
    return sum(_bytes(sizes, kind) for sizes, kind in _fields(shape).values())


def _fields(shape: TickShape) -> dict[str, tuple[tuple[int, ...], Any]]:
    rows = (shape.models, shape.batch)
    each = (shape.models,)
    return {
        "tokens": ((*rows, shape.width), np.int16),
        "targets": ((*rows, shape.width), np.int16),
        "lengths": (rows, np.int32),
        "offsets": (rows, np.int32),
        "legal": ((*rows, shape.width, shape.classes), np.bool_),
        "serial": (each, np.int64),
        "step": (each, np.int64),
        "width": (each, np.int64),
        "target_count": (each, np.int64),
        "token_count": (each, np.int64),
        "random": ((shape.models, RANDOM_STATE), np.uint8),
    }


def _bytes(sizes: tuple[int, ...], kind: Any) -> int:
    size: int = math.prod(sizes) * np.dtype(kind).itemsize
    return ALIGNMENT * math.ceil(size / ALIGNMENT)


class Source:
    """The batches of one run, from a step on, in order."""

    def __init__(
        self,
        config: TrainingConfig,
        task: Task,
        model: TransformerConfig,
        serial: int,
        step: int = 0,
        random: bytes = b"",
    ) -> None:
        """`step` is the last step that was taken, `random` the generator's state after it."""
        self.config, self.task, self.model, self.serial = config, task, model, serial
        self.step = step
        self.generator = torch.Generator()
        self.generator.manual_seed(config.seed)
        if random:
            self.generator.set_state(torch.frombuffer(bytearray(random), dtype=torch.uint8))
        self._state = self._random()
        self._draws = bool(model.example_offsets or model.random_offset)

    @classmethod
    def of(cls, member: Member, serial: int, step: int = 0, random: bytes = b"") -> Source:
        """The source of a member of a stack."""
        return cls(member.config, member.task, member.model, serial, step, random)

    def fill(self, tick: TickArrays, place: int) -> None:
        """Write the next batch into the rows of one model; idle after the last step."""
        if self.step >= self.config.steps:
            idle(tick, place)
            return
        step = self.step + 1
        batch = drawn(self.task, self.config, step)
        tick.offsets[place] = 0
        longest = int(batch.lengths.max(initial=1))
        if self._draws:
            whole = self.config.torch_compile or self.config.cuda_graphs  # see Learner.batch
            tick.offsets[place] = self._offsets(batch, batch.tokens.shape[1] if whole else longest)
            self._state = self._random()
        used = slice(longest)
        tick.tokens[place, :, used] = batch.tokens[:, used]
        tick.targets[place, :, used] = batch.targets[:, used]
        tick.tokens[place, :, longest:] = 0
        tick.targets[place, :, longest:] = -1
        if batch.legal is not None:
            classes = batch.legal.shape[-1]
            tick.legal[place, :, used, :classes] = batch.legal[:, used]
            tick.legal[place, :, longest:] = False
            tick.legal[place, :, :, classes:] = False
        tick.lengths[place] = batch.lengths
        tick.width[place] = longest
        tick.target_count[place] = max(1, int(batch.scored.sum()))
        tick.token_count[place] = int(batch.lengths.sum())
        tick.random[place] = self._state
        tick.serial[place], tick.step[place] = self.serial, step
        self.step = step

    def _random(self) -> Any:
        return self.generator.get_state().numpy()

    def _offsets(self, batch: Batch, width: int) -> Any:
        """The random offset of each example, from the draws of a run alone."""
        model = self.model
        if not model.example_offsets:
            largest = model.random_offset
            if "learned" in model.encodings and model.positions is not None:
                largest = min(largest, model.positions - width)
            return int(torch.randint(largest + 1, (), generator=self.generator))
        size = (len(batch.lengths), width)
        shares = torch.rand(size, dtype=torch.float64, generator=self.generator)[:, 0].numpy()
        room = np.full(len(shares), model.random_offset)
        if model.positions is not None:
            free = np.maximum(model.positions - batch.lengths, 0)
            room = np.minimum(free, model.random_offset) if model.random_offset else free
        return np.minimum((shares * (room + 1)).astype(np.int64), room)


def idle(tick: TickArrays, place: int) -> None:
    """Leave one model without a batch."""
    tick.tokens[place], tick.targets[place] = 0, -1
    tick.lengths[place], tick.offsets[place] = 1, 0
    if tick.legal.size:
        tick.legal[place] = False
    tick.serial[place] = tick.step[place] = tick.token_count[place] = 0
    tick.width[place] = tick.target_count[place] = 1
