"""`train_stack`: train many runs of one shape together, each with the folder of a run alone.

A stack has a number of places. Runs take places in turn: when one ends, the next one takes its
place, and when few are left the stack shrinks. Runs that have ended, failed or stopped early leave
the others alone.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import cast

import numpy as np
import torch

from weft.errors import Interrupted, WeftError
from weft.models.catalogue import check_memory
from weft.tasks import Batch, Task
from weft.training.callbacks import Result
from weft.training.config import TrainingConfig
from weft.training.distributed import ALONE
from weft.training.environment import device_of
from weft.training.evaluation import test_sets
from weft.training.interrupts import Interrupts
from weft.training.learner import NotFinite
from weft.training.loop import Diverged, check_splits, evaluated_splits
from weft.training.stacked.evaluation import evaluate_stack
from weft.training.stacked.learner import StackedLearner
from weft.training.stacked.shape import Member, member_of
from weft.training.stacked.slots import SlotLearner, SlotLoop
from weft.training.stacked.workers import Feed, InlineFeed, ProcessFeed, Tick, WorkerPool
from weft.training.trainer import (
    finished,
    forget_failure,
    is_out_of_memory,
    locked,
    loop_result,
    matmul_precision,
    prepare_folder,
    record_failure,
    removed_unless_begun,
    write_result,
)

SAVE_EVERY = 300.0
SHRINK = 2000
"""A stack shrinks if its runs have at least this many steps left."""
Outcome = Result | WeftError


def train_stack(
    configs: Sequence[TrainingConfig],
    *,
    runs: str | Path = "runs",
    device: str = "auto",
    places: int = 16,
    pool: WorkerPool | None = None,
    save_every: float = SAVE_EVERY,
    ended: Callable[[TrainingConfig, Outcome], None] = lambda config, outcome: None,
) -> dict[str, Outcome]:
    """Train runs of one shape together; finished runs are not trained again.

    Args:
        configs: the runs; `weft.training.stacked.shape` says what they must have in common.
        runs: the folder of all runs.
        device: `cpu`, `cuda`, or `auto` for a GPU if there is one.
        places: the number of models in a step; the other runs wait.
        pool: processes that draw batches; by default one per model on a GPU, up to the number of
            cores, and none on a CPU.
        save_every: seconds between checkpoints.
        ended: called when a run has ended or failed.

    Returns:
        By the name of each run its result, or the error with which it failed.

    Raises:
        Interrupted: a signal arrived; the last complete step of every run is saved.
        WeftError: the runs cannot be stacked.
    """
    where = device_of(device)
    outcomes: dict[str, Outcome] = {}
    members: list[Member] = []
    for config in configs:
        done = finished(Path(runs) / config.hash)
        if done is not None and done.final:
            outcomes[config.hash] = done
            ended(config, done)
        else:
            members.append(_member(config))
    if len({member.shape for member in members}) > 1:
        raise WeftError(
            "the runs have models or batches of different shapes",
            remedy="Group them by weft.training.stacked.shape.grouped, or use stacked_sweep",
        )

    def note(config: TrainingConfig, outcome: Outcome) -> None:
        outcomes[config.hash] = outcome
        ended(config, outcome)

    while members:
        try:
            with _pool(pool, where, min(places, len(members))) as chosen:
                _train(members, Path(runs), where, places, chosen, save_every, note)
        except Exception as error:
            if not is_out_of_memory(error) or places == 1:
                raise
            places = max(1, min(places, len(members)) // 2)  # from where the runs are saved
            if where.type == "cuda":
                torch.cuda.empty_cache()
        members = [member for member in members if member.config.hash not in outcomes]
    return outcomes


def _member(config: TrainingConfig) -> Member:
    member = member_of(config)
    if isinstance(member, str):
        raise WeftError(
            f"the run {config.hash} cannot be stacked: {member}", remedy="Train it alone"
        )
    check_splits(config, member.task)
    return member


@contextmanager
def _pool(
    given: WorkerPool | None, device: torch.device, places: int
) -> Iterator[WorkerPool | None]:
    """The pool that is given; on a GPU, a new one if none is."""
    if given is not None or device.type != "cuda":
        yield given
        return
    with WorkerPool(min(places, cores())) as pool:
        yield pool


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _train(
    members: Sequence[Member],
    runs: Path,
    device: torch.device,
    places: int,
    pool: WorkerPool | None,
    save_every: float,
    note: Callable[[TrainingConfig, Outcome], None],
) -> None:
    shape = members[0].shape
    rounds = math.ceil(len(members) / places)
    count = math.ceil(len(members) / rounds)  # as many in the last round as in the others
    check_memory(members[0].model, device)
    devices = [device] if device.type == "cuda" else []
    with (
        Interrupts() as interrupts,
        torch.random.fork_rng(devices=devices),
        matmul_precision(shape.tf32),
        interrupts.held(),
    ):
        torch.manual_seed(members[0].config.seed)
        stack = _Stack(members, runs, device, count, pool, save_every, note, interrupts)
        try:
            stack.run()
        except BaseException:
            with suppress(Exception):
                stack.save()
            raise
        finally:
            stack.close()


@dataclass(frozen=True)
class _Entry:
    """A run in a place, and what is to be released when it leaves."""

    loop: SlotLoop
    held: ExitStack


class _Stack:
    """A stack in progress: the learner, the feed, and a run in every place that is taken."""

    def __init__(
        self,
        members: Sequence[Member],
        runs: Path,
        device: torch.device,
        places: int,
        pool: WorkerPool | None,
        save_every: float,
        note: Callable[[TrainingConfig, Outcome], None],
        interrupts: Interrupts,
    ) -> None:
        self.waiting = deque(members)
        self.runs, self.device, self.pool = runs, device, pool
        self.save_every, self.note, self.interrupts = save_every, note, interrupts
        self.shape = members[0].shape
        self.entries: dict[int, _Entry] = {}
        self.entered = 0
        self.tests = lru_cache(maxsize=None)(_tests)
        self._saved = time.perf_counter()
        self._build(members, places)

    def _build(self, members: Sequence[Member], places: int) -> None:
        """Make a learner and a feed for a number of places."""
        self.learner = StackedLearner(self.shape, members, places, self.device)
        self.feed: Feed = (
            InlineFeed(self.learner) if self.pool is None else ProcessFeed(self.learner, self.pool)
        )
        self.serials, self.steps, self.due, self.counted, self.tokens = (
            np.zeros(places, dtype=np.int64) for _ in range(5)
        )

    # Runs that come and go

    def run(self) -> None:
        """Train all runs."""
        self._admit()
        while self.entries:
            self._tick()
            if self.interrupts.number:
                self._leave()
            if time.perf_counter() - self._saved >= self.save_every:
                self.save()
            if self._should_shrink():
                self._shrink()

    def _admit(self) -> None:
        """Give free places to waiting runs."""
        entered = []
        for place in range(self.learner.places):
            while self.waiting and place not in self.entries:
                if self._enter(self.waiting.popleft(), place):
                    entered.append(place)
        if entered:
            due = [place for place in entered if self.entries[place].loop.state.due]
            self._evaluate(due)
            self._finish_all()

    def _enter(self, member: Member, place: int) -> bool:
        """Let a run take a place; False if it cannot."""
        folder, held = self.runs / member.config.hash, ExitStack()
        try:
            held.enter_context(locked(folder, ALONE))
            held.enter_context(removed_unless_begun(folder, ALONE))
            prepare_folder(member.config, folder, self.device)
            config = member.config
            splits = evaluated_splits(config, member.task)
            tests = dict(
                zip(
                    splits,
                    (self.tests(member.task, split, config.evaluation.size) for split in splits),
                    strict=True,
                )
            )
            _check_lengths(member, tests)
            self.entered += 1
            loop = SlotLoop.enter(member, self.learner, place, self.entered, folder, tests)
        except WeftError as error:
            held.close()
            self.note(member.config, error)
            return False
        except BaseException:
            held.close()
            raise
        forget_failure(folder)
        self.entries[place] = _Entry(loop, held)
        self._assign(place, loop)
        return True

    def _assign(self, place: int, loop: SlotLoop) -> None:
        """Let the feed draw batches for a run in a place."""
        self.serials[place], self.steps[place] = loop.serial, loop.state.step
        self.counted[place] = self.tokens[place] = 0
        self.due[place] = loop.due
        member = cast("SlotLearner", loop.learner).member
        self.feed.assign(place, member, loop.serial, loop.state.step, loop.random)

    def _remove(self, place: int) -> None:
        """Free the place of a run that has ended."""
        entry = self.entries.pop(place)
        entry.loop.close()
        entry.held.close()
        self.serials[place] = 0
        self.feed.release(place)

    # Steps

    def _tick(self) -> None:
        """One step of all runs, and whatever is due after it."""
        tick = self.feed.take()
        arrays = tick.arrays
        fresh = (arrays.serial == self.serials) & (arrays.serial > 0)
        stale = np.flatnonzero((arrays.serial > 0) & ~fresh)  # drawn for runs that have ended
        if len(stale):
            tick.drop(stale)
        self.learner.learn(tick.batch)
        self.feed.sent()
        self.steps[fresh] = arrays.step[fresh]
        self.counted += fresh
        self.tokens += np.where(fresh, arrays.token_count, 0)
        self._tick_in_use = tick
        due = np.flatnonzero(fresh & (self.steps >= self.due)).tolist()
        if due:
            self._settle(due)
        for serial, error in tick.errors.items():
            self._fail(serial, error)
        if due or tick.errors:
            self._finish_all()
            self._admit()

    def _settle(self, places: Sequence[int]) -> None:
        """Write the records of some runs, and evaluate those for which it is time."""
        self._fold(places)
        evaluated = []
        for place in places:
            loop = self.entries[place].loop
            try:
                if loop.record():
                    evaluated.append(place)
            except (NotFinite, Diverged) as error:
                self._end(place, "nan" if isinstance(error, NotFinite) else "diverged")
        self._evaluate(evaluated)
        for place in places:
            if place in self.entries:
                self.due[place] = self.entries[place].loop.due

    def _fold(self, places: Sequence[int]) -> None:
        """Tell runs about the steps that have been taken for them."""
        losses, flags = self.learner.totals.tolist(), self.learner.not_finite.tolist()
        self.learner.clear(places)
        penalties = self.learner.penalties() if self.learner.terms else {}
        random = self._tick_in_use.arrays.random
        for place in places:
            loop = self.entries[place].loop
            learner = cast("SlotLearner", loop.learner)
            learner.not_finite.fill_(flags[place])
            learner.values = {term: values[place] for term, values in penalties.items()}
            if self.counted[place]:
                loop.advance(
                    int(self.steps[place]), losses[place], int(self.counted[place]),
                    int(self.tokens[place]), random[place].tobytes(),
                )  # fmt: skip
        self.counted[places] = self.tokens[places] = 0

    def _evaluate(self, places: Sequence[int], decide: bool = True) -> None:
        """Evaluate some runs together."""
        if not places:
            return
        loops = [entry.loop for entry in self.entries.values()]
        for loop in loops:
            loop.pause()
        tests = {place: self.entries[place].loop.tests for place in places}
        label_sets = self.entries[places[0]].loop.config.supervision.label_sets
        predictions = evaluate_stack(self.learner, tests, label_sets)
        for place in places:
            self.entries[place].loop.note(predictions[place], decide=decide)
        for loop in loops:
            loop.proceed()

    # Ends

    def _finish_all(self) -> None:
        """Write the results of all runs that are over."""
        over = [place for place, entry in self.entries.items() if entry.loop.is_over]
        late = [
            place
            for place in over
            if self.entries[place].loop.evaluated_at != self.entries[place].loop.state.step
        ]
        self._evaluate(late, decide=False)
        for place in over:
            loop = self.entries[place].loop
            if bool(loop.learner.not_finite):
                self._end(place, "nan")
            else:
                loop.save()
                self._end(place, loop.state.ended or "done")

    def _end(self, place: int, status: str) -> None:
        loop = self.entries[place].loop
        result = loop_result(status, loop, loop.folder)
        write_result(loop.folder, result, loop)
        self._remove(place)
        self.note(loop.config, result)

    def _fail(self, serial: int, error: WeftError) -> None:
        """End a run whose batches cannot be drawn."""
        for place in [p for p, entry in self.entries.items() if entry.loop.serial == serial]:
            self._fold([place])
            loop = self.entries[place].loop
            result = loop_result("failed", loop, loop.folder)
            if result.step:
                record_failure(loop.folder, result, loop, error)
            self._remove(place)
            self.note(loop.config, error)

    def _leave(self) -> None:
        """Save all runs and raise `Interrupted`."""
        self.save()
        raise Interrupted(
            self.interrupts.number,
            f"interrupted; {len(self.entries)} runs in {self.runs} are saved; "
            "the same command resumes them",
        )

    def save(self) -> None:
        """Write a checkpoint of every run."""
        places = list(self.entries)
        if any(self.counted[place] for place in places):
            self._fold(places)
        for place in places:
            if self.entries[place].loop.state.step:
                self.entries[place].loop.save()
        self._saved = time.perf_counter()

    def close(self) -> None:
        """Close the feed, and the logs and locks of all runs."""
        self.feed.close()
        for entry in self.entries.values():
            entry.loop.close()
            entry.held.close()
        self.entries.clear()

    # Shrinking

    def _should_shrink(self) -> bool:
        """Whether so many places are free that a smaller stack is worth its start."""
        if not self.entries or self.waiting or 2 * len(self.entries) > self.learner.places:
            return False
        left = (entry.loop.config.steps - self.steps[p] for p, entry in self.entries.items())
        return bool(max(left) >= SHRINK)

    def _shrink(self) -> None:
        """Move all runs to a stack with as many places as there are runs."""
        entries = list(self.entries.values())
        self._fold(list(self.entries))
        moved = [
            (entry, cast("SlotLearner", entry.loop.learner), entry.loop.learner.tensors())
            for entry in entries
        ]
        self.feed.close()
        del self.learner
        self._build([learner.member for _, learner, _ in moved], len(moved))
        self.entries = {}
        for place, (entry, learner, tensors) in enumerate(moved):
            learner.stack, learner.place, entry.loop.place = self.learner, place, place
            learner.start(tensors)
            self.entries[place] = entry
            self._assign(place, entry.loop)

    _tick_in_use: Tick


def _tests(task: Task, split: str, size: int) -> Batch:
    """A test set; runs with different seeds share theirs."""
    return test_sets(task, (split,), size)[split]


def _check_lengths(member: Member, tests: dict[str, Batch]) -> None:
    """Refuse tests that are longer than a table of positions."""
    limit = member.model.positions
    if "learned" not in member.model.encodings or limit is None:
        return
    for split, batch in tests.items():
        longest = int(batch.lengths.max(initial=0))
        if longest > limit:
            raise WeftError(
                f"the tests of '{split}' have {longest} tokens, the model {limit} positions",
                remedy="Make the model with more positions",
            )
