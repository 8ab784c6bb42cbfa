"""`weft subleq`: a machine program in plain Python, in the interpreter and in weights."""

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
    from weft.programs.subleq.machine import Execution
    from weft.programs.subleq.program import Subleq

CELL = 10_000
"""The largest number of a cell, and the most cells: all of them are tokens of the model."""

EXAMPLES = Path(weft.__file__).parent / "programs" / "subleq" / "machines"


@dataclass(frozen=True)
class Way:
    """One way to run a machine: the memory that it leaves, and the layers that it takes."""

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
            "--positions", min=3, max=CELL, help="Cells of the model; else as many as there are."
        ),
    ] = None,
    low: Annotated[
        int | None,
        typer.Option(
            "--low", min=-CELL, max=CELL, help="The smallest number of a cell; else what occurs."
        ),
    ] = None,
    high: Annotated[
        int | None,
        typer.Option(
            "--high", min=-CELL, max=CELL, help="The largest number of a cell; else what occurs."
        ),
    ] = None,
    most: Annotated[
        int,
        typer.Option(
            "--max-instructions",
            min=1,
            max=MAX_COUNT,
            help="Give up on a machine that runs longer.",
        ),
    ] = 1000,
    level: Annotated[int, typer.Option("-O", "--level", help="0 or 2, of the weights.")] = 2,
    weights: Annotated[
        bool, typer.Option("--weights/--no-weights", help="Compile it and run the weights too.")
    ] = True,
    listing: Annotated[
        bool, typer.Option("--listing", help="Show the cells, beside the lines they come from.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a SUBLEQ program: in plain Python, in the interpreter, and as compiled weights.

    SUBLEQ is a computer with one instruction, of three cells a b c: subtract cell a from cell b,
    and if the result is at most 0, go on at cell c. The assembler knows idioms: sub, clear, add,
    move, jump, branch, loop, multiply, halt. Exits with 1 where the three differ.

    Examples:

      weft subleq multiply

      weft subleq rewrite --listing

      weft subleq path/to/mine.subleq --low -100 --high 100
    """
    text, path = read_machine(file)
    from weft.programs.subleq.assembler import assemble

    assembly = assemble(text, path)
    outcome = execute_here(assembly, path, low, high, most)
    program = model_for(assembly, outcome, positions, low, high)
    ways = [interpreted(program, assembly.cells, outcome)]
    if weights:
        ways.append(compiled(program, assembly.cells, outcome, level))
    wrong = [difference for way in ways if (difference := differs(way, outcome))]
    if json:
        print_json(as_json(assembly, outcome, program, ways, wrong))
    else:
        if listing:
            show_listing(assembly, text)
        show(assembly, outcome, program, ways, wrong)
    if wrong:
        raise typer.Exit(1)


def read_machine(file: str) -> tuple[str, str]:
    """The text of a file, or of an example; and its path, for messages."""
    examples = {path.stem: path for path in sorted(EXAMPLES.glob("*.subleq"))}
    path = Path(file)
    if file in examples and not is_file(path):
        path = examples[file]
    remedy = f"Give a text file, or an example: {', '.join(examples)}"
    if not is_file(path) and not is_folder(path):
        raise WeftError(f"there is no file {file}", remedy=remedy)
    return read_text(path, remedy), str(path)


def execute_here(
    assembly: Assembly, path: str, low: int | None, high: int | None, most: int
) -> Execution:
    """Run the plain machine; what goes wrong there names a line of the file."""
    from weft.programs.subleq.machine import MachineError, execute

    try:
        return execute(assembly.cells, low=low, high=high, most=most)
    except MachineError as error:
        line = assembly.lines[error.cell]
        where = Location(path, line) if line else None
        raise WeftError(error.what, where=where, remedy=error.remedy) from None


def model_for(
    assembly: Assembly, outcome: Execution, positions: int | None, low: int | None, high: int | None
) -> Subleq:
    """The program `subleq`, as large as the machine needs it."""
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


def interpreted(program: Subleq, cells: Sequence[int], outcome: Execution) -> Way:
    """In the batched interpreter."""
    from weft.interpreter.batched import run_batch

    run = run_batch(program, [list(cells)], max_layers=outcome.layers + 1)
    return Way("interpreter", run.results[0], run.layers[0])


def compiled(program: Subleq, cells: Sequence[int], outcome: Execution, level: int) -> Way:
    """As weights, compiled just now."""
    from weft.compiler.build import compile_program
    from weft.compiler.run import input_numbers, run_model

    made = compile_program(program, level=level)
    numbers = input_numbers(program, [list(cells)])
    run = run_model(made.model, numbers, layers=outcome.layers + 1)
    memory = [number + program.low for number in run.outputs[0]]
    return Way("weights", memory, run.layers[0], f", {made.hidden_units:,} hidden units")


def differs(way: Way, outcome: Execution) -> str:
    """What is not as in the plain machine; empty where nothing is."""
    for cell, (found, right) in enumerate(zip(way.memory, outcome.memory, strict=True)):
        if found != right:
            return f"{way.name}: cell {cell} holds {found}, should be {right}"
    if way.layers != outcome.layers:
        return f"{way.name}: {way.layers} layers, should be {outcome.layers}"
    return ""


def show(
    assembly: Assembly, outcome: Execution, program: Subleq, ways: list[Way], wrong: list[str]
) -> None:
    """Print how it went, and what the named cells hold."""
    print(f"{len(assembly.cells)} cells, numbers from {program.low} to {program.high}")
    print(f"plain Python  {counted(outcome.instructions, 'instruction')}")
    for way in ways:
        print(f"{way.name:<12}  {counted(way.layers, 'layer')}{way.note}")
    print()
    results = named(assembly, outcome) or [("memory", assembly.cells, outcome.memory)]
    width = max(len(name) for name, _, _ in results)
    for name, before, after in results:
        changed = f"   before: {spaced(before)}" if before != after else ""
        print(f"{name:<{width}}  {spaced(after)}{changed}")
    print()
    same = "all three" if len(ways) == 2 else "both"
    print("\n".join(wrong) or f"{same} leave the same memory")


def show_listing(assembly: Assembly, text: str) -> None:
    """Print the cells, each row beside the line that it comes from."""
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
    """The data: label, numbers at the start, numbers at the end."""
    found = []
    for name, size in assembly.data.items():
        part = slice(assembly.labels[name], assembly.labels[name] + size)
        found.append((name, assembly.cells[part], outcome.memory[part]))
    return found


def as_json(
    assembly: Assembly, outcome: Execution, program: Subleq, ways: list[Way], wrong: list[str]
) -> dict[str, Any]:
    """All of it, for scripts."""
    return {
        "cells": assembly.cells,
        "positions": program.positions,
        "low": program.low,
        "high": program.high,
        "instructions": outcome.instructions,
        "layers": {way.name: way.layers for way in ways},
        "memory": outcome.memory,
        "data": {name: after for name, _, after in named(assembly, outcome)},
        "agree": not wrong,
        "differences": wrong,
    }


def counted(number: int, word: str) -> str:
    """`1 layer`, `2 layers`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def spaced(numbers: Sequence[int]) -> str:
    """Numbers with blanks between them."""
    return " ".join(map(str, numbers))
