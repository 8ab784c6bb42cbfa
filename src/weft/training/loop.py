"""The loop: learn, write down, evaluate, save; and when to end.

A step is learned, then recorded, evaluated and saved, in this order: a checkpoint comes after all
that its step has written, so a run that continues from it writes the same files again.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from weft.errors import WeftError, did_you_mean
from weft.tasks import Task
from weft.training import checkpoint
from weft.training.checkpoint import State
from weft.training.config import TrainingConfig
from weft.training.evaluating import Predictions, evaluate, test_sets
from weft.training.files import Log
from weft.training.learner import precise
from weft.training.parallel import Group, agreed
from weft.training.supervising import learner_of
from weft.training.watching import Record, Watcher

PATIENCE = 3
"""How many records running must be too high before a run has diverged."""


class Diverged(ArithmeticError):
    """The loss has been far above that of guessing for some time."""


class Loop:
    """A run on its way."""

    def __init__(
        self,
        config: TrainingConfig,
        task: Task,
        folder: Path,
        device: torch.device,
        *,
        group: Group,
        watcher: Watcher,
        save_every: float,
    ) -> None:
        self.config, self.task, self.folder = config, task, folder
        self.device, self.group, self.watcher = device, group, watcher
        self.save_every = save_every
        self.learner = learner_of(config, task, device, group)
        self.tests = test_sets(task, config.evaluation.splits, config.evaluation.size)
        self.predictions: dict[str, Predictions] = {}
        self.evaluated_at = 0
        self.state = self._continued()
        self.metrics = self._log("metrics.jsonl")
        self.evaluations = self._log("evaluations.jsonl")
        self._total = torch.tensor(self.state.loss, dtype=torch.float64, device=device)
        self._read, self._recorded = 0, self.state.seconds  # tokens since a record, and when it was
        self._began = self._saved = time.perf_counter()

    def _continued(self) -> State:
        """The state of the newest checkpoint, or of a new run."""
        torch.manual_seed(self.config.seed)
        found = checkpoint.load(self.folder)
        if found is None:
            return State()
        state, tensors = found
        with checkpoint.restoring(self.folder):
            self.learner.restore(tensors)
        checkpoint.restore_random(state, self.device)
        return state

    def _log(self, name: str) -> Log | None:
        return Log(self.folder / name, self.state.step) if self.group.first else None

    def run(self) -> None:
        """All steps that are left, and the last evaluation."""
        feed = self.learner.feed(self.task, self.state.step + 1)
        try:
            batches = iter(feed)
            self._began = self._saved = time.perf_counter()
            while self.state.step < self.config.steps and not self.state.ended:
                self._step(next(batches).to(self.device))
        finally:
            feed.close()
        self.learner.check()
        self.save()
        if self.evaluated_at != self.state.step:
            self._evaluate()

    def _step(self, batch: Any) -> None:
        step = self.state.step + 1
        self._total += self.learner.learn(batch, step)
        self._read += batch.read
        self.state = replace(
            self.state,
            step=step,
            tokens=self.state.tokens + batch.read,
            counted=self.state.counted + 1,
        )
        last = step == self.config.steps
        if step % self.config.log_every == 0 or last:
            self._record()
        every = self.config.evaluation.every
        if (every and step % every == 0) or last:
            self._evaluate()
            self._judge()
        if time.perf_counter() - self._saved >= self.save_every:
            self.save()

    def _record(self) -> None:
        """Write down how it goes, and end the run where it goes nowhere."""
        self.learner.check()
        loss = float(self._total) / self.state.counted
        self._clock()
        passed = self.state.seconds - self._recorded
        record = Record(
            step=self.state.step,
            loss=loss,
            lr=self.learner.lr(self.state.step),
            tokens=self.state.tokens,
            seconds=round(self.state.seconds, 4),
            tokens_per_second=round(self._read / max(passed, 1e-9), 1),
        )
        if self.metrics is not None:
            self.metrics.append(record.as_dict())
        self.watcher.logged(record)
        self._read, self._recorded = 0, self.state.seconds
        self._total.zero_()
        most = self.config.stop.divergence * self.learner.guessing
        high = self.state.high + 1 if loss > most else 0
        self.state = replace(self.state, counted=0, high=high)
        if high >= PATIENCE:
            raise Diverged

    def _clock(self) -> None:
        """Add the time that has passed to the run's."""
        now = time.perf_counter()
        self.state = replace(self.state, seconds=self.state.seconds + now - self._began)
        self._began = now

    def _evaluate(self) -> None:
        """Evaluate on all splits; its time is not counted as learning."""
        self._clock()
        model, step = self.learner.evaluated, self.state.step
        with precise(self.config, self.device):
            self.predictions = evaluate(model, self.tests, batch=self.config.evaluation.batch)
        self.evaluated_at = step
        accuracy = {split: found.accuracy for split, found in self.predictions.items()}
        loss = {split: found.loss for split, found in self.predictions.items()}
        if self.evaluations is not None:
            self.evaluations.append({"step": step, "accuracy": accuracy, "loss": loss})
        self.watcher.evaluated(step, accuracy)
        self._began = time.perf_counter()

    def _judge(self) -> None:
        """Keep the best, and say whether the run may end."""
        stop, state = self.config.stop, self.state
        if stop.split not in self.predictions:
            return
        mine = self.predictions[stop.split].accuracy
        accuracy = agreed([mine], self.device, self.group)[0]
        if accuracy > state.best:
            state = replace(state, best=accuracy, best_step=state.step, waited=0)
        else:
            state = replace(state, waited=state.waited + 1)
        reached = stop.accuracy is not None and accuracy >= stop.accuracy
        stuck = stop.patience is not None and state.waited >= stop.patience
        early = state.step < self.config.steps
        self.state = replace(state, ended="stopped" if early and (reached or stuck) else "")

    def save(self) -> None:
        """Write a checkpoint of this moment."""
        if self.group.first and not bool(self.learner.unsound):
            self._clock()
            whole = replace(self.state, loss=float(self._total))
            whole = checkpoint.with_random(whole, self.device)
            checkpoint.save(self.folder, whole, self.learner.tensors())
        self._saved = time.perf_counter()

    def keep(self) -> None:
        """Save the weights at an unlucky end, where they are still sound."""
        if all(bool(weight.isfinite().all()) for weight in self.learner.model.parameters()):
            self.learner.unsound.zero_()
            self.save()

    def close(self) -> None:
        """Close the logs."""
        for log in (self.metrics, self.evaluations):
            if log is not None:
                log.close()


def check_splits(config: TrainingConfig, task: Task) -> None:
    """Refuse splits that the task has no tests of."""
    for split in config.evaluation.splits:
        if split not in task.tested:
            remedy = did_you_mean(split, list(task.tested)).capitalize()
            raise WeftError(f"the task {task.name} has no tests of '{split}'", remedy=remedy)
