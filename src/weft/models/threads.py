"""One thread for little work: small models on a CPU are slower on several.

PyTorch splits even small products among its threads and waits for all of them after each. A
compiled model does a few of these per layer, each a fraction of a millisecond. If other processes
keep the cores busy, each wait is one for the scheduler: the longest command of SCAN takes 0.2 s on
one thread and 4 to 24 s on two (two cores, load average 9; see docs/log.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

LITTLE_WORK = 1 << 24
"""Multiplications per layer up to which one thread is used: about a millisecond on one core.

On two idle cores, two threads are 5% slower at 5 million, as quick at 20 million and 20% faster at
40 million.
"""


@contextmanager
def threads_for(work: int, device: torch.device) -> Iterator[None]:
    """Use one thread in this block if a layer takes at most `LITTLE_WORK` multiplications.

    The number of threads is put back at the end, also after an exception. PyTorch keeps it for each
    thread of Python, and gives threads that start meanwhile the number of this one.
    """
    before = torch.get_num_threads()
    if before == 1 or device.type != "cpu" or work > LITTLE_WORK:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
