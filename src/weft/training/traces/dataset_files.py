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
from weft.language.program import Program, as_program
from weft.training.traces.dataset import MOST, Array, Packing, Tally, TraceSet, counted

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
    most: int = MOST,
) -> TraceSet:
    """Write the distinct states of a program's runs to a folder; gives them back from there.

    Args:
        program: what is run.
        inputs: on what; they are taken one after the other, never all at once.
        folder: where the files go; what was there is replaced.
        name: what the program is called, to be found by again.
        layers: run this many layers, unless an input halts before.
        most: how many states are kept in memory; more are put aside on disk while counting.
    """
    program, folder = as_program(program), Path(folder)
    output_folder(folder, holds="traces", marker="traces.json")
    packing = Packing(program)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        tally, count = counted(packing, inputs, Path(aside), layers=layers, most=most)
        total = _merge_parts(tally, Path(aside))
        shutil.rmtree(folder, ignore_errors=True)
        with replaced(folder) as scratch:
            scratch.mkdir()
            _write(packing, Path(aside), scratch, total)
            write_json(scratch / "traces.json", _described(packing, name, count, total))
    return load(folder, program)


def _merge_parts(tally: Tally, aside: Path) -> int:
    """Write each part once more, merged; gives the number of states of all."""
    total = 0
    for number, (rows, counts) in enumerate(tally.parts()):
        np.save(aside / f"rows-{number:03d}.npy", rows)
        np.save(aside / f"counts-{number:03d}.npy", counts)
        total += len(rows)
    return total


def _write(packing: Packing, aside: Path, folder: Path, total: int) -> None:
    """The arrays, filled part by part."""
    width = len(packing.program.variables)
    shapes: dict[str, tuple[int, ...]] = {
        "states": (total, width),
        "averages": (total, len(packing.numbers)),
        "after": (total, width),
        "counts": (total,),
    }
    kinds = {"states": np.int32, "averages": np.float64, "after": np.int32, "counts": np.int64}
    files = {one: _array(folder / f"{one}.npy", kinds[one], shapes[one]) for one in ARRAYS}
    start = 0
    for path in sorted(aside.glob("rows-*.npy")):
        rows = np.load(path)
        states, averages, after = packing.unpack(rows)
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


def _described(packing: Packing, name: str, inputs: int, states: int) -> dict[str, Any]:
    variables = [
        {"name": one.name, "codes": len(one), "head": one.is_head}
        for one in packing.program.variables.values()
    ]
    return {
        "format": FORMAT,
        "program": name or packing.program.name,
        "variables": variables,
        "averaging": list(packing.numbers),
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
    packing = Packing(program)
    wanted = _described(packing, told["program"], told["inputs"], told["states"])
    for key, value in wanted.items():
        if told.get(key) != value:
            raise WeftError(
                f"{folder} holds traces of another program: '{key}' differs",
                subject=program.name,
                remedy="Extract them again",
            )
    states, averages, after, counts = (_read(folder / f"{one}.npy") for one in ARRAYS)
    return TraceSet(program, states, averages, after, counts, told["inputs"])


def _read(path: Path) -> Array:
    try:
        found: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise WeftError(f"{path} cannot be read: {reason(error)}", remedy=AGAIN) from None
    return found
