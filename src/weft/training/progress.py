"""How a run goes, in the terminal: loss, accuracy, speed, share of the peak, time left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from weft.models.config import TransformerConfig
from weft.training.callbacks import Record, Result, Watcher
from weft.training.config import TrainingConfig
from weft.training.peak import matmul_peak, token_cost

COLUMNS = (
    BarColumn(bar_width=20),
    TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
    TextColumn("{task.fields[said]}"),
)


class Display(Watcher):
    """A line that is kept current in a terminal; elsewhere a line for every evaluation."""

    def __init__(self, device: torch.device, console: Console | None = None) -> None:
        self.device = device
        self.console = console or Console(stderr=True, highlight=False)
        self.accuracy: dict[str, float] = {}
        self.record: Record | None = None
        self._first: Record | None = None
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def started(self, config: TrainingConfig, model: TransformerConfig, step: int) -> None:
        self.config, self.begun = config, step
        self.model = replace(model, loops=1) if config.supervision.by == "traces" else model
        self.peak = matmul_peak(self.device, bf16=config.bf16)
        if self.console.is_terminal:
            self._bar = Progress(*COLUMNS, console=self.console)
            self._task = self._bar.add_task("", total=config.steps, completed=step, said="")
            self._bar.start()

    def logged(self, record: Record) -> None:
        self._first = self._first or record
        self.record = record
        if self._bar is not None:
            self._bar.update(self._task, completed=record.step, said=self.said())

    def evaluated(self, step: int, accuracy: Mapping[str, float]) -> None:
        self.accuracy = dict(accuracy)
        if self._bar is not None:
            self._bar.update(self._task, completed=step, said=self.said())
        else:
            self._print(f"step {step:,}  {self.said()}")

    def ended(self, result: Result) -> None:
        self.close()
        shares = "  ".join(f"{split} {share}" for split, share in result.told())
        why = f": {result.message}" if result.message else ""
        self._print(f"{result.status} after {result.step:,} steps{why}  {shares}".rstrip())

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def said(self) -> str:
        """All there is to say now, on one line."""
        parts = []
        if self.record is not None:
            parts.append(f"loss {self.record.loss:.4f}")
        parts += [f"{split} {share:.1%}" for split, share in self.accuracy.items()]
        if self.record is not None:
            parts.append(f"{self.record.tokens_per_second:,.0f} tokens/s")
            parts.append(f"{self.share(self.record):.0%} of peak")
            parts.append(f"{_time(self.left(self.record))} left")
        return "  ".join(parts)

    def share(self, record: Record) -> float:
        """How much of what the machine can multiply the run uses; padding counts as nothing."""
        length = record.tokens / (record.step * self.config.batch)
        return record.tokens_per_second * token_cost(self.model, length) / self.peak

    def left(self, record: Record) -> float:
        """Seconds until the last step, at the pace since the first record."""
        first = self._first
        if first is None or record.step <= first.step:
            pace = record.seconds / record.step
        else:
            pace = (record.seconds - first.seconds) / (record.step - first.step)
        return pace * (self.config.steps - record.step)

    def _print(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
