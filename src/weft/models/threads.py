"""Run small models on one CPU thread: they are slower on several.

PyTorch splits even small matrix products among its threads and waits for all of them after each. A
compiled model has a few of these per layer, each a fraction of a millisecond. If other processes
keep the cores busy, every wait is one for the scheduler: the longest command of SCAN takes 0.2 s on
one thread and 4 to 24 s on two (two cores, load average 9; see docs/log.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

MAX_SINGLE_THREAD_WORK = 1 << 24
"""Multiplications per layer up to which one thread is used: about a millisecond on one core.

On two idle cores, two threads are 5% slower at 5 million multiplications, equally fast at 20
million and 20% faster at 40 million.
"""


@contextmanager
def threads_for(work: int, device: torch.device) -> Iterator[None]:
    """Use one thread in this block if a layer takes few multiplications.

    The number of threads is restored at the end, also after an exception. PyTorch keeps it per
    Python thread; threads that start meanwhile inherit the number of this one.
    """
    before = torch.get_num_threads()
    if before == 1 or device.type != "cpu" or work > MAX_SINGLE_THREAD_WORK:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
