"""The training protocol of Huang et al. (2025) as settings of our runs.

The models are GPT-2: pre-norm LayerNorm, gelu, biases, tied embeddings, a hidden layer of four
times the width, no dropout. Positions are a learned table with an offset per training example, or
there are none.
"""

from __future__ import annotations

from typing import Any

from weft.errors import WeftError
from weft.tasks import task
from weft.tasks.algorithmic import LengthTask
from weft.tasks.formal.formal_language import FormalLanguage

MODEL: dict[str, Any] = {
    "model.activation": "gelu",
    "model.norm": "pre",
    "model.norm_type": "layer",
    "model.biases": True,
    "model.attention_biases": True,
    "model.tied": True,
}
"""GPT-2, but for its size."""

SPLITS = ("train", "longer", "longest")
"""The three bins of lengths, as splits of our tasks."""
COLUMNS = {"train": "length 1–50", "longer": "length 51–100", "longest": "length 101–150"}
"""The titles of the bins; addition counts `+` and `=` and starts at 4."""
NAMES = {"learned": "absolute", "none": "none"}
"""Labels of the column `positions`, by positional encoding."""
PENALTY = 1e-4
"""The coefficient of the regulariser in the paper's main results with it."""

TRAINING: dict[str, Any] = {
    **MODEL,
    "optimiser.betas": [0.9, 0.999],
    "optimiser.weight_decay": 0.01,
    "optimiser.clip": 1.0,
    "schedule.name": "linear",
    "schedule.warm_up": 0,
    "schedule.floor": 0.0,
    "batch": 64,
    "evaluation.size": 2000,
    "evaluation.batch": 500,
    "log_every": 100,
    "stop.accuracy": 1.0,
    "tf32": True,
}
"""What all runs of the paper's protocol share, but for steps and evaluations."""

SMOKE: dict[str, Any] = {
    **TRAINING,
    "steps": 20,
    "batch": 16,
    "evaluation.every": 10,
    "evaluation.size": 64,
    "log_every": 10,
    "tf32": False,
}
"""Settings with which a study takes seconds; its results mean nothing."""


def size(layers: int, heads: int, width: int) -> dict[str, Any]:
    """The settings of a model's size."""
    return {
        "model.layers": layers,
        "model.heads": heads,
        "model.width": width,
        "model.hidden": [4 * width],
    }


def positional(encoding: str, rows: int) -> dict[str, Any]:
    """The settings of a positional encoding; a learned table has `rows` rows."""
    if encoding != "learned":
        return {"model.position": encoding}
    return {"model.position": "learned", "model.positions": rows, "model.example_offsets": True}


def penalised(coefficient: float) -> dict[str, Any]:
    """The settings of the regulariser: the position term in the form of the authors' code."""
    return {"penalty.position": coefficient} if coefficient else {}


def coefficient_label(coefficient: float) -> str:
    """A coefficient of the regulariser as a label.

    Example:
        >>> coefficient_label(1e-4), coefficient_label(0)
        ('1e-4', '0')
    """
    mantissa, _, exponent = f"{coefficient:e}".partition("e")
    return f"{float(mantissa):g}e{int(exponent)}" if coefficient else "0"


def table_rows(name: str, **parameters: Any) -> int:
    """The rows of a learned table of positions that a task needs.

    Example:
        >>> table_rows("unique-copy")
        302
    """
    made = task(name, **parameters)
    if not isinstance(made, LengthTask | FormalLanguage):
        raise WeftError(f"'{name}' is not a task of length generalisation")
    return made.positions
