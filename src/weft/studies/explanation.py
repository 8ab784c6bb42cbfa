"""What a run has learned from traces: its distance from the compiled optimum, and its rules.

A run from traces (`weft train TASK --traces PROGRAM`) trains the feed-forward of a compiled model,
in whose stream every variable has dimensions of its own. So its hidden units can be read as rules
(`weft.theory.extraction.rules`) and compared with the compiled ones
(`weft.theory.extraction.distance`). D is what the run was trained on: the distinct states of its
traces, each with its count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from weft.errors import WeftError
from weft.language.program import Program
from weft.theory.extraction.distance import Distance, distance
from weft.theory.optimum.states import States, require_categorical
from weft.training.program_task import ProgramTask
from weft.training.store import Run
from weft.training.supervising import task_of
from weft.training.traces.dataset import TraceSet
from weft.training.traces.feed_forward import compiled_for, feed_forward_of
from weft.training.traces.learner import traces_of


@dataclass(frozen=True)
class RunReading:
    """What was read from a run.

    Attributes:
        run: the run.
        program: whose traces it learned from.
        hidden: the widths of its hidden layers.
        activation: what is between them.
        inputs: of how many inputs the traces are.
        states: the states of these traces, D.
        distance: how far the trained feed-forward is from the compiled one on D.
    """

    run: Run
    program: Program
    hidden: tuple[int, ...]
    activation: str
    inputs: int
    states: States
    distance: Distance


def read_run(run: Run, *, tolerance: float = 0.1) -> RunReading:
    """How far a run from traces is from the compiled optimum, and which rules are in its weights.

    Args:
        run: with weights, finished or not.
        tolerance: how far levels and written values may be off.

    Example:
        >>> import tempfile
        >>> from weft.studies import read_run
        >>> from weft.training import RunStore, override, trace_config, train
        >>> short = ["steps=20", "parameters.length=6", "parameters.longer=8"]
        >>> short += ["supervision.examples=200", "evaluation.size=16"]
        >>> config = override(trace_config("parity", "parity", small=True), short)
        >>> with tempfile.TemporaryDirectory() as runs:
        ...     result = train(config, runs=runs, device="cpu")
        ...     found = read_run(RunStore(runs).find(config.hash))
        >>> len(found.states), found.distance.rules, found.distance.units
        (13, 7, None)
        >>> found.distance.unreadable
        "rules are read from one hidden layer of ReLUs, and this has 2 hidden layers of 'relu'"
    """
    task = _traced_task(run)
    require_categorical(task.program)
    model = run.model(task=task)
    traces = traces_of(run.config, task)
    states = as_states(traces)
    layout = compiled_for(task).model.layout
    trained = feed_forward_of(model)
    return RunReading(
        run=run,
        program=task.program,
        hidden=model.config.hidden,
        activation=trained.activation,
        inputs=traces.inputs,
        states=states,
        distance=distance(trained, layout, task.program, states, tolerance=tolerance),
    )


def as_states(traces: TraceSet) -> States:
    """The states of a trace set as the theory has them; all variables must be categorical.

    Example:
        >>> import weft
        >>> from weft.studies.explanation import as_states
        >>> from weft.training import collect
        >>> met = as_states(collect(weft.program("parity"), ["101", "11"]))
        >>> len(met), met.total
        (9, 18)
    """
    require_categorical(traces.program)
    codes = np.asarray(traces.states, np.int64)
    return States(traces.program.variables, codes, np.asarray(traces.counts, np.int64))


def _traced_task(run: Run) -> ProgramTask:
    by = run.config.supervision.by
    if by != "traces":
        raise WeftError(
            f"the run {run.name} was trained from {by}, and rules are read from runs from traces",
            remedy="Make one: weft train TASK --traces PROGRAM",
        )
    task = task_of(run.config)
    assert isinstance(task, ProgramTask)
    return task
