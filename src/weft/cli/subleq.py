"""`weft subleq`: a machine in plain Python, in the interpreter and as compiled weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import weft
from weft.cli.options import MAX_COUNT, Json, print_json
from weft.errors import Location, WeftError
from weft.files import is_file, is_folder, read_text

if TYPE_CHECKING:
    from weft.programs.subleq.assembler import Assembly
    from weft.programs.subleq.program import Subleq
    from weft.programs.subleq.simulator import Execution

CELL = 10_000
"""Bound of numbers and of cells; each number is a token of the model."""

EXAMPLES = Path(weft.__file__).parent / "programs" / "subleq" / "machines"


@dataclass(frozen=True)
class MachineRun:
    """One run of a machine: its final memory and its number of layers."""

    name: str
    memory: list[int]
    layers: int
    note: str = ""


def subleq_command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A file with SUBLEQ assembly or numbers, or an example: count-down, multiply, "
            "fibonacci, rewrite.",
        ),
    ],
    positions: Annotated[
        int | None,
        typer.Option(
            "--positions",
            min=3,
            max=CELL,
            help="Cells of the model; by default as many as the file has.",
        ),
    ] = None,
    low: Annotated[
        int | None,
        typer.Option(
            "--low",
            min=-CELL,
            max=CELL,
            help="The smallest number in a cell; by default the smallest that occurs.",
        ),
    ] = None,
    high: Annotated[
        int | None,
        typer.Option(
            "--high",
            min=-CELL,
            max=CELL,
            help="The largest number in a cell; by default the largest that occurs.",
        ),
    ] = None,
    max_instructions: Annotated[
        int,
        typer.Option(
            "--max-instructions",
            min=1,
            max=MAX_COUNT,
            help="Fail after this many instructions.",
        ),
    ] = 1000,
    level: Annotated[
        int, typer.Option("-O", "--level", help="Optimisation level of the weights: 0 or 2.")
    ] = 2,
    weights: Annotated[
        bool, typer.Option("--weights/--no-weights", help="Also compile it and run the weights.")
    ] = True,
    listing: Annotated[
        bool,
        typer.Option("--listing", help="Print the cells beside the source lines they come from."),
    ] = False,
    json: Json = False,
) -> None:
    """Run a SUBLEQ machine: Python, interpreter, weights.

    SUBLEQ is a computer with one instruction of three cells a b c: subtract cell a from cell b, and
    if the result is at most 0, jump to cell c. The assembler has the macros sub, clear, add, move,
    jump, branch, loop, multiply and halt. Exits with 1 if the three runs differ.

    Examples:

      weft subleq multiply

      weft subleq rewrite --listing

      weft subleq path/to/mine.subleq --low -100 --high 100
    """
    text, path = read_machine(file)
    from weft.programs.subleq.assembler import assemble

    assembly = assemble(text, path)
    outcome = execute_here(assembly, path, low, high, max_instructions)
    program = model_for(assembly, outcome, positions, low, high)
    runs = [interpreted(program, assembly.cells, outcome)]
    if weights:
        runs.append(compiled(program, assembly.cells, outcome, level))
    wrong = [difference for run in runs if (difference := differs(run, outcome))]
    if json:
        print_json(as_json(assembly, outcome, program, runs, wrong))
    else:
        if listing:
            show_listing(assembly, text)
        show(assembly, outcome, program, runs, wrong)
    if wrong:
        raise typer.Exit(1)


def read_machine(file: str) -> tuple[str, str]:
    """The text of a file or of an example, and its path for error messages."""
    examples = {path.stem: path for path in sorted(EXAMPLES.glob("*.subleq"))}
    path = Path(file)
    if file in examples and not is_file(path):
        path = examples[file]
    remedy = f"Give a text file, or an example: {', '.join(examples)}"
    if not is_file(path) and not is_folder(path):
        raise WeftError(f"there is no file {file}", remedy=remedy)
    return read_text(path, remedy), str(path)


def execute_here(
    assembly: Assembly, path: str, low: int | None, high: int | None, max_instructions: int
) -> Execution:
    """Run the plain machine; its errors name a line of the file."""
    from weft.programs.subleq.simulator import MachineError, execute

    try:
        return execute(assembly.cells, low=low, high=high, most=max_instructions)
    except MachineError as error:
        line = assembly.lines[error.cell]
        where = Location(path, line) if line else None
        raise WeftError(error.what, where=where, remedy=error.remedy) from None


def model_for(
    assembly: Assembly, outcome: Execution, positions: int | None, low: int | None, high: int | None
) -> Subleq:
    """The program `subleq`, as large as the machine requires."""
    from weft.language.tables import LIMIT
    from weft.programs.subleq.program import Subleq

    cells = positions if positions is not None else len(assembly.cells)
    if cells < len(assembly.cells):
        what = f"{len(assembly.cells)} cells do not fit into {cells} positions"
        raise WeftError(what, remedy="Give more --positions, or none")
    least = low if low is not None else min(-1, outcome.low)
    largest = high if high is not None else max(cells - 1, outcome.high)
    numbers = largest - least + 1
    if numbers**2 > LIMIT:
        raise WeftError(
            f"a cell holds {least} to {largest}: {numbers:,} numbers, and the model has room for "
            f"{math.isqrt(LIMIT)}",
            remedy="Give fewer cells or smaller numbers, or bound them with --low and --high",
        )
    return Subleq(cells, least, largest)


def interpreted(program: Subleq, cells: Sequence[int], outcome: Execution) -> MachineRun:
    """Run the machine in the batched interpreter."""
    from weft.interpreter.batched import run_batch

    run = run_batch(program, [list(cells)], max_layers=outcome.layers + 1)
    return MachineRun("interpreter", run.results[0], run.layers[0])


def compiled(program: Subleq, cells: Sequence[int], outcome: Execution, level: int) -> MachineRun:
    """Compile the program and run its weights."""
    from weft.compiler.build import compile_program
    from weft.compiler.execution import input_numbers, run_model

    made = compile_program(program, level=level)
    numbers = input_numbers(program, [list(cells)])
    run = run_model(made.model, numbers, layers=outcome.layers + 1)
    memory = [number + program.low for number in run.outputs[0]]
    return MachineRun("weights", memory, run.layers[0], f", {made.hidden_units:,} hidden units")


def differs(run: MachineRun, outcome: Execution) -> str:
    """The first difference from the plain machine; empty if there is none."""
    for cell, (result, right) in enumerate(zip(run.memory, outcome.memory, strict=True)):
        if result != right:
            return f"{run.name}: cell {cell} holds {result}, should be {right}"
    if run.layers != outcome.layers:
        return f"{run.name}: {run.layers} layers, should be {outcome.layers}"
    return ""


def show(
    assembly: Assembly,
    outcome: Execution,
    program: Subleq,
    runs: list[MachineRun],
    wrong: list[str],
) -> None:
    """Print the runs, and what the named cells hold."""
    print(f"{len(assembly.cells)} cells, numbers from {program.low} to {program.high}")
    print(f"plain Python  {counted(outcome.instructions, 'instruction')}")
    for run in runs:
        print(f"{run.name:<12}  {counted(run.layers, 'layer')}{run.note}")
    print()
    results = named(assembly, outcome) or [("memory", assembly.cells, outcome.memory)]
    width = max(len(name) for name, _, _ in results)
    for name, before, after in results:
        changed = f"   before: {spaced(before)}" if before != after else ""
        print(f"{name:<{width}}  {spaced(after)}{changed}")
    print()
    same = "all three" if len(runs) == 2 else "both"
    print("\n".join(wrong) or f"{same} leave the same memory")


def show_listing(assembly: Assembly, text: str) -> None:
    """Print the cells, each row beside the source line that it comes from."""
    source = ["(added)", *text.splitlines()]
    lines = assembly.lines
    begins = [cell for cell in range(len(lines)) if cell == 0 or lines[cell] != lines[cell - 1]]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        for first in range(begin, end, 3):
            row = spaced(assembly.cells[first : min(first + 3, end)])
            line = source[lines[begin]].rstrip() if first == begin else ""
            print(f"{first:>4}  {row:<12}  {line}".rstrip())
    print()


def named(
    assembly: Assembly, outcome: Execution
) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """The named data: label, numbers at the start, numbers at the end."""
    result = []
    for name, size in assembly.data.items():
        part = slice(assembly.labels[name], assembly.labels[name] + size)
        result.append((name, assembly.cells[part], outcome.memory[part]))
    return result


def as_json(
    assembly: Assembly,
    outcome: Execution,
    program: Subleq,
    runs: list[MachineRun],
    wrong: list[str],
) -> dict[str, Any]:
    """The runs as plain values, for JSON."""
    return {
        "cells": assembly.cells,
        "positions": program.positions,
        "low": program.low,
        "high": program.high,
        "instructions": outcome.instructions,
        "layers": {run.name: run.layers for run in runs},
        "memory": outcome.memory,
        "data": {name: after for name, _, after in named(assembly, outcome)},
        "agree": not wrong,
        "differences": wrong,
    }


def counted(number: int, word: str) -> str:
    """`1 layer`, `2 layers`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def spaced(numbers: Sequence[int]) -> str:
    """Numbers separated by spaces."""
    return " ".join(map(str, numbers))
