"""The training loop: step, record, evaluate, save; and when to stop.

A checkpoint comes after everything that its step has written, so a run that resumes from it writes
the same files again.

A signal ends the run after the current step. A second signal aborts the step, unless weights are
already being updated. The first step of a process, which may compile for minutes, is aborted at
once; so are evaluations, which are repeated when the run resumes. In every case a checkpoint of the
last complete step is saved.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import torch

from weft.errors import Interrupted, check_known
from weft.files import Log
from weft.tasks import Batch, Task
from weft.tasks.task import TRAIN, VALIDATION
from weft.training import checkpoint
from weft.training.callbacks import Callback, Record
from weft.training.checkpoint import RunState
from weft.training.config import TrainingConfig, refuse
from weft.training.distributed import Group, SharedSignals, agreed
from weft.training.evaluation import Predictions, evaluate, test_sets
from weft.training.interrupts import Interrupts
from weft.training.learner import Learner, NotFinite, autocast
from weft.training.optim.optimisers import learning_rate
from weft.training.supervision import learner_of

DEV_SPLITS = ("dev",)
"""Published splits that are meant for choosing settings."""
PATIENCE = 3
"""Number of consecutive records above the threshold after which a run has diverged."""


class Diverged(ArithmeticError):
    """The loss has been far above that of a uniform guess for some time."""


@dataclass(kw_only=True, eq=False)
class Loop:
    """A run in progress; `start` builds one from a config."""

    config: TrainingConfig
    task: Task
    folder: Path
    learner: Learner
    tests: Mapping[str, Batch]
    state: RunState
    callbacks: Sequence[Callback]
    save_every: float
    interrupts: Interrupts
    workers: int = 0

    def __post_init__(self) -> None:
        self.device, self.group = self.learner.device, self.learner.group
        self.signals = SharedSignals(self.group)
        self.predictions: dict[str, Predictions] = {}
        self.evaluated_at = 0
        self.metrics: Log | None = None
        self.evaluations: Log | None = None
        self._first = True  # whether this process has taken no step yet
        self._total = torch.tensor(self.state.loss, dtype=torch.float64, device=self.device)
        self._tokens, self._recorded = 0, self.state.seconds  # since the last record
        self._waited = 0.0
        self._began = self._saved = time.perf_counter()

    @classmethod
    def start(
        cls,
        config: TrainingConfig,
        task: Task,
        folder: Path,
        device: torch.device,
        *,
        group: Group,
        callbacks: Sequence[Callback],
        save_every: float,
        interrupts: Interrupts,
        workers: int = 0,
    ) -> Loop:
        """Build the learner and the test sets; restore the newest checkpoint if there is one."""
        learner = learner_of(config, task, device, group)
        tests = test_sets(task, evaluated_splits(config, task), config.evaluation.size)
        state = _restored(config, folder, learner)
        return cls(
            config=config, task=task, folder=folder, learner=learner, tests=tests, state=state,
            callbacks=callbacks, save_every=save_every, interrupts=interrupts, workers=workers,
        )  # fmt: skip

    def run(self) -> None:
        """Take all remaining steps, and evaluate at the end."""
        with self.interrupts.held():
            if self.group.first:
                self.metrics = Log(self.folder / "metrics.jsonl", self.state.step)
                self.evaluations = Log(self.folder / "evaluations.jsonl", self.state.step)
            self._run()

    def _run(self) -> None:
        if self.state.due:
            self._evaluate()
            self._judge()
        feed = self.learner.feed(self.task, self.state.step + 1, self.workers)
        try:
            self._began = self._saved = time.perf_counter()
            while self.state.step < self.config.steps and not self.state.ended:
                self._step(feed)
        finally:
            feed.close()
        self.interrupts.number = self.interrupts.number or self.signals.settle()
        self.learner.check()
        self.save()
        if self.evaluated_at != self.state.step:
            self._evaluate()

    def _step(self, batches: Iterator[Any]) -> None:
        step = self.state.step + 1
        batch = self._learn(batches, step)
        self._tokens += batch.token_count
        last = step == self.config.steps
        if step % self.config.log_every == 0 or last:
            self._record()
        every = self.config.evaluation.every
        if (every and step % every == 0) or last:
            self.state = replace(self.state, due=True)
            self._evaluate()
            self._judge()
        if number := self.signals.exchange(self.interrupts.number):
            self._leave(number)
        if time.perf_counter() - self._saved >= self.save_every:
            self.save()

    def _learn(self, batches: Iterator[Any], step: int) -> Any:
        """Take a step, completely or not at all; returns its batch."""
        random = checkpoint.random_state(self.device)
        try:
            with self.interrupts.held(self._may_abort):
                asked = time.perf_counter()
                batch = next(batches)
                self._waited += time.perf_counter() - asked
                batch = batch.to(self.device)
                loss = self.learner.learn(batch, step)
        except NotFinite:
            raise
        except BaseException:
            if not self.learner.updating:
                checkpoint.set_random_state(random, self.device)
                if self.interrupts.number:  # maybe the cause: compilers are interrupted too
                    self._leave(self.interrupts.number, together=False)
            raise
        self._total += loss
        self.state = replace(
            self.state,
            step=step,
            tokens=self.state.tokens + batch.token_count,
            counted=self.state.counted + 1,
        )
        self.learner.updating = self._first = False
        return batch

    def _may_abort(self, again: bool) -> bool:
        """Whether a signal may abort the step; never while other processes wait for it."""
        return (again or self._first) and self.group.size == 1 and not self.learner.updating

    def _record(self) -> None:
        """Write a record, and raise `Diverged` if the loss has been too high for too long."""
        self.learner.check()
        loss = float(self._total) / self.state.counted
        self._clock()
        elapsed = self.state.seconds - self._recorded
        record = Record(
            step=self.state.step,
            loss=loss,
            lr=learning_rate(self.config, self.state.step),
            tokens=self.state.tokens,
            seconds=round(self.state.seconds, 4),
            tokens_per_second=round(self._tokens / max(elapsed, 1e-9), 1),
            waiting=round(min(1.0, self._waited / max(elapsed, 1e-9)), 4),
            penalties=self.learner.penalties(),
        )
        if self.metrics is not None:
            self.metrics.append(record.as_dict())
        self._tokens, self._waited, self._recorded = 0, 0.0, self.state.seconds
        self._total.zero_()
        threshold = self.config.stop.divergence * self.learner.guessing_loss
        high = self.state.high + 1 if loss > threshold else 0
        self.state = replace(self.state, counted=0, high=high)
        for callback in self.callbacks:
            callback.on_record(record)
        if high >= PATIENCE:
            raise Diverged

    def _clock(self) -> None:
        """Add the time since the last call to the training time."""
        now = time.perf_counter()
        self.state = replace(self.state, seconds=self.state.seconds + now - self._began)
        self._began = now

    def _evaluate(self) -> None:
        """Evaluate on all splits; the time does not count as training time."""
        self._clock()
        step, predictions = self.state.step, self._predict()
        if number := self.signals.agree(self.interrupts.number):
            self._leave(number)
        self.predictions, self.evaluated_at = predictions, step
        accuracy = {split: table.accuracy for split, table in predictions.items()}
        loss = {split: table.loss for split, table in predictions.items()}
        if self.evaluations is not None:
            self.evaluations.append({"step": step, "accuracy": accuracy, "loss": loss})
        shares = {split: table.share for split, table in predictions.items()}
        for callback in self.callbacks:
            callback.on_evaluation(step, shares)
        self._began = time.perf_counter()

    def _predict(self) -> dict[str, Predictions]:
        """The model's predictions for all test sets; none if a signal arrives meanwhile."""
        random = checkpoint.random_state(self.device)
        size, label_sets = self.config.evaluation.batch, self.config.supervision.label_sets
        try:
            with self.interrupts.at_once(), autocast(self.config, self.device):
                return evaluate(
                    self.learner.evaluated, self.tests, batch=size, label_sets=label_sets
                )
        except (Interrupted, Exception):
            if not self.interrupts.number:
                raise
            checkpoint.set_random_state(random, self.device)
            return {}

    def _judge(self) -> None:
        """Update the best accuracy, and decide whether the run stops."""
        stop, name = self.config.stop, deciding_split(self.config)
        self.state = state = replace(self.state, due=False)
        if name is None:
            return
        mine = self.predictions[name].accuracy
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
        """Save the last step and raise `Interrupted`, in all processes or in this one."""
        with self.interrupts.held():
            self.learner.check()
            self.save()
            if together:
                self.signals.wait()  # torchrun ends all processes when one is gone
        raise Interrupted(
            number,
            f"interrupted after step {self.state.step:,}, which is saved in {self.folder}; "
            "the same command resumes the run",
        ) from None

    def save(self) -> None:
        """Write a checkpoint."""
        if self.group.first and not bool(self.learner.not_finite):
            self._clock()
            state = replace(self.state, loss=float(self._total))
            state = self._with_random(state)
            written = checkpoint.save(self.folder, state, self.learner.tensors())
            for callback in self.callbacks:
                callback.on_checkpoint(state.step, written)
        self._saved = time.perf_counter()

    def _with_random(self, state: RunState) -> RunState:
        """The run state with those of the generators that the run draws from."""
        return checkpoint.with_random(state, self.device)

    def save_finite(self) -> None:
        """Save the weights of a run whose loss went wrong, if they are still finite."""
        if all(bool(weight.isfinite().all()) for weight in self.learner.model.parameters()):
            self.learner.not_finite.zero_()
            self.save()

    def rescue(self) -> None:
        """Save the last complete step of a run that failed, unless it failed in an update."""
        if not self.learner.updating:
            self.save()

    def close(self) -> None:
        """Close the logs."""
        for log in (self.metrics, self.evaluations):
            if log is not None:
                log.close()


def _restored(config: TrainingConfig, folder: Path, learner: Learner) -> RunState:
    """The state of the newest checkpoint, loaded into the learner; that of a new run otherwise."""
    torch.manual_seed(config.seed)
    loaded = checkpoint.load(folder)
    if loaded is None:
        return RunState()
    state, tensors = loaded
    with checkpoint.restoring(folder):
        learner.restore(tensors)
    checkpoint.restore_random(state, learner.device)
    return state


def deciding_split(config: TrainingConfig) -> str | None:
    """The set whose accuracy stops a run early, which is never a test set; None if none does."""
    stop = config.stop
    if stop.accuracy is None and stop.patience is None:
        return None
    return VALIDATION if stop.split == TRAIN else stop.split


def evaluated_splits(config: TrainingConfig, task: Task) -> tuple[str, ...]:
    """The sets that a run is evaluated on: the config's, or all, and the one that decides."""
    splits = config.evaluation.splits or task.tested
    name = deciding_split(config)
    return (name, *splits) if name and name not in splits else splits


def check_splits(config: TrainingConfig, task: Task) -> None:
    """Refuse splits without a test set, and stopping by a split whose accuracy is reported."""
    for split in config.evaluation.splits:
        if split != VALIDATION:
            what = f"the task {task.name} has no test set for '{split}'"
            check_known(split, task.testable, what)
    name = deciding_split(config)
    allowed = (None, VALIDATION, *(split for split in DEV_SPLITS if split in task.tested))
    if name not in allowed:
        refuse(
            f"the split '{name}' is a test set, so it cannot decide when a run stops",
            f"Set stop.split={TRAIN}, which uses a validation set",
        )
