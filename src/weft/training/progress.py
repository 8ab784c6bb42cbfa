"""The progress display: loss, accuracy with n, speed, share of the machine's peak, time left.

Training a token costs 6 N + 12 L T d floating-point operations, forward and backward, where N is
the number of weights that it is multiplied by and the second term is attention over T tokens, half
of it in a causal model.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from weft.models.catalogue import parameters_of
from weft.models.config import TransformerConfig
from weft.statistics import Share
from weft.training.callbacks import Callback, Record, Result
from weft.training.config import TrainingConfig

BAR = 10
"""Width of the progress bar."""
COLUMNS = (
    BarColumn(bar_width=BAR),
    TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
    TextColumn("{task.fields[line]}"),
)
PEAK_SECONDS = 0.2
"""How long the peak is measured."""


class Display(Callback):
    """Shows progress: in a terminal as one line that is updated, elsewhere a line per evaluation.

    Lines fit the width of the console, 80 columns if it is not a terminal: what does not fit is
    left out, the least important first.
    """

    def __init__(self, device: torch.device, console: Console | None = None) -> None:
        self.device = device
        self.console = console or Console(stderr=True, highlight=False)
        self.shares: dict[str, Share] = {}
        self.record: Record | None = None
        self._first: Record | None = None
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def on_start(self, config: TrainingConfig, model: TransformerConfig, step: int) -> None:
        self.config = config
        self.model = replace(model, loops=1) if config.supervision.by == "traces" else model
        self.peak = matmul_peak(self.device, bf16=config.bf16)
        if self.console.is_terminal:
            self._bar = Progress(*COLUMNS, console=self.console)
            self._task = self._bar.add_task("", total=config.steps, completed=step, line="")
            self._bar.start()

    def on_record(self, record: Record) -> None:
        self._first = self._first or record
        self.record = record
        self._update(record.step)

    def on_evaluation(self, step: int, shares: Mapping[str, Share]) -> None:
        self.shares = dict(shares)
        self._update(step)
        if self._bar is None:
            start = f"step {step:,}  "
            self._print(f"{start}{self.line(self.console.width - len(start))}")

    def _update(self, step: int) -> None:
        if self._bar is not None:
            counter = len(f"{step:,}/{self.config.steps:,}")
            line = self.line(self.console.width - BAR - counter - 2)
            self._bar.update(self._task, completed=step, line=line)

    def on_end(self, result: Result) -> None:
        self.close()
        why = f": {result.message}" if result.message else ""
        self._print(f"{result.status} after {result.step:,} steps{why}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def line(self, width: int) -> str:
        """Loss, accuracies, time left and speed, as much as fits `width` columns."""
        parts = [] if self.record is None else [f"loss {self.record.loss:.4f}"]
        accuracies = described(self.shares)
        while accuracies and len("  ".join([*parts, *accuracies])) > width:
            accuracies.pop()
        parts += accuracies
        if self.record is not None:
            for extra in (
                f"{_time(self.left(self.record))} left",
                f"{self.record.tokens_per_second:,.0f} tokens/s",
                f"{self.peak_share(self.record):.0%} of peak FLOP/s",
            ):
                if len("  ".join([*parts, extra])) > width:
                    break
                parts.append(extra)
        return "  ".join(parts)

    def peak_share(self, record: Record) -> float:
        """The share of the machine's peak matmul speed that the run uses, padding not counted."""
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


def described(shares: Mapping[str, Share]) -> list[str]:
    """Each split with its accuracy and n; n once if it is the same for all.

    Example:
        >>> described({"train": Share(99, 100), "longer": Share(50, 100)})
        ['n=100', 'train 99.0%', 'longer 50.0%']
        >>> described({"train": Share(99, 100), "longer": Share(5, 10)})
        ['train 99.0% of 100', 'longer 50.0% of 10']
    """
    counts = {share.count for share in shares.values()}
    if len(counts) == 1:
        accuracies = [f"{split} {share.share:.1%}" for split, share in shares.items()]
        return [f"n={counts.pop():,}", *accuracies]
    return [f"{split} {share.share:.1%} of {share.count:,}" for split, share in shares.items()]


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def matmul_peak(device: torch.device, *, bf16: bool = False) -> float:
    """Operations per second of the fastest of a few large matmuls, in the run's precision."""
    size = 8192 if device.type == "cuda" else 768
    dtype = torch.bfloat16 if bf16 else torch.float32
    generator = torch.Generator(device).manual_seed(0)  # the run's random numbers stay as they are
    matrix = torch.randn(size, size, device=device, generator=generator).to(dtype)
    matrix @ matrix
    best, end = float("inf"), time.perf_counter() + PEAK_SECONDS
    while time.perf_counter() < end:
        _wait(device)
        began = time.perf_counter()
        matrix @ matrix
        _wait(device)
        best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def token_cost(config: TransformerConfig, length: float) -> float:
    """Operations per token while training, for texts of some length.

    Each token of an encoder-decoder is counted as passing through half of the model.
    """
    both = config.kind == "encoder-decoder"
    weights = parameters_of(config).layers * config.loops / (2 if both else 1)
    depth = config.layers * config.loops
    inner = config.heads * (config.key_width + config.value_width) / 2
    attention = 12 * depth * length * inner / (2 if config.causal else 1)
    return 6 * (weights + config.outputs * config.width) + attention
