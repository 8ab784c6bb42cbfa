"""Whether Triton kernels can run."""

from __future__ import annotations

import os
from importlib.util import find_spec

from torch import Tensor

from weft.models.context import AttentionContext

MAX_HEAD_WIDTH = 128
"""Tiles of wider heads do not fit into shared memory."""

_HAS_TRITON = find_spec("triton") is not None


def triton_available(query: Tensor, context: AttentionContext) -> bool:
    """Whether Triton kernels can run on a tensor.

    They run on GPUs; elsewhere in Triton's interpreter, with the backend `triton` and
    TRITON_INTERPRET=1.
    """
    interpreted = context.backend == "triton" and os.environ.get("TRITON_INTERPRET") == "1"
    return _HAS_TRITON and (query.is_cuda or interpreted)
