"""Training: configs, the loop, optimisers, checkpoints, evaluation, sweeps and folders of runs."""

from weft.config import override
from weft.training.callbacks import Callback, Record, Result
from weft.training.config import (
    EvaluationConfig,
    OptimiserConfig,
    ScheduleConfig,
    StopConfig,
    SupervisionConfig,
    TrainingConfig,
    training_config,
)
from weft.training.evaluation import Predictions, evaluate, load_predictions
from weft.training.launch.executor import Executor, LocalProcesses
from weft.training.launch.sweep import Cell, cells, read_sweep, sweep
from weft.training.store import Run, RunStore
from weft.training.supervision import model_config, task_of
from weft.training.traces.dataset import TraceSet, collect, extract
from weft.training.traces.recipes import stream_config, trace_config
from weft.training.trainer import train

__all__ = [
    "Callback",
    "Cell",
    "EvaluationConfig",
    "Executor",
    "LocalProcesses",
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
    "cells",
    "collect",
    "evaluate",
    "extract",
    "load_predictions",
    "model_config",
    "override",
    "read_sweep",
    "stream_config",
    "sweep",
    "task_of",
    "trace_config",
    "train",
    "training_config",
]
