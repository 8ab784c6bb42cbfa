"""Learning tasks: the loop, optimisers, checkpoints, evaluation, and folders of runs."""

from weft.training.config import (
    EvaluationConfig,
    OptimiserConfig,
    ScheduleConfig,
    StopConfig,
    TrainingConfig,
    training_config,
)
from weft.training.evaluating import Predictions, evaluate, load_predictions
from weft.training.overriding import override
from weft.training.running import train
from weft.training.store import Run, RunStore
from weft.training.sweeping import Cell, cells, read_sweep, sweep
from weft.training.watching import Record, Result, Watcher

__all__ = [
    "Cell",
    "EvaluationConfig",
    "OptimiserConfig",
    "Predictions",
    "Record",
    "Result",
    "Run",
    "RunStore",
    "ScheduleConfig",
    "StopConfig",
    "TrainingConfig",
    "Watcher",
    "cells",
    "evaluate",
    "load_predictions",
    "override",
    "read_sweep",
    "sweep",
    "train",
    "training_config",
]
