"""Settings of the machine that tests, and the processes that they start, run with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parent.parent / "conftest.py"


def settings_in_a_process(**environment: str) -> list[str]:
    """What the settings are when PyTorch is imported after `conftest.py` has begun."""
    code = (
        "import os, runpy, sys\n"
        "class Torch:\n"  # in place of PyTorch, since importing it takes seconds
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'torch':\n"
        "            print(os.environ['ONEDNN_MAX_CPU_ISA'], os.environ['OMP_NUM_THREADS'])\n"
        "            raise SystemExit\n"
        "sys.meta_path.insert(0, Torch())\n"
        f"runpy.run_path({str(CONFTEST)!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_amx_is_left_alone_before_torch_is_imported() -> None:
    assert settings_in_a_process() == ["AVX512_CORE_BF16", "1"]


def test_somebody_may_ask_for_other_instructions() -> None:
    assert settings_in_a_process(ONEDNN_MAX_CPU_ISA="AVX2")[0] == "AVX2"


def test_processes_that_tests_start_inherit_the_settings() -> None:
    code = "import os; print(os.environ['ONEDNN_MAX_CPU_ISA'], os.environ['OMP_NUM_THREADS'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [os.environ["ONEDNN_MAX_CPU_ISA"], "1"]


def test_every_test_starts_from_the_same_seeds() -> None:
    """Whichever ran before; the next test draws the same numbers."""
    assert drawn() == SEEDED


@pytest.mark.parametrize("again", [1, 2])
def test_the_same_seeds_again(again: int) -> None:
    assert drawn() == SEEDED


def drawn() -> list[float]:
    import random

    import numpy as np
    import torch

    return [random.random(), float(np.random.rand()), float(torch.rand(()))]


SEEDED = [0.8444218515250481, 0.5488135039273248, 0.49625658988952637]
