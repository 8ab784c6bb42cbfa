"""Callbacks: code that follows a run, and the records and results that it receives.

`train(config, callbacks=[...])` calls the methods of every `Callback`, in this order:

    on_start        once, when the model is built and, if the run resumes, restored
    on_record       every `log_every` steps, after the record is written to metrics.jsonl
    on_evaluation   after every evaluation, when it is written to evaluations.jsonl
    on_checkpoint   after every checkpoint that is written
    on_end          once, if the run ends by itself: done, stopped, nan, diverged, out of memory
    close           once, always last, also after an error or an interruption

Within a step the order is record, evaluation, checkpoint. Callbacks run in the first process of a
group only, and their time counts as the run's. They observe: what they return is ignored, and they
must not draw from PyTorch's random numbers or change weights if the run is to stay reproducible. An
exception in a callback fails the run, which keeps its last complete step. A run that is finished
already is not trained again, and its callbacks are not called.

    class Losses(Callback):
        def __init__(self):
            self.losses = []

        def on_record(self, record):
            self.losses.append(record.loss)

    losses = Losses()
    train(config, callbacks=[losses])
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from weft.models.config import TransformerConfig
from weft.statistics import Share
from weft.training.config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class Record:
    """A line of metrics.jsonl.

    Attributes:
        step: number of steps so far.
        loss: mean loss since the last record.
        lr: learning rate of the step.
        tokens: number of tokens so far, without padding.
        seconds: training time so far.
        tokens_per_second: since the last record.
        waiting: the share of the time since the last record for which the loop waited for a batch.
            A GPU may still be busy meanwhile, so this is an upper bound of its idle time. Without
            workers and on a CPU it is the time that making batches takes.
        penalties: at this step, the terms of the regulariser that the run is trained with, each
            without its coefficient; left out of the file if there are none.
    """

    step: int
    loss: float
    lr: float
    tokens: int
    seconds: float
    tokens_per_second: float
    waiting: float = 0.0
    penalties: Mapping[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values; without `penalties` if there are none."""
        plain = asdict(self)
        return plain if self.penalties else {k: v for k, v in plain.items() if k != "penalties"}


GOOD = ("done", "stopped")
"""Statuses of runs that are complete."""


RETRIED = ("out-of-memory", "failed")
"""Statuses of runs that resume if they are started again."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended.

    Attributes:
        status: `done`; `stopped` if it met its stopping criterion; `nan`, `diverged`,
            `out-of-memory` or `failed`.
        step: number of steps.
        accuracy: final accuracy per split.
        loss: final loss per split; None if it is not finite.
        best: highest accuracy of the split that decides when to stop; None if none does.
        best_step: the step at which it was reached.
        tokens: number of tokens seen.
        seconds: training time.
        parameters: number of parameters of the model.
        message: what went wrong, in words.
        tests: number of test examples per split; empty in results of old versions.
    """

    status: str
    step: int
    accuracy: dict[str, float]
    loss: dict[str, float | None]
    best: float | None
    best_step: int
    tokens: int
    seconds: float
    parameters: int
    message: str = ""
    tests: dict[str, int] = field(default_factory=dict)

    @property
    def shares(self) -> dict[str, Share]:
        """Accuracy per split as a share of n tests, for the splits whose n is known."""
        return {
            split: Share.recovered(self.accuracy[split], count)
            for split, count in self.tests.items()
            if split in self.accuracy
        }

    def described(self) -> list[tuple[str, str]]:
        """Each split with its accuracy in words: with n and an interval, if n is known."""
        shares = self.shares
        return [
            (split, str(shares[split]) if split in shares else f"{share:.1%}, n unknown")
            for split, share in self.accuracy.items()
        ]

    @property
    def final(self) -> bool:
        """Whether the run would end the same way if it were started again."""
        return self.status not in RETRIED

    def as_dict(self) -> dict[str, Any]:
        """The result as plain values, for JSON, which has no numbers that are not finite."""
        loss = {k: v if v is not None and math.isfinite(v) else None for k, v in self.loss.items()}
        return {**asdict(self), "loss": loss}


class Callback:
    """Follows a run; see this module for the life cycle. Every method does nothing by default."""

    def on_start(self, config: TrainingConfig, model: TransformerConfig, step: int) -> None:
        """The run starts, or resumes after `step`."""

    def on_record(self, record: Record) -> None:
        """A record was written."""

    def on_evaluation(self, step: int, shares: Mapping[str, Share]) -> None:
        """All splits were evaluated; `shares` has the accuracy of each."""

    def on_checkpoint(self, step: int, folder: Path) -> None:
        """A checkpoint was written to `folder`."""

    def on_end(self, result: Result) -> None:
        """The run has ended."""

    def close(self) -> None:
        """No further calls will come, whatever happened."""
