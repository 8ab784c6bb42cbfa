"""`weft subleq`: a machine in plain Python, in the interpreter and as compiled weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, Level, count_option, plural, print_json

if TYPE_CHECKING:
    from weft.programs.subleq.machine import Machine, MachineRun

CELL = 10_000
"""Bound of numbers and of cells; each number is a token of the model."""


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
        int, count_option("--max-instructions", "Fail after this many instructions.")
    ] = 1000,
    level: Level = 2,
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
    from weft.programs.subleq.machine import load_machine

    machine = load_machine(
        file, positions=positions, low=low, high=high, max_instructions=max_instructions
    )
    runs = [machine.interpreted()]
    if weights:
        runs.append(_compiled(machine, level))
    wrong = [difference for run in runs if (difference := machine.difference(run))]
    if json:
        print_json(_as_json(machine, runs, wrong))
    else:
        if listing:
            for first, cells, line in machine.listing():
                print(f"{first:>4}  {_spaced(cells):<12}  {line}".rstrip())
            print()
        _show(machine, runs, wrong)
    if wrong:
        raise typer.Exit(1)


def _compiled(machine: Machine, level: int) -> MachineRun:
    """Compile the program and run its weights."""
    from weft.compiler.build import compile_program
    from weft.compiler.execution import input_numbers, run_model
    from weft.programs.subleq.machine import MachineRun

    program, layers = machine.program, machine.execution.layers + 1
    compiled = compile_program(program, level=level)
    numbers = input_numbers(program, [machine.assembly.cells])
    run = run_model(compiled.model, numbers, layers=layers)
    memory = [number + program.low for number in run.outputs[0]]
    return MachineRun("weights", memory, run.layers[0], f", {compiled.hidden_units:,} hidden units")


def _show(machine: Machine, runs: list[MachineRun], wrong: list[str]) -> None:
    """Print the runs, and what the named cells hold."""
    execution, cells = machine.execution, machine.assembly.cells
    print(f"{len(cells)} cells, numbers from {machine.program.low} to {machine.program.high}")
    print(f"plain Python  {plural(execution.instructions, 'instruction')}")
    for run in runs:
        print(f"{run.name:<12}  {plural(run.layers, 'layer')}{run.note}")
    print()
    results = machine.data or {"memory": (cells, execution.memory)}
    width = max(map(len, results))
    for name, (before, after) in results.items():
        changed = f"   before: {_spaced(before)}" if before != after else ""
        print(f"{name:<{width}}  {_spaced(after)}{changed}")
    print()
    same = "all three" if len(runs) == 2 else "both"
    print("\n".join(wrong) or f"{same} leave the same memory")


def _as_json(machine: Machine, runs: list[MachineRun], wrong: list[str]) -> dict[str, Any]:
    """The runs as plain values, for JSON."""
    return {
        "cells": machine.assembly.cells,
        "positions": machine.program.positions,
        "low": machine.program.low,
        "high": machine.program.high,
        "instructions": machine.execution.instructions,
        "layers": {run.name: run.layers for run in runs},
        "memory": machine.execution.memory,
        "data": {name: after for name, (_, after) in machine.data.items()},
        "agree": not wrong,
        "differences": wrong,
    }


def _spaced(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
