"""Trace supervision: what the feed-forward reads and writes, each distinct state once.

The ALTA paper (appendix C.1) trains the feed-forward on pairs: a position's variables after
attention, and after the step. Over all layers, positions and inputs few pairs are distinct, so each
is kept once with the number of times it occurred:

    n  distinct states   v  variables, in the order of their declaration   h  heads that average

If there are too many states for memory, they are written to disk in parts, by a hash of their
content. Equal states are in the same part, so each part can be merged on its own.

`extract` writes a trace set to a folder of plain arrays, which may be larger than memory:

    traces.json    the program, its variables, and the numbers of inputs and states
    states.npy     n v, codes after attention
    averages.npy   n h, what heads with a numerical output averaged
    after.npy      n v, codes after the step
    counts.npy     n, how often each state occurred
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import write_array_header_1_0
from numpy.typing import NDArray

from weft.config import require
from weft.errors import WeftError
from weft.files import output_folder, read_json, reason, replaced, write_json
from weft.interpreter.batched import step_codes
from weft.interpreter.inputs import read_input
from weft.interpreter.states import (
    Ints,
    StateCounter,
    StateSet,
    Words,
    hash_rows,
    layer_states,
    merge_rows,
    sorted_rows,
)
from weft.language.program import Program, as_program
from weft.language.ranges import Number

Array = NDArray[Any]

STATES_IN_MEMORY = 1 << 21
"""How many distinct states are counted in memory before they are written to disk."""
PART_BITS = 4
PARTS = 1 << PART_BITS
FORMAT = 1
AGAIN = "Extract the traces again"
ARRAYS = {"states": np.int32, "averages": np.float64, "after": np.int32, "counts": np.int64}
"""The arrays of a folder, with their types."""


@dataclass(frozen=True)
class TraceSet:
    """Distinct states of a program's runs, and what the step makes of each.

    Attributes:
        program: the program that ran.
        states: the states after attention, with counts. If heads average, states that differ in
            averages alone have a row each.
        averages: n h, what each head with a numerical output averaged; 0 if it is undefined.
        after: n v, the codes after the step.
        inputs: how many inputs were run.
    """

    program: Program = field(repr=False)
    states: StateSet
    averages: Array
    after: Array
    inputs: int

    def __len__(self) -> int:
        return len(self.states)

    @property
    def counts(self) -> Array:
        """n, how often each state occurred."""
        return self.states.counts

    @property
    def occurrences(self) -> int:
        """How many states occurred, over all layers and positions of all inputs."""
        return self.states.total


def averaging_heads(program: Program) -> tuple[str, ...]:
    """The heads with a numerical output, which average what they select."""
    variables = program.variables
    return tuple(name for name in program.heads if isinstance(variables[name].range, Number))


class TraceCounter(StateCounter):
    """Counts states with averages, in memory or, if there are too many, in parts on disk."""

    def __init__(self, program: Program, folder: Path, limit: int = STATES_IN_MEMORY) -> None:
        super().__init__(program, averaging_heads(program))
        self.folder, self.limit = folder, limit
        self.inputs = 0
        self._spilled = False

    def run(self, inputs: Iterable[Any]) -> None:
        """Run the program and count the states of all its layers."""
        for layer in layer_states(self.program, self._read(inputs)):
            self.add(layer)

    def _read(self, inputs: Iterable[Any]) -> Iterator[Any]:
        for given in inputs:
            self.inputs += 1
            yield read_input(self.program, given)

    def merge(self) -> None:
        super().merge()
        if len(self._rows) > self.limit:
            self._spill()

    def _spill(self) -> None:
        """Append what is in memory to the files of its parts."""
        counted = np.concatenate([self._rows, self._counts[:, None].astype(np.uint64)], 1)
        parts = _part(self._rows)
        for part in range(PARTS):
            with (self.folder / f"part-{part}").open("ab") as file:
                file.write(np.ascontiguousarray(counted[parts == part]).tobytes())
        self._rows, self._counts = self._rows[:0], self._counts[:0]
        self._spilled = True

    def parts(self) -> Iterator[tuple[Words, Ints]]:
        """All distinct rows, part by part: the same whether or not the disk was needed."""
        self.merge()
        if self._spilled:
            self._spill()
        in_memory = _part(self._rows)
        for part in range(PARTS):
            if self._spilled:
                stored = np.fromfile(self.folder / f"part-{part}", np.uint64)
                stored = stored.reshape(-1, self._rows.shape[1] + 1)
                rows, counts = merge_rows(stored[:, :-1], stored[:, -1].astype(np.int64))
            else:
                rows, counts = self._rows[in_memory == part], self._counts[in_memory == part]
            yield sorted_rows(rows, counts)

    def unpack(self, rows: Words) -> tuple[Array, Array, Array]:
        """The states (n v), averages (n h) and codes after the step (n v) of some rows."""
        codes = self.packing.unpack(rows)
        averages = np.ascontiguousarray(rows[:, len(self.packing.words) :]).view(np.float64)
        return codes, averages, step_codes(self.program, codes)


def _part(rows: Words) -> Array:
    """The part that each row belongs to: the highest bits of its hash."""
    return (hash_rows(rows) >> np.uint64(64 - PART_BITS)).astype(np.intp)


def collect(program: Program | type[Program], inputs: Iterable[Any]) -> TraceSet:
    """Count the distinct states of a program's runs on some inputs, in memory.

    Example:
        >>> import weft
        >>> from weft.training.traces.dataset import collect
        >>> traces = collect(weft.program("parity"), ["101", "0", "1101"])
        >>> len(traces), traces.occurrences
        (12, 34)
    """
    program = as_program(program)
    with tempfile.TemporaryDirectory() as folder:
        counter = TraceCounter(program, Path(folder))
        counter.run(inputs)
        parts = list(counter.parts())
    codes, averages, after = counter.unpack(np.concatenate([rows for rows, _ in parts]))
    counts = np.concatenate([counts for _, counts in parts])
    states = StateSet(program.variables, codes, counts)
    return TraceSet(program, states, averages, after, counter.inputs)


def extract(
    program: Program | type[Program],
    inputs: Iterable[Any],
    folder: str | Path,
    *,
    name: str = "",
    limit: int = STATES_IN_MEMORY,
) -> TraceSet:
    """Write the distinct states of a program's runs to a folder, and return them from there.

    Args:
        program: the program to run.
        inputs: its inputs, which are consumed one by one.
        folder: where the files go; a trace set that is there is replaced.
        name: the name by which the program can be found again.
        limit: number of states that are counted in memory; beyond that, counting uses the disk.
    """
    program, folder = as_program(program), Path(folder)
    output_folder(folder, holds="traces", marker="traces.json")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        counter = TraceCounter(program, Path(aside), limit)
        counter.run(inputs)
        with replaced(folder) as scratch:
            scratch.mkdir()
            total = _write(counter, Path(aside), scratch)
            write_json(scratch / "traces.json", _described(program, name, counter.inputs, total))
    return load(folder, program)


def _write(counter: TraceCounter, aside: Path, folder: Path) -> int:
    """Write the arrays, part by part; returns the number of states."""
    total = 0
    for rows, counts in counter.parts():
        arrays = (*counter.unpack(rows), counts)
        for (name, kind), array in zip(ARRAYS.items(), arrays, strict=True):
            with (aside / name).open("ab") as file:
                file.write(array.astype(kind).tobytes())
        total += len(rows)
    widths = {"averages": (len(counter.averaging),), "counts": ()}
    for name, kind in ARRAYS.items():
        shape = (total, *widths.get(name, (len(counter.program.variables),)))
        described = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": shape}
        with (folder / f"{name}.npy").open("wb") as file, (aside / name).open("rb") as body:
            write_array_header_1_0(file, described)
            shutil.copyfileobj(body, file)
    return total


def _described(program: Program, name: str, inputs: int, states: int) -> dict[str, Any]:
    variables = [
        {"name": variable.name, "codes": len(variable), "head": variable.is_head}
        for variable in program.variables.values()
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
    path = folder / "traces.json"
    stored = read_json(path, AGAIN)
    require(stored, {"program": str, "inputs": int, "states": int}, str(path), AGAIN)
    expected = _described(program, stored["program"], stored["inputs"], stored["states"])
    for key, value in expected.items():
        if stored.get(key) != value:
            raise WeftError(
                f"{folder} holds traces of another program: '{key}' differs",
                subject=program.name,
                remedy=AGAIN,
            )
    states, averages, after, counts = (_read(folder / f"{name}.npy") for name in ARRAYS)
    distinct = StateSet(program.variables, states, counts)
    return TraceSet(program, distinct, averages, after, stored["inputs"])


def _read(path: Path) -> Array:
    try:
        array: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise WeftError(f"{path} cannot be read: {reason(error)}", remedy=AGAIN) from None
    return array
