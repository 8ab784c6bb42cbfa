"""Whether a Triton kernel is to run: on a GPU, or in Triton's interpreter if that is asked for."""

from __future__ import annotations

import os
from importlib.util import find_spec

from torch import Tensor

from weft.models.context import Scene

HAS_TRITON = find_spec("triton") is not None


def is_asked(query: Tensor, scene: Scene) -> bool:
    """On a GPU by itself; elsewhere by the backend `triton`, with TRITON_INTERPRET=1."""
    interpreted = scene.backend == "triton" and os.environ.get("TRITON_INTERPRET") == "1"
    return HAS_TRITON and (query.is_cuda or interpreted)
