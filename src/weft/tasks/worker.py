"""A process that makes every n-th training batch and writes it to its standard output.

`weft.training.workers` starts it with a line of JSON on the standard input: the task, how batches
are made, and which steps. For each step it writes a line of JSON with the names, types and shapes
of the arrays of the batch, and then their bytes. The pipe holds it back while nobody reads, and it
ends when the reader is gone. On any error it ends, too: the reader makes the batch itself and finds
the same error.
"""

from __future__ import annotations

import json
import os
import sys
from io import BufferedIOBase
from typing import Any

import numpy as np

from weft.tasks.batch import Batch
from weft.tasks.preparation import Preparation
from weft.tasks.registry import task

ARRAYS = ("tokens", "lengths", "targets", "source", "source_lengths", "legal", "documents")
"""The arrays of a batch that training reads; axes are not sent."""


def write_batch(file: BufferedIOBase, batch: Batch) -> None:
    """Write a batch, without its axes."""
    arrays = {name: getattr(batch, name) for name in ARRAYS}
    present = {name: np.ascontiguousarray(a) for name, a in arrays.items() if a is not None}
    head = {name: (array.dtype.str, array.shape) for name, array in present.items()}
    file.write(json.dumps(head).encode() + b"\n")
    for array in present.values():
        file.write(array.data.cast("B") if array.size else b"")
    file.flush()


def read_batch(file: BufferedIOBase) -> Batch | None:
    """Read what `write_batch` wrote; None if the file ends first."""
    line = file.readline()
    if not line.endswith(b"\n"):
        return None
    arrays: dict[str, Any] = {}
    for name, (kind, shape) in json.loads(line).items():
        array = np.empty(shape, dtype=np.dtype(kind))
        if array.size and file.readinto(array.data.cast("B")) < array.nbytes:
            return None
        arrays[name] = array
    return Batch(**arrays)


def main() -> None:
    """Make batches until the last step, or until the reader is gone."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a user's task prints is no batch
    given = json.loads(sys.stdin.readline())
    made = task(given["task"], **given["parameters"])
    preparation = Preparation(**given["preparation"])
    try:
        for step in range(given["first"], given["last"] + 1, given["stride"]):
            write_batch(out, preparation.batch(made, step))
    except BrokenPipeError:
        os._exit(0)  # closing the pipe would fail again
