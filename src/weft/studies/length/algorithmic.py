"""Eight algorithmic tasks, with and without learned positions (Huang et al. 2025, section 5.1).

Does a Transformer trained on inputs of at most 50 symbols solve those of 51 to 100 and of 101 to
150? C-RASP predicts yes for tasks that have a program. The models are those that the paper
selected; where it fell back to 12 layers, the scale `small` takes 4 layers of width 256 instead,
and the column `model` says so. With absolute positions each task has a second row, trained with the
regulariser.
"""

from __future__ import annotations

from typing import Any

from weft.studies.length.protocol import (
    COLUMNS,
    NAMES,
    PENALTY,
    SMOKE,
    SPLITS,
    TRAINING,
    coefficient_label,
    penalised,
    positional,
    size,
    table_rows,
)
from weft.studies.length.reference import ALGORITHMIC, ALGORITHMIC_SOURCE, AlgorithmicReference
from weft.studies.study import Row, Scale, Study

SMOKE_LENGTHS = {"length": 12, "longer": 18, "longest": 24}
FALLBACK = {**size(4, 4, 256), "optimiser.lr": 1e-4}
"""In place of the paper's 12 layers of width 768, at the scale `small`."""
FAST = {"bf16": True, "torch_compile": True}
"""For models of 4 layers of width 256: twice as many steps per second on an H200 as with TF32."""

CASES: tuple[tuple[AlgorithmicReference, float], ...] = (
    *((each, 0.0) for each in ALGORITHMIC),
    *((each, PENALTY) for each in ALGORITHMIC if each.positions == "learned"),
)
"""The rows: what the paper reports, and the coefficient of the regulariser."""


def labels_of(reference: AlgorithmicReference, coefficient: float = 0.0) -> tuple[str, str, str]:
    """The labels of a row."""
    return reference.title, NAMES[reference.positions], coefficient_label(coefficient)


def _row(reference: AlgorithmicReference, coefficient: float) -> Row:
    bins = reference.regularised if coefficient else reference.accuracy
    paper = {} if bins is None else {s: b / 100 for s, b in zip(SPLITS, bins, strict=True)}
    changes = {"task": reference.task, **penalised(coefficient)}
    return Row(labels_of(reference, coefficient), changes, paper)


def _smoke(reference: AlgorithmicReference) -> dict[str, Any]:
    rows = table_rows(reference.task, **SMOKE_LENGTHS)
    return {**size(1, 1, 16), **positional(reference.positions, rows)}


def small_model(reference: AlgorithmicReference) -> dict[str, Any]:
    """The paper's model of a row, or the smaller one that stands for its 12 layers."""
    where = positional(reference.positions, table_rows(reference.task))
    if reference.big:
        return {**FALLBACK, **FAST, **where}
    return {
        **size(reference.layers, reference.heads, reference.width),
        **(FAST if (reference.layers, reference.width) == (4, 256) else {}),
        **where,
        "optimiser.lr": reference.lr,
    }


def _full(reference: AlgorithmicReference) -> dict[str, Any]:
    if not reference.big:
        return {**small_model(reference), **dict.fromkeys(FAST, False)}
    return {
        **size(12, 12, 768),
        **positional(reference.positions, table_rows(reference.task)),
        "optimiser.lr": reference.lr,
        "steps": 60_000,
        "schedule.warm_up": 3000,
    }


PAPER_STEPS: dict[str, Any] = {**TRAINING, "steps": 30_000, "evaluation.every": 3000}

SCALES = {
    "smoke": Scale(
        description="inputs of at most 12, 18 and 24 symbols, one layer of width 16, 20 steps",
        changes={**SMOKE, **{f"parameters.{name}": n for name, n in SMOKE_LENGTHS.items()}},
        adapt={" ".join(labels_of(*case)): _smoke(case[0]) for case in CASES},
    ),
    "small": Scale(
        description=(
            "the model that the paper selected for each row, at most 30,000 steps of 64 examples, "
            "AdamW with weight decay 0.01 and linear decay, stopped at 100% of a validation set in "
            "distribution, checked every 3,000 steps; the rows for which the paper took 12 layers "
            "of width 768 have 4 layers, 4 heads and width 256 at 1e-4; models of 4 layers and "
            "width 256 are trained in bf16, the others with TF32"
        ),
        changes=PAPER_STEPS,
        seeds=5,
        adapt={" ".join(labels_of(*case)): small_model(case[0]) for case in CASES},
    ),
    "paper": Scale(
        description=(
            "as in the paper: the model that it selected for each row, 30,000 steps; where that is "
            "the 12-layer model of width 768, 60,000 steps with 3,000 of warm-up"
        ),
        changes=PAPER_STEPS,
        seeds=5,
        adapt={" ".join(labels_of(*case)): _full(case[0]) for case in CASES},
    ),
}

CRASP_ALGORITHMIC = Study(
    name="crasp-algorithmic",
    title="Length generalisation on algorithmic tasks",
    source=ALGORITHMIC_SOURCE,
    task="binary-majority",
    header=("task", "positions", "penalty"),
    rows=tuple(_row(*case) for case in CASES),
    columns=COLUMNS,
    scales=SCALES,
    training={"length": (1, 50)},
    notes=(
        "Accuracy is exact match of the whole answer. Stopping is decided by a validation set that "
        "shares no example with the tests; the paper stops by the tests in distribution.",
        "The paper averages the first five seeds that reach 100% in distribution, except for its "
        "12-layer models. Its models are the best of a grid by accuracy on lengths 51 to 100.",
        "`penalty` is the coefficient of the position term of the regulariser.",
    ),
)
