"""A SUBLEQ machine in plain Python and in the interpreter, compared cell by cell.

`weft subleq` adds a third run, that of the compiled weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from weft.errors import Location, WeftError
from weft.files import is_file, is_folder, read_text
from weft.language.tables import LIMIT
from weft.programs.subleq.assembler import Assembly, assemble
from weft.programs.subleq.program import Subleq
from weft.programs.subleq.simulator import Execution, MachineError, execute

EXAMPLES = Path(__file__).parent / "machines"


@dataclass(frozen=True)
class MachineRun:
    """One run of a machine: its final memory and its number of layers."""

    name: str
    memory: list[int]
    layers: int
    note: str = ""


@dataclass(frozen=True)
class Machine:
    """A machine with its source and its execution in plain Python.

    Attributes:
        text: the source, assembly or numbers.
        assembly: its cells, and the lines that they come from.
        execution: what it does in plain Python.
        program: the program `subleq`, as large as the machine requires.
    """

    text: str
    assembly: Assembly
    execution: Execution
    program: Subleq

    def interpreted(self) -> MachineRun:
        """Run it in the batched interpreter."""
        from weft.interpreter.batched import run_batch

        cells = [list(self.assembly.cells)]
        run = run_batch(self.program, cells, max_layers=self.execution.layers + 1)
        return MachineRun("interpreter", run.results[0], run.layers[0])

    def difference(self, run: MachineRun) -> str:
        """The first difference of a run from plain Python; empty if there is none."""
        pairs = zip(run.memory, self.execution.memory, strict=True)
        for cell, (result, right) in enumerate(pairs):
            if result != right:
                return f"{run.name}: cell {cell} holds {result}, should be {right}"
        if run.layers != self.execution.layers:
            return f"{run.name}: {run.layers} layers, should be {self.execution.layers}"
        return ""

    @cached_property
    def data(self) -> dict[str, tuple[tuple[int, ...], tuple[int, ...]]]:
        """By label, the numbers that it names at the start and at the end."""
        result = {}
        for name, size in self.assembly.data.items():
            part = slice(self.assembly.labels[name], self.assembly.labels[name] + size)
            result[name] = (self.assembly.cells[part], self.execution.memory[part])
        return result

    def listing(self) -> Iterator[tuple[int, tuple[int, ...], str]]:
        """Up to three cells at a time: the first address, the cells, and their source line."""
        source = ["(added)", *self.text.splitlines()]
        lines, cells = self.assembly.lines, self.assembly.cells
        begins = [cell for cell in range(len(lines)) if cell == 0 or lines[cell] != lines[cell - 1]]
        for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
            for first in range(begin, end, 3):
                line = source[lines[begin]].rstrip() if first == begin else ""
                yield first, cells[first : min(first + 3, end)], line


def load_machine(
    file: str,
    *,
    positions: int | None = None,
    low: int | None = None,
    high: int | None = None,
    max_instructions: int = 1000,
) -> Machine:
    """Read a machine and run it in plain Python; errors name a line of the file.

    Args:
        file: a file with assembly or numbers, or the name of an example.
        positions: the cells of the model; as many as the machine has if None.
        low: the smallest number in a cell; the smallest that occurs if None.
        high: the largest number in a cell; the largest that occurs if None.
        max_instructions: how many instructions it may take.

    Example:
        >>> machine = load_machine("multiply")
        >>> machine.difference(machine.interpreted())
        ''
    """
    text, path = _read(file)
    assembly = assemble(text, path)
    try:
        execution = execute(assembly.cells, low=low, high=high, most=max_instructions)
    except MachineError as error:
        line = assembly.lines[error.cell]
        raise error.revised(where=Location(path, line) if line else None) from None
    cells = positions if positions is not None else len(assembly.cells)
    if cells < len(assembly.cells):
        what = f"{len(assembly.cells)} cells do not fit into {cells} positions"
        raise WeftError(what, remedy="Give more --positions, or none")
    least = low if low is not None else min(-1, execution.low)
    largest = high if high is not None else max(cells - 1, execution.high)
    numbers = largest - least + 1
    if numbers**2 > LIMIT:
        raise WeftError(
            f"a cell holds {least} to {largest}: {numbers:,} numbers, and the model has room for "
            f"{math.isqrt(LIMIT)}",
            remedy="Give fewer cells or smaller numbers, or bound them with --low and --high",
        )
    return Machine(text, assembly, execution, Subleq(cells, least, largest))


def _read(file: str) -> tuple[str, str]:
    """The text of a file or of an example, and its path for error messages."""
    examples = {path.stem: path for path in sorted(EXAMPLES.glob("*.subleq"))}
    path = Path(file)
    if file in examples and not is_file(path):
        path = examples[file]
    remedy = f"Give a text file, or an example: {', '.join(examples)}"
    if not is_file(path) and not is_folder(path):
        raise WeftError(f"there is no file {file}", remedy=remedy)
    return read_text(path, remedy), str(path)
