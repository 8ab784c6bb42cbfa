"""What all tests share: modules beside the tests are importable by name.

Without a GPU, Triton's kernels are interpreted; this must be said before Triton is imported.
PyTorch has one thread, here and in the processes that tests start: there is one worker a core, and
runs are the same bit for bit on the same number of threads alone.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before PyTorch is imported

import torch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "training"), str(HERE / "compiler" / "proof")]

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
