"""What all tests share: modules beside the tests are importable by name.

Without a GPU, Triton's kernels are interpreted; this must be said before Triton is imported. Runs
are the same bit for bit on the same number of threads: in the tests of training one, as in the
processes that they start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "training")]

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture(autouse=True)
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = torch.get_num_threads()
    if HERE / "training" in request.path.parents:
        torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
