"""What a run tells while it goes on, for displays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from weft.models.config import TransformerConfig
from weft.statistics import Share
from weft.training.config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class Record:
    """What is written down every few steps.

    Attributes:
        step: how many steps were made.
        loss: the mean since the last record.
        lr: the learning rate of the step.
        tokens: how many were read so far, padding left out.
        seconds: how long the run has been learning.
        tokens_per_second: since the last record.
    """

    step: int
    loss: float
    lr: float
    tokens: int
    seconds: float
    tokens_per_second: float

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


GOOD = ("done", "stopped")
"""How a run ends that came to its end."""


RETRIED = ("out-of-memory", "failed")
"""How a run ends that goes on when it is started again."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """How a run ended.

    Attributes:
        status: `done`; `stopped` if its criterion was met; `nan`, `diverged`, `out-of-memory` or
            `failed`.
        step: how many steps were made.
        accuracy: of every split, at the end.
        loss: of every split, at the end; None if it is not finite.
        best: the highest accuracy of the set that decides when it stops; None if nothing does.
        best_step: when that was.
        tokens: how many were read.
        seconds: how long it was learning.
        parameters: how many the model has.
        message: what went wrong, in words.
        tests: how many tests each split had; empty in results that were written without it.
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
        """Accuracy by split as shares of n tests, for the splits whose n is known."""
        return {
            split: Share.recovered(self.accuracy[split], count)
            for split, count in self.tests.items()
            if split in self.accuracy
        }

    def told(self) -> list[tuple[str, str]]:
        """Each split with its share in words: with n and interval, if n is known."""
        shares = self.shares
        return [
            (split, str(shares[split]) if split in shares else f"{share:.1%}, n unknown")
            for split, share in self.accuracy.items()
        ]

    @property
    def final(self) -> bool:
        """Whether running it again would end the same: errors may be mended, memory added."""
        return self.status not in RETRIED


class Watcher:
    """Is told how a run goes; this one says nothing."""

    def started(self, config: TrainingConfig, model: TransformerConfig, step: int) -> None:
        """The run begins, or goes on after a step."""

    def logged(self, record: Record) -> None:
        """A record was written."""

    def evaluated(self, step: int, accuracy: Mapping[str, float]) -> None:
        """All splits were evaluated."""

    def ended(self, result: Result) -> None:
        """The run has ended."""

    def close(self) -> None:
        """Whatever happened, nothing more will be told."""
