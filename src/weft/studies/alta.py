"""What the studies of the ALTA paper share: how rows name a model, and how all runs are made."""

from __future__ import annotations

from typing import Any

SHARED: dict[str, Any] = {
    "model.activation": "gelu",
    "batch": 256,
    "evaluation.size": 4096,
    "evaluation.batch": 1024,
    "evaluation.every": 1000,
    "log_every": 100,
    "fused": True,
    "graphed": True,
    "tf32": True,
}


def model_of(layers: str, shared: str, position: str) -> dict[str, Any]:
    """The model of a row: depth, whether layers share weights, relative or absolute positions."""
    deep = {"model.layers": 1, "model.loops": int(layers)}
    if shared == "no":
        deep = {"model.layers": int(layers), "model.loops": 1}
    if position == "absolute":
        return {**deep, "model.position": "learned", "model.positions": 64}
    return {**deep, "model.position": "t5"}
