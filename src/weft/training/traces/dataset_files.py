"""Traces on disk: a folder of plain arrays, which can be larger than memory.

traces.json    the program, the variables with their codes, how many inputs and states
states.npy     n v, codes after attention
averages.npy   n h, what heads of numbers averaged
after.npy      n v, codes after the step
counts.npy     n, how often each state occurred
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from weft.config import require
from weft.errors import WeftError
from weft.files import output_folder, read_json, reason, replaced, write_json
from weft.interpreter.states import StateSet
from weft.language.program import Program, as_program
from weft.training.traces.dataset import (
    STATES_IN_MEMORY,
    Array,
    TraceCounter,
    TraceSet,
    averaging_heads,
)

FORMAT = 1
AGAIN = "Extract the traces again"
ARRAYS = ("states", "averages", "after", "counts")


def extract(
    program: Program | type[Program],
    inputs: Iterable[Any],
    folder: str | Path,
    *,
    name: str = "",
    layers: int | None = None,
    limit: int = STATES_IN_MEMORY,
) -> TraceSet:
    """Write the distinct states of a program's runs to a folder; gives them back from there.

    Args:
        program: what is run.
        inputs: on what; they are taken one after the other, never all at once.
        folder: where the files go; what was there is replaced.
        name: what the program is called, to be found by again.
        layers: run this many layers, unless an input halts before.
        limit: how many states are counted in memory; beyond that, counting uses the disk.
    """
    program, folder = as_program(program), Path(folder)
    output_folder(folder, holds="traces", marker="traces.json")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        counter = TraceCounter(program, Path(aside), limit)
        counter.run(inputs, layers)
        total = _merge_parts(counter, Path(aside))
        shutil.rmtree(folder, ignore_errors=True)
        with replaced(folder) as scratch:
            scratch.mkdir()
            _write(counter, Path(aside), scratch, total)
            write_json(scratch / "traces.json", _described(program, name, counter.inputs, total))
    return load(folder, program)


def _merge_parts(counter: TraceCounter, aside: Path) -> int:
    """Write each part once more, merged; gives the number of states of all."""
    total = 0
    for number, (rows, counts) in enumerate(counter.parts()):
        np.save(aside / f"rows-{number:03d}.npy", rows)
        np.save(aside / f"counts-{number:03d}.npy", counts)
        total += len(rows)
    return total


def _write(counter: TraceCounter, aside: Path, folder: Path, total: int) -> None:
    """The arrays, filled part by part."""
    width = len(counter.program.variables)
    shapes: dict[str, tuple[int, ...]] = {
        "states": (total, width),
        "averages": (total, len(counter.averaging)),
        "after": (total, width),
        "counts": (total,),
    }
    kinds = {"states": np.int32, "averages": np.float64, "after": np.int32, "counts": np.int64}
    files = {one: _array(folder / f"{one}.npy", kinds[one], shapes[one]) for one in ARRAYS}
    start = 0
    for path in sorted(aside.glob("rows-*.npy")):
        rows = np.load(path)
        states, averages, after = counter.unpack(rows)
        counts = np.load(path.with_name(path.name.replace("rows", "counts")))
        span = slice(start, start + len(rows))
        for one, part in zip(ARRAYS, (states, averages, after, counts), strict=True):
            files[one][span] = part
        start += len(rows)
    for one, array in files.items():
        if array.size:
            array.flush()  # type: ignore[attr-defined]
        else:
            np.save(folder / f"{one}.npy", array)


def _array(path: Path, kind: Any, shape: tuple[int, ...]) -> Array:
    """An array on disk; one of no size, which cannot be mapped, in memory."""
    if 0 in shape:
        return np.zeros(shape, kind)
    return open_memmap(path, mode="w+", dtype=kind, shape=shape)


def _described(program: Program, name: str, inputs: int, states: int) -> dict[str, Any]:
    variables = [
        {"name": one.name, "codes": len(one), "head": one.is_head}
        for one in program.variables.values()
    ]
    return {
        "format": FORMAT,
        "program": name or program.name,
        "variables": variables,
        "averaging": list(averaging_heads(program)),
        "inputs": inputs,
        "states": states,
    }


def load(folder: str | Path, program: Program | type[Program]) -> TraceSet:
    """Traces from their folder; large arrays stay on disk until they are read."""
    folder, program = Path(folder), as_program(program)
    told = read_json(folder / "traces.json", AGAIN)
    require(
        told, {"program": str, "inputs": int, "states": int}, str(folder / "traces.json"), AGAIN
    )
    wanted = _described(program, told["program"], told["inputs"], told["states"])
    for key, value in wanted.items():
        if told.get(key) != value:
            raise WeftError(
                f"{folder} holds traces of another program: '{key}' differs",
                subject=program.name,
                remedy="Extract them again",
            )
    states, averages, after, counts = (_read(folder / f"{one}.npy") for one in ARRAYS)
    distinct = StateSet(program.variables, states, counts)
    return TraceSet(program, distinct, averages, after, told["inputs"])


def _read(path: Path) -> Array:
    try:
        found: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise WeftError(f"{path} cannot be read: {reason(error)}", remedy=AGAIN) from None
    return found
