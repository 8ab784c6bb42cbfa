"""`weft compile`, `weft check`, `weft prove`: compile programs, and verify the weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import (
    MAX_LENGTH,
    Device,
    Json,
    Layers,
    Level,
    Name,
    Seed,
    count_option,
    print_json,
)
from weft.errors import WeftError
from weft.files import output_folder
from weft.interpreter.inputs import read_input_file

if TYPE_CHECKING:
    from weft.compiler import Compiled
    from weft.compiler.check import Report
    from weft.language.program import Program
    from weft.proofs import Proof

Length = Annotated[
    int | None,
    typer.Option(
        "--max-length",
        min=1,
        max=MAX_LENGTH,
        help="Maximum input length, for programs that depend on it.",
    ),
]
Relu = Annotated[bool, typer.Option("--relu", help="Use plain ReLUs, two per clipped unit.")]
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
        typer.Option("--for", help="Compile only for the inputs in this file, one per line."),
    ] = None,
    relu: Relu = False,
    dtype: Dtype = "float32",
    separate_layers: Annotated[
        bool,
        typer.Option(
            "--separate-layers",
            help="A copy of the weights for every layer, in place of one layer in a loop.",
        ),
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Print what each pass did.")] = False,
    json: Json = False,
) -> None:
    """Compile a program into transformer weights.

    Examples:

      weft compile addition -o models/addition

      weft compile parity -O 0 --json

      weft compile addition --explain

      weft compile histogram --separate-layers -o models/histogram
    """
    from weft.programs import program

    if out is not None:
        output_folder(out, holds="model", marker="model.safetensors", option="-o")
    lines = None if inputs is None else read_input_file(inputs)
    compiled = _compile(
        program(name), level, max_length, relu, dtype, inputs=lines, shared=not separate_layers
    )
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
    **options: Any,
) -> Compiled:
    import weft

    return weft.compile(
        program,
        level=level,
        max_length=max_length,
        activation="relu" if relu else "clipped",
        dtype=dtype,
        **options,
    )


def check_command(
    name: Name,
    samples: Annotated[int, count_option("--samples", "How many random inputs to draw.")] = 200,
    max_length: Annotated[
        int | None,
        typer.Option(
            "--max-length",
            min=1,
            max=MAX_LENGTH,
            help="Maximum length of the inputs and of the model. [20]",
        ),
    ] = None,
    level: Level = 2,
    relu: Relu = False,
    dtype: Dtype = "float32",
    device: Device = "auto",
    layers: Layers = None,
    seed: Seed = 0,
    allow_failures: Annotated[
        bool,
        typer.Option("--allow-failures", help="Accept inputs on which the program itself fails."),
    ] = False,
    json: Json = False,
) -> None:
    """Compare interpreters and weights on random inputs.

    The reference interpreter, the batched interpreter and the compiled weights must agree on every
    variable at every layer. Exits with 1 if they differ, or if the program fails on an input.

    Examples:

      weft check addition

      weft check parity --samples 1000 --max-length 40 -O 0
    """
    from rich.progress import Progress

    from weft.compiler.check import check
    from weft.programs import program

    checked = program(name)
    longest = max_length
    if longest is None:
        longest = min(CHECK_LENGTH, checked.definition.positions or CHECK_LENGTH)
    compiled = _compile(checked, level, longest, relu, dtype)
    _move(compiled, device)
    with Progress(transient=True, disable=json) as bar:
        task = bar.add_task("checking", total=samples)
        report = check(
            compiled,
            samples=samples,
            max_length=longest,
            seed=seed,
            layers=layers,
            progress=lambda done: bar.update(task, completed=done),
        )
    passed = report.difference is None and report.inputs > 0
    passed = passed and (allow_failures or not report.failures)
    if json:
        print_json(_check_as_json(report, checked, passed))
    else:
        _print_check(report, checked)
    if not passed:
        raise typer.Exit(1)


CHECK_LENGTH = 20


def _check_as_json(report: Report, program: Program, passed: bool) -> dict[str, Any]:
    difference = report.difference
    return {
        "passed": passed,
        "inputs": report.inputs,
        "tried": report.tried,
        "failed": len(report.failures),
        "layers": report.layers,
        "agree": difference is None,
        "difference": None if difference is None else str(difference),
        "input": None if difference is None else program.vocabulary.show(difference.tokens),
        "source": None if difference is None else difference.source,
        "failure": None
        if not report.failures
        else {
            "input": program.vocabulary.show(report.failures[0].tokens),
            "reason": report.failures[0].reason,
        },
        "never_halts": report.never_halts,
    }


def _print_check(report: Report, program: Program) -> None:
    import weft

    difference, failures = report.difference, report.failures
    print(f"{report.inputs} inputs, {report.layers:,} layers")
    if report.never_halts:
        print(f"the program never halts: none of {report.tried} inputs did; {failures[0].reason}")
    elif failures:
        print(f"the program fails on {len(failures)} of {report.tried} inputs, as on this one:")
        print(f"  {failures[0].reason}")
        if type(program).sample is weft.Program.sample:
            print("  If inputs must have a certain form, write `sample` to draw them")
    if difference is not None:
        shown = program.vocabulary.show(difference.tokens)
        by = "" if difference.source in ("weights", "program") else f" ({difference.source})"
        print(f"they differ on {shown}: {difference}{by}")
    elif report.inputs:
        print("reference, batched and compiled agree on every variable at every layer")


def _move(compiled: Compiled, device: str) -> None:
    from weft.training.environment import device_of

    try:
        compiled.model.to(device_of(device))
    except (RuntimeError, AssertionError) as error:
        what = str(error).splitlines()[0]
        raise WeftError(f"the model cannot go to {device}: {what}", remedy="Use cpu") from None


def prove_command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A folder written by `weft compile` or `weft crasp compile`."
        ),
    ],
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|NAME]", help="Prove a C-RASP model against this program instead."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--program", metavar="PROGRAM", help="The program, if its file has moved."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 if any state is excluded.")
    ] = False,
    json: Json = False,
) -> None:
    """Prove that saved weights compute their program.

    Prints `proved`, with the states that are excluded because the program itself fails in them;
    `wrong`, with a state or an input as counterexample; or `undecided`, with the reason. The result
    is written on the model's card, unless another program is given. Exits with 1 unless it is
    proved.

    Examples:

      weft compile addition -o models/addition && weft prove models/addition

      weft prove models/addition --strict --json

      weft crasp compile dyck-1 -o models/dyck && weft prove models/dyck
    """
    proof = _prove(folder, file, name)
    if json:
        print_json(_proof_as_json(proof))
    elif proof.proved:
        print(f"proved for {proof.limits} ({proof.checked}, {proof.seconds:.2f} s)")
        for excluded in proof.excluded:
            print(f"excluded: {excluded}")
        for trusted in proof.trusted:
            print(f"trusted: {trusted}")
    else:
        print(proof)
    if not proof.proved or (strict and proof.excluded):
        raise typer.Exit(1)


def _prove(folder: Path, file: str | None, name: str | None) -> Proof:
    """The proof of the model in a folder, by the verifier for its language."""
    from weft.crasp.prove import holds_crasp

    if holds_crasp(folder):
        from weft.crasp import prove as crasp
        from weft.crasp.loading import load

        given = file or name
        return crasp.prove_folder(folder, None if given is None else load(given))
    if file is not None:
        raise WeftError(
            f"{folder} is not a C-RASP model, which alone can be proved against another program",
            remedy="Leave out the second argument, or use --program if its file has moved",
        )
    from weft.compiler.prove import prove_folder
    from weft.programs import program

    return prove_folder(folder, name, program)


def _proof_as_json(proof: Proof) -> dict[str, Any]:
    shown = proof.counterexample
    return {
        "verdict": proof.verdict,
        "proved": proof.proved,
        "limits": proof.limits,
        "excluded": list(proof.excluded),
        "trusted": list(proof.trusted),
        "reason": proof.reason or None,
        "counterexample": None if shown is None else str(shown),
        "seconds": round(proof.seconds, 3),
        **proof.figures,
    }
