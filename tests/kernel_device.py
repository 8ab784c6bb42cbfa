"""Where tests run Triton's kernels: compiled on a GPU, otherwise in Triton's interpreter.

The interpreter takes a millisecond per operation of a tile, and its tiles are small (32 queries by
16 keys), so lengths are chosen to have few tiles, the last of them partly filled. It keeps bfloat16
as integers and computes garbage in it, so kernels are tested in bfloat16 on a GPU alone; float16
stands for half precision.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest
import torch

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
HALF = torch.bfloat16 if ON_GPU else torch.float16


def needs_triton() -> None:
    """Skip a test without Triton; on Linux, where `make` installs it, fail."""
    if find_spec("triton") is None:
        if sys.platform == "linux":
            pytest.fail("Triton is not installed: run `make setup`, which installs the dev extra")
        pytest.skip("there is no Triton for this system")
