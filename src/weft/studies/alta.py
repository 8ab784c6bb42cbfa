"""The ALTA paper: settings that its studies share, and figures to stand beside verdicts."""

from __future__ import annotations

from typing import Any

from weft.studies.study import Reference
from weft.tasks import task

SHARED: dict[str, Any] = {
    "model.activation": "gelu",
    "batch": 256,
    "evaluation.size": 4096,
    "evaluation.batch": 1024,
    "evaluation.every": 1000,
    "log_every": 100,
    "torch_compile": True,
    "cuda_graphs": True,
    "tf32": True,
}


def model_of(layers: str, shared: str, position: str) -> dict[str, Any]:
    """The model of a row, by depth, weight sharing and positional encoding."""
    deep = {"model.layers": 1, "model.loops": int(layers)}
    if shared == "no":
        deep = {"model.layers": int(layers), "model.loops": 1}
    if position == "absolute":
        return {**deep, "model.position": "learned", "model.positions": 64}
    return {**deep, "model.position": "t5"}


TABLE_2 = {
    "parity": (1.0, 1.0, 1.0),
    "parity-absolute": (1.0, 0.52, 0.51),
    "parity-count": (1.0, 0.78, 0.50),
}
"""Trained from traces: at most 20 bits, more than 20 bits, more than 20 ones."""

REFERENCES = tuple(
    Reference(
        source="ALTA paper, table 2",
        task=task("parity"),
        stage="from traces",
        program=program,
        accuracy=dict(zip(("train", "longer", "more-ones"), accuracy, strict=True)),
    )
    for program, accuracy in TABLE_2.items()
)
