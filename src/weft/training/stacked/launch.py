"""`stacked_sweep`: a sweep whose runs are trained in stacks, by shape.

Runs that cannot be stacked, or that are alone in their shape, are trained by an executor
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from weft.errors import Interrupted, WeftError
from weft.training.callbacks import GOOD, Result
from weft.training.config import TrainingConfig
from weft.training.environment import device_of
from weft.training.launch.executor import Executor
from weft.training.launch.sweep import Cell, sweep
from weft.training.stacked.shape import grouped
from weft.training.stacked.trainer import Outcome, cores, train_stack
from weft.training.stacked.workers import WorkerPool
from weft.training.store import Run


def stacked_sweep(
    cells: Sequence[Cell],
    *,
    runs: Path,
    places: int,
    device: str,
    executor: Executor,
    ended: Callable[[Cell, str], None] = lambda cell, status: None,
) -> dict[str, str]:
    """Train all cells that are not complete, in stacks of up to `places` models.

    Args:
        cells: the cells.
        runs: the folder of all runs.
        places: the number of models in a stack.
        device: where stacks are trained.
        executor: what trains the runs that cannot be stacked.
        ended: called with each cell and its status when it ends.

    Returns:
        The status of every cell, by the name of its run.
    """
    by_config = {cell.config: cell for cell in cells}
    statuses: dict[str, str] = {}

    def note(config: TrainingConfig, outcome: Outcome) -> None:
        status = outcome.status if isinstance(outcome, Result) else f"failed: {outcome.line}"
        statuses[config.hash] = status
        ended(by_config[config], status)

    left: list[TrainingConfig] = []
    for cell in by_config.values():
        status = Run(runs / cell.config.hash).status
        if status in GOOD:
            statuses[cell.config.hash] = status
            ended(cell, status)
        else:
            left.append(cell.config)
    groups, alone = grouped(left)
    try:
        _train_groups([[m.config for m in group] for group in groups], runs, places, device, note)
    except Interrupted as error:
        finished = sum(status in GOOD for status in statuses.values())
        raise Interrupted(
            error.number,
            f"interrupted; {finished} of {len(cells)} runs in {runs} are finished, and those in "
            "progress are saved; the same command resumes them",
        ) from None
    if alone:
        rest = [by_config[config] for config in alone]
        statuses |= sweep(rest, runs=runs, executor=executor, ended=ended)
    return statuses


def _train_groups(
    groups: Sequence[Sequence[TrainingConfig]],
    runs: Path,
    places: int,
    device: str,
    note: Callable[[TrainingConfig, Outcome], None],
) -> None:
    """Train one group after the other; an error ends a group, not the others."""
    with ExitStack() as held:
        pool = None
        if groups and device_of(device).type == "cuda":
            largest = max(len(group) for group in groups)
            pool = held.enter_context(WorkerPool(min(places, largest, cores())))
        for group in groups:
            done: set[str] = set()

            def noted(config: TrainingConfig, outcome: Outcome, done: set[str] = done) -> None:
                done.add(config.hash)
                note(config, outcome)

            try:
                train_stack(group, runs=runs, device=device, places=places, pool=pool, ended=noted)
            except Interrupted:
                raise
            except Exception as error:
                what = (
                    error
                    if isinstance(error, WeftError)
                    else WeftError(
                        f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
                    )
                )
                for config in group:
                    if config.hash not in done:
                        note(config, what)
