"""A run in a place of a stack: the loop and the learner of a run alone, on weights in the stack.

`SlotLoop` is the loop of a run whose steps the stack takes. It keeps the run's state, writes its
records and evaluations, and decides when it stops, by the code of a run alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from weft.files import Log
from weft.models.factory import Model, build_model
from weft.models.init import initialise
from weft.tasks import Batch
from weft.training import checkpoint
from weft.training.checkpoint import RunState
from weft.training.distributed import ALONE
from weft.training.evaluation import Predictions
from weft.training.interrupts import Interrupts
from weft.training.learner import Learner, NotFinite
from weft.training.loop import Loop
from weft.training.stacked.learner import StackedLearner
from weft.training.stacked.parameters import optimiser_order, shapes_of
from weft.training.stacked.shape import Member

Files = dict[str, dict[str, Tensor]]
MOMENTS = {"first": "exp_avg", "second": "exp_avg_sq"}
"""The stack's names of AdamW's moments, and PyTorch's."""


class SlotLearner:
    """The part of `Learner` that a loop uses, for a model in a place of a stack."""

    def __init__(self, member: Member, stack: StackedLearner, place: int) -> None:
        self.config, self.member, self.stack, self.place = member.config, member, stack, place
        self.device, self.group, self.updating = torch.device("cpu"), ALONE, False
        self.shapes = shapes_of(member.model)
        self.step = 0
        self.not_finite = torch.zeros((), dtype=torch.bool)  # as of the last record
        self.values: dict[str, float] = {}  # of penalties, likewise

    @property
    def guessing_loss(self) -> float:
        """Loss of a uniform guess, log(classes)."""
        return math.log(max(2, self.member.model.outputs))

    def check(self) -> None:
        """Raise `NotFinite` if a step so far had a loss or gradient that is not finite."""
        if bool(self.not_finite):
            raise NotFinite

    def penalties(self) -> dict[str, float]:
        """The penalties of the last record, without coefficients; empty if none are trained."""
        return {term: self.values[term] for term in self.config.penalty.coefficients}

    @property
    def model(self) -> Model:
        """A copy of the model, on the CPU."""
        return self._built("flat")

    @property
    def evaluated(self) -> Model:
        """A copy of the model to evaluate: the average if there is one."""
        return self._built("average" if self.config.ema else "flat")

    def _built(self, name: str) -> Model:
        model = build_model(self.member.model)
        model.load_state_dict(self.stack.read(self.place, name, self.shapes))
        return model

    def start(self, tensors: Files | None) -> None:
        """Put the model into its place, with new weights or those of a checkpoint."""
        if tensors is None:
            model = initialise(
                build_model(self.member.model), self.config.initial, seed=self.config.seed
            )
            tensors = {"model": model.state_dict()}
            if self.config.ema:
                tensors["ema"] = tensors["model"]
        rows: Files = {"flat": tensors["model"], "average": tensors.get("ema", {})}
        saved = tensors.get("optimiser", {})
        for row, name in MOMENTS.items():
            rows[row] = {}
            for number, weight in enumerate(optimiser_order(self.shapes)):
                if f"0.{number}.{name}" in saved:
                    rows[row][weight] = saved[f"0.{number}.{name}"]
        self.stack.place(self.place, self.member, rows)

    def tensors(self) -> Files:
        """All tensors of a checkpoint, by file, as those of a run alone."""
        read = {row: self.stack.read(self.place, row, self.shapes) for row in ("flat", *MOMENTS)}
        optimiser: dict[str, Tensor] = {}
        for number, weight in enumerate(optimiser_order(self.shapes)):
            optimiser[f"0.{number}.step"] = torch.tensor(float(self.step))
            for row, name in MOMENTS.items():
                optimiser[f"0.{number}.{name}"] = read[row][weight]
        files = {"model": read["flat"], "optimiser": optimiser}
        if self.config.ema:
            files["ema"] = self.stack.read(self.place, "average", self.shapes)
        return files


class SlotLoop(Loop):
    """A run whose steps a stack takes.

    Attributes:
        serial: the number of the run in its stack, from 1.
        place: its place in the stack.
        random: the state of its generator after its last step.
    """

    serial: int
    place: int
    random: bytes
    _next: dict[str, Predictions]

    @classmethod
    def enter(
        cls,
        member: Member,
        stack: StackedLearner,
        place: int,
        serial: int,
        folder: Path,
        tests: Mapping[str, Batch],
    ) -> SlotLoop:
        """Give a run a place, from its newest checkpoint if there is one, and open its logs."""
        learner = SlotLearner(member, stack, place)
        loaded = checkpoint.load(folder)
        state = RunState() if loaded is None else loaded[0]
        with checkpoint.restoring(folder):
            learner.start(None if loaded is None else loaded[1])
        learner.step = state.step
        loop = cls(
            config=member.config, task=member.task, folder=folder,
            learner=cast("Learner", learner), tests=tests, state=state, callbacks=(),
            save_every=math.inf, interrupts=Interrupts(),
        )  # fmt: skip
        loop.place, loop.serial = place, serial
        loop.random = bytes(state.rng) or _seeded(member.config.seed)
        loop._next = {}
        loop.metrics = Log(folder / "metrics.jsonl", state.step)
        loop.evaluations = Log(folder / "evaluations.jsonl", state.step)
        return loop

    @property
    def due(self) -> int:
        """The next step after which there is something to do: a record, an evaluation, the end."""
        config, step = self.config, self.state.step
        every = config.evaluation.every
        marks = [config.steps, step - step % config.log_every + config.log_every]
        return min([*marks, step - step % every + every] if every else marks)

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return bool(self.state.ended) or self.state.step >= self.config.steps

    def advance(self, step: int, loss: float, steps: int, tokens: int, random: bytes) -> None:
        """Note the steps that the stack has taken since the last call.

        Args:
            step: the last step.
            loss: the sum of the losses.
            steps: their number.
            tokens: number of tokens, without padding.
            random: the state of the run's generator.
        """
        self._total += loss
        self._tokens += tokens
        self.random = random
        cast("SlotLearner", self.learner).step = step
        self.state = replace(
            self.state,
            step=step,
            tokens=self.state.tokens + tokens,
            counted=self.state.counted + steps,
        )

    def record(self) -> bool:
        """Write a record if one is due; returns whether an evaluation is due."""
        step, config = self.state.step, self.config
        last = step == config.steps
        if step % config.log_every == 0 or last:
            self._record()
        every = config.evaluation.every
        if (every and step % every == 0) or last:
            self.state = replace(self.state, due=True)
        return self.state.due

    def pause(self) -> None:
        """Stop the clock: the time of evaluations does not count as training time."""
        self._clock()

    def proceed(self) -> None:
        """Start the clock again."""
        self._began = time.perf_counter()

    def note(self, predictions: dict[str, Predictions], *, decide: bool) -> None:
        """Write an evaluation; if `decide`, find out whether the run stops."""
        self._next = predictions
        self._evaluate()
        if decide:
            self._judge()

    def _predict(self) -> dict[str, Predictions]:
        return self._next

    def _with_random(self, state: RunState) -> RunState:
        return replace(state, rng=tuple(self.random), cuda_rng=())


def _seeded(seed: int) -> bytes:
    """The state of a generator with a seed."""
    generator = torch.Generator()
    generator.manual_seed(seed)
    values: Any = generator.get_state().numpy()
    return bytes(values.tobytes())
