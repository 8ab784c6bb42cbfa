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
from weft.training.watching import Record, Result, Watcher

__all__ = [
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
    "evaluate",
    "load_predictions",
    "override",
    "train",
    "training_config",
]
