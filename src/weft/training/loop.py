"""The loop: learn, write down, evaluate, save; and when to end.

A step is learned, then recorded, evaluated and saved, in this order: a checkpoint comes after all
that its step has written, so a run that continues from it writes the same files again.

A signal ends the run after the step under way; a second one breaks the step off, unless weights
are already being changed. The first step of a process, which may have to be compiled for minutes,
is broken off at once. So are evaluations, which are made when the run is resumed. Either way a
checkpoint of the last whole step is saved.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import torch

from weft.errors import Interrupted, WeftError, did_you_mean
from weft.files import Log
from weft.tasks import Task
from weft.tasks.task import TRAIN, VALIDATION
from weft.training import checkpoint
from weft.training.callbacks import Record, Watcher
from weft.training.checkpoint import State
from weft.training.config import TrainingConfig
from weft.training.distributed import Group, Signalled, agreed
from weft.training.evaluation import Predictions, evaluate, test_sets
from weft.training.interrupts import Interrupts
from weft.training.learner import NotFinite, precise
from weft.training.supervising import learner_of

CHOOSING = ("dev",)
"""Splits of tasks that were published to choose settings by."""
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
        interrupts: Interrupts | None = None,
    ) -> None:
        self.config, self.task, self.folder = config, task, folder
        self.device, self.group, self.watcher = device, group, watcher
        self.save_every = save_every
        self.interrupts = interrupts or Interrupts()
        self.signalled = Signalled(group)
        self.learner = learner_of(config, task, device, group)
        splits = config.evaluation.splits or task.tested
        self.decisive = decisive(config)
        if self.decisive and self.decisive not in splits:
            splits = (self.decisive, *splits)
        self.tests = test_sets(task, splits, config.evaluation.size)
        self.predictions: dict[str, Predictions] = {}
        self.evaluated_at = 0
        self._first = True  # whether this process has made no step yet
        self.state = self._continued()
        self.metrics = self._log("metrics.jsonl")
        try:
            self.evaluations = self._log("evaluations.jsonl")
        except BaseException:
            if self.metrics is not None:
                self.metrics.close()
            raise
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
        with self.interrupts.held():
            self._run()

    def _run(self) -> None:
        if self.state.due:
            self._evaluate()
            self._judge()
        feed = self.learner.feed(self.task, self.state.step + 1)
        try:
            batches = iter(feed)
            self._began = self._saved = time.perf_counter()
            while self.state.step < self.config.steps and not self.state.ended:
                self._step(batches)
        finally:
            feed.close()
        self.interrupts.number = self.interrupts.number or self.signalled.settle()
        self.learner.check()
        self.save()
        if self.evaluated_at != self.state.step:
            self._evaluate()

    def _step(self, batches: Iterator[Any]) -> None:
        step = self.state.step + 1
        batch = self._learn(batches, step)
        self._read += batch.read
        last = step == self.config.steps
        if step % self.config.log_every == 0 or last:
            self._record()
        every = self.config.evaluation.every
        if (every and step % every == 0) or last:
            self.state = replace(self.state, due=True)
            self._evaluate()
            self._judge()
        if number := self.signalled.exchange(self.interrupts.number):
            self._leave(number)
        if time.perf_counter() - self._saved >= self.save_every:
            self.save()

    def _learn(self, batches: Iterator[Any], step: int) -> Any:
        """Make a step, all of it or none; gives its batch."""
        random = checkpoint.random_state(self.device)
        try:
            with self.interrupts.held(self._breakable):
                batch = next(batches).to(self.device)
                loss = self.learner.learn(batch, step)
        except NotFinite:
            raise
        except BaseException:
            if not self.learner.updating:
                checkpoint.set_random_state(random, self.device)
                if self.interrupts.number:  # maybe the reason: compilers are interrupted too
                    self._leave(self.interrupts.number, together=False)
            raise
        self._total += loss
        self.state = replace(
            self.state,
            step=step,
            tokens=self.state.tokens + batch.read,
            counted=self.state.counted + 1,
        )
        self.learner.updating = self._first = False
        return batch

    def _breakable(self, again: bool) -> bool:
        """Whether a signal may break the step off; never while others wait for it."""
        return (again or self._first) and self.group.size == 1 and not self.learner.updating

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
        self._read, self._recorded = 0, self.state.seconds
        self._total.zero_()
        most = self.config.stop.divergence * self.learner.guessing
        high = self.state.high + 1 if loss > most else 0
        self.state = replace(self.state, counted=0, high=high)
        self.watcher.logged(record)
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
        step, found = self.state.step, self._predicted()
        if number := self.signalled.agree(self.interrupts.number):
            self._leave(number)
        self.predictions, self.evaluated_at = found, step
        accuracy = {split: found.accuracy for split, found in self.predictions.items()}
        loss = {split: found.loss for split, found in self.predictions.items()}
        if self.evaluations is not None:
            self.evaluations.append({"step": step, "accuracy": accuracy, "loss": loss})
        self.watcher.evaluated(step, accuracy)
        self._began = time.perf_counter()

    def _predicted(self) -> dict[str, Predictions]:
        """What the model chooses for all tests; nothing if a signal arrives meanwhile."""
        random = checkpoint.random_state(self.device)
        size = self.config.evaluation.batch
        try:
            with self.interrupts.at_once(), precise(self.config, self.device):
                return evaluate(self.learner.evaluated, self.tests, batch=size)
        except (Interrupted, Exception):
            if not self.interrupts.number:
                raise
            checkpoint.set_random_state(random, self.device)
            return {}

    def _judge(self) -> None:
        """Keep the best, and say whether the run may end."""
        stop = self.config.stop
        self.state = state = replace(self.state, due=False)
        if self.decisive is None:
            return
        mine = self.predictions[self.decisive].accuracy
        accuracy = agreed([mine], self.device, self.group)[0]
        if accuracy > state.best:
            state = replace(state, best=accuracy, best_step=state.step, waited=0)
        else:
            state = replace(state, waited=state.waited + 1)
        reached = stop.accuracy is not None and accuracy >= stop.accuracy
        stuck = stop.patience is not None and state.waited >= stop.patience
        early = state.step < self.config.steps
        self.state = replace(state, ended="stopped" if early and (reached or stuck) else "")

    def _leave(self, number: int, *, together: bool = True) -> NoReturn:
        """End the run for a signal, in all processes or in this one; the last step is saved."""
        with self.interrupts.held():
            self.learner.check()
            self.save()
            if together:
                self.signalled.wait()  # torchrun ends all when one is gone
        raise Interrupted(
            number,
            f"interrupted after step {self.state.step:,}, which is saved in {self.folder}; "
            "the same command resumes the run",
        ) from None

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

    def rescue(self) -> None:
        """Save the last whole step of a run that fails, if weights are still its own."""
        if not self.learner.updating:
            self.save()

    def close(self) -> None:
        """Close the logs."""
        for log in (self.metrics, self.evaluations):
            if log is not None:
                log.close()


def decisive(config: TrainingConfig) -> str | None:
    """The set whose accuracy ends a run early, and never a test set; None if nothing does."""
    stop = config.stop
    if stop.accuracy is None and stop.patience is None:
        return None
    return VALIDATION if stop.split == TRAIN else stop.split


def check_splits(config: TrainingConfig, task: Task) -> None:
    """Refuse splits that the task has no tests of, and to stop by those that are reported."""
    for split in config.evaluation.splits:
        if split not in (*task.tested, VALIDATION):
            remedy = did_you_mean(split, list(task.tested)).capitalize()
            raise WeftError(f"the task {task.name} has no tests of '{split}'", remedy=remedy)
    name = decisive(config)
    if name not in (None, VALIDATION, *(one for one in CHOOSING if one in task.tested)):
        raise WeftError(
            f"the split '{name}' is for tests, so it cannot decide when a run stops",
            subject="TrainingConfig",
            remedy=f"Set stop.split={TRAIN}, of which a validation set is kept",
        )
