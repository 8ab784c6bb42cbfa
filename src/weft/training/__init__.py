"""Learning tasks: the loop, optimisers, checkpoints, evaluation, and folders of runs."""

from weft.config import override
from weft.training.callbacks import Record, Result, Watcher
from weft.training.config import (
    EvaluationConfig,
    OptimiserConfig,
    ScheduleConfig,
    StopConfig,
    TrainingConfig,
    training_config,
)
from weft.training.evaluation import Predictions, evaluate, load_predictions
from weft.training.launch.sweep import Cell, cells, read_sweep, sweep
from weft.training.store import Run, RunStore
from weft.training.supervision import SupervisionConfig
from weft.training.traces.dataset import TraceSet, collect
from weft.training.traces.dataset_files import extract
from weft.training.traces.recipes import stream_config, trace_config
from weft.training.trainer import train

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
