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
from weft.training.recipes import stream_config, trace_config
from weft.training.running import train
from weft.training.store import Run, RunStore
from weft.training.supervision import SupervisionConfig
from weft.training.sweeping import Cell, cells, read_sweep, sweep
from weft.training.trace_data import TraceSet, collect
from weft.training.trace_files import extract
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
    "SupervisionConfig",
    "TraceSet",
    "TrainingConfig",
    "Watcher",
    "cells",
    "collect",
    "evaluate",
    "extract",
    "load_predictions",
    "override",
    "read_sweep",
    "stream_config",
    "sweep",
    "trace_config",
    "train",
    "training_config",
]
