"""What all tests share: settings of the machine, seeds, and modules beside the tests.

The environment is set before PyTorch is imported, and workers and processes that tests start
inherit it.

- PyTorch has one thread: there is one worker per core, and runs are the same bit for bit only on
  the same number of threads.
- oneDNN is kept from AMX, which some machines advertise and do not execute: any bf16 matmul dies
  there. Set `ONEDNN_MAX_CPU_ISA` yourself to test with other instructions.
- cuBLAS has a fixed workspace, without which PyTorch refuses matmuls when it is deterministic.
- Without a GPU, Triton's kernels run in its interpreter.

No test depends on those before it, or on chance: each starts from the same seeds, hypothesis draws
the same examples, and a test that leaves a global setting changed fails.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import numpy as np
import pytest
import torch

torch.set_warn_always(True)  # not only the first time in a process, whichever test that is in
ON_GPU = torch.cuda.is_available()
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"

if find_spec("hypothesis") is not None:  # not on a machine that only runs tests marked `gpu`
    from hypothesis import settings as hypothesis_settings

    hypothesis_settings.register_profile("same every time", derandomize=True)
    hypothesis_settings.load_profile("same every time")

ROOT = Path(__file__).parent
collect_ignore_glob = [] if find_spec("transformers") else ["src/weft/hf/*", "tests/hf/*"]
# Modules that tests share lie beside them; tests with the same name lie in different folders, so
# pytest imports them by path (`--import-mode=importlib`) and leaves `sys.path` to us.
FOLDERS = sorted(path for path in (ROOT / "tests").rglob("*") if path.is_dir())
sys.path[:0] = [str(ROOT / "tests"), *(str(path) for path in FOLDERS if path.name[0] not in "._")]


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU if there is none."""
    for item in items:
        if item.get_closest_marker("needs_gpu") is not None:
            item.add_marker(pytest.mark.gpu)
            if not ON_GPU:
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Seed the global generators, before fixtures of any scope draw from them."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def _global_settings() -> Iterator[None]:
    """Fail a test that leaves a global setting changed."""
    before = settings()
    yield
    assert settings() == before, "the test leaves a global setting changed"


def settings() -> dict[str, Any]:
    """Global settings on which results depend."""
    return {
        "default dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "float32 matmuls": torch.get_float32_matmul_precision(),
        "gradients": torch.is_grad_enabled(),
        "threads": torch.get_num_threads(),
        "working directory": os.getcwd(),
    }
