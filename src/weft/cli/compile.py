"""`weft compile`, `weft check`, `weft prove`: programs to weights, and whether they are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import LARGEST_SEED, LONGEST, MOST, Json, Name, print_json
from weft.cli.train import Device
from weft.errors import WeftError
from weft.files import input_lines, output_folder

if TYPE_CHECKING:
    from weft.compiler import Compiled

Level = Annotated[
    int,
    typer.Option("-O", "--level", help="2: small; 0: one unit a rule, as in the paper."),
]
Length = Annotated[
    int | None,
    typer.Option(
        "--max-length", min=1, max=LONGEST, help="The longest input, where that must be known."
    ),
]
Relu = Annotated[bool, typer.Option("--relu", help="Plain ReLUs, two for each clipped unit.")]
Dtype = Annotated[str, typer.Option("--dtype", help="float32, float64 or bfloat16.")]


def compile_command(
    name: Name,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the model to this folder.")
    ] = None,
    level: Level = 2,
    max_length: Length = None,
    inputs: Annotated[
        Path | None,
        typer.Option("--for", help="A file with an input a line; only these will occur."),
    ] = None,
    relu: Relu = False,
    dtype: Dtype = "float32",
    explain: Annotated[bool, typer.Option("--explain", help="Say what each pass did.")] = False,
    json: Json = False,
) -> None:
    """Compile a program into the weights of a transformer.

    Examples:

      weft compile addition -o models/addition

      weft compile parity -O 0 --json

      weft compile addition --explain
    """
    from weft.programs import program

    if out is not None:
        output_folder(out, holds="model", marker="model.safetensors", option="-o")
    lines = None if inputs is None else input_lines(inputs)
    found = program(name)
    compiled = _compile(found, level, max_length, relu, dtype, lines)
    if out is not None:
        from weft.compiler import save

        save(compiled, out, name=name)
    if json:
        print_json(compiled.sizes())
        return
    for word, value in compiled.sizes().items():
        print(f"{word:<14}{value}")
    if explain:
        print()
        for pass_name, what in compiled.notes:
            print(f"{pass_name}: {what}")
    if out is not None:
        print(f"written to {out}")


def _compile(
    program: Any,
    level: int,
    max_length: int | None,
    relu: bool,
    dtype: str,
    inputs: list[str] | None = None,
) -> Compiled:
    import weft

    return weft.compile(
        program,
        level=level,
        max_length=max_length,
        activation="relu" if relu else "clipped",
        dtype=dtype,
        inputs=inputs,
    )


def check_command(
    name: Name,
    samples: Annotated[
        int, typer.Option("--samples", min=1, max=MOST, help="How many random inputs.")
    ] = 200,
    max_length: Annotated[
        int, typer.Option("--max-length", min=1, max=LONGEST, help="The longest.")
    ] = 20,
    level: Level = 2,
    relu: Relu = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    layers: Annotated[
        int | None, typer.Option("--layers", min=0, max=MOST, help="For programs that do not halt.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=LARGEST_SEED, help="Another seed draws other inputs."),
    ] = 0,
    json: Json = False,
) -> None:
    """Compare reference interpreter, batched interpreter and weights on random inputs.

    Every variable is compared at every layer. Exits with 1 where something differs.

    Examples:

      weft check addition

      weft check parity --samples 1000 --max-length 40 -O 0
    """
    from rich.progress import Progress

    from weft.compiler.check import check
    from weft.programs import program

    found = program(name)
    compiled = _compile(found, level, None, relu, dtype)
    _move(compiled, device)
    with Progress(transient=True, disable=json) as bar:
        task = bar.add_task("checking", total=samples)
        report = check(
            compiled,
            samples=samples,
            max_length=max_length,
            seed=seed,
            layers=layers,
            progress=lambda done: bar.update(task, completed=done),
        )
    difference = report.difference
    if json:
        print_json(
            {
                "inputs": report.inputs,
                "skipped": report.skipped,
                "layers": report.layers,
                "agree": difference is None,
                "difference": None if difference is None else str(difference),
            }
        )
    else:
        skipped = f"; {report.skipped} more failed in the program itself" if report.skipped else ""
        print(f"{report.inputs} inputs, {report.layers:,} layers{skipped}")
        if difference is None:
            print("reference, batched and compiled agree on every variable at every layer")
        else:
            shown = found.vocabulary.show(difference.tokens)
            print(f"they differ on {shown}: {difference}")
    if difference is not None:
        raise typer.Exit(1)


def _move(compiled: Compiled, device: str) -> None:
    from weft.training.environment import device_of

    try:
        compiled.model.to(device_of(device))
    except (RuntimeError, AssertionError) as error:
        what = str(error).splitlines()[0]
        raise WeftError(f"the model cannot go to {device}: {what}", remedy="Use cpu") from None


def prove_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that `weft compile` wrote.")
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--program", metavar="PROGRAM", help="Where the program is, if not as before."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Prove from the weights in a folder that they compute their program, in every state.

    The result is written on the model's card. Exits with 1 where something differs.

    Example:

      weft compile addition -o models/addition && weft prove models/addition
    """
    from weft.compiler.prove import prove_folder
    from weft.programs import program

    proof = prove_folder(folder, name, program)
    if json:
        print_json(
            {
                "proved": proof.proved,
                "cells": proof.cells,
                "seconds": round(proof.seconds, 3),
                "difference": proof.difference or None,
            }
        )
    elif proof.proved and proof.limits:
        print(
            f"proved for {proof.limits}: every update, and attention ({proof.cells:,} cells, "
            f"{proof.seconds:.2f} s)"
        )
    elif proof.proved:
        print(
            f"proved: every update in every state, and attention at every length ({proof.cells:,} "
            f"cells, {proof.seconds:.2f} s)"
        )
    else:
        print(f"not proved: {proof.difference}")
    if not proof.proved:
        raise typer.Exit(1)
