"""`weft crasp compile`, `check` and `positions`: C-RASP programs as transformer weights."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from weft.cli.crasp import CraspName
from weft.cli.options import MAX_COUNT, MAX_LENGTH, Json, Seed, new_console, new_table, print_json
from weft.crasp.loading import PROGRAM
from weft.files import is_file, output_folder

if TYPE_CHECKING:
    from weft.crasp.check import CraspReport
    from weft.crasp.construction import CompiledCrasp, PositionForm

Length = Annotated[
    int,
    typer.Option("--max-length", min=1, max=MAX_LENGTH, help="The largest number of symbols."),
]
Dtype = Annotated[str, typer.Option("--dtype", help="float32, float64 or bfloat16.")]
Form = Annotated[
    str | None,
    typer.Option(
        "--form",
        help="Where positions come from: offsets (biases), absolute (a learned table) or none. By "
        "default none if the program uses no predicates, otherwise offsets. Or layernorm: the "
        "LayerNorm construction of 2024, without positions.",
    ),
]


def compile_command(
    name: CraspName,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the model to this folder.")
    ] = None,
    max_length: Length = 1000,
    dtype: Dtype = "float32",
    form: Form = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print what each layer computes.")
    ] = False,
    json: Json = False,
) -> None:
    """Compile a C-RASP program into transformer weights.

    The model is exact up to the maximum length. A length at which the number format cannot tell
    counts apart is refused, with the longest that it can.

    Examples:

      weft crasp compile dyck-1 -o models/dyck

      weft crasp compile tomita-4 --form absolute --max-length 200 --explain

      weft crasp compile path/to/mine.crasp --dtype float64 --json
    """
    if out is not None:
        output_folder(out, holds="model", marker="model.safetensors", option="-o")
    compiled = _compile(name, max_length, dtype, form)
    if out is not None:
        from weft.crasp.model_files import save_crasp

        save_crasp(compiled, out)
    if json:
        print_json({**compiled.sizes(), "explanation": compiled.explain() if explain else None})
        return
    for word, value in compiled.sizes().items():
        print(f"{word:<12}{value}")
    if explain:
        print()
        for line in compiled.explain():
            print(line)
    if out is not None:
        print(f"written to {out}")


def _compile(name: str, max_length: int, dtype: str, form: str | None) -> CompiledCrasp:
    from weft.crasp.construction import compile_crasp
    from weft.crasp.loading import load

    chosen = cast("PositionForm | None", form)  # checked there
    return compile_crasp(load(name), max_length=max_length, dtype=dtype, form=chosen)


def check_command(
    name: CraspName,
    samples: Annotated[
        int, typer.Option("--samples", min=0, max=MAX_COUNT, help="How many random words to draw.")
    ] = 20,
    max_length: Length = 1000,
    dtype: Dtype = "float32",
    form: Form = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compare interpreters and weights of a C-RASP program on words.

    The reference interpreter, the batched interpreter and the compiled weights must agree on every
    line at every position: on the shortest words, and on random ones up to the maximum length. For
    a model folder, its own weights are compared. Exits with 1 if they differ.

    Examples:

      weft crasp check dyck-1

      weft crasp check tomita-4 --form absolute --max-length 100 --samples 200

      weft crasp check models/dyck
    """
    from rich.progress import Progress

    from weft.crasp.check import check_crasp

    if is_file(Path(name) / PROGRAM):
        from weft.crasp.model_files import load_crasp

        compiled = load_crasp(name)
    else:
        compiled = _compile(name, max_length, dtype, form)
    with Progress(transient=True, disable=json) as bar:
        task = bar.add_task("checking", total=None)
        report = check_crasp(
            compiled,
            max_length=max_length,
            samples=samples,
            seed=seed,
            progress=lambda done: bar.update(task, completed=done),
        )
    if json:
        print_json(_report_as_json(report))
    else:
        _print_report(report)
    if report.difference is not None:
        raise typer.Exit(1)


def _report_as_json(report: CraspReport) -> dict[str, Any]:
    difference = report.difference
    return {
        "agree": difference is None,
        "words": report.words,
        "positions": report.positions,
        "longest": report.longest,
        "difference": None if difference is None else str(difference),
        "word": None if difference is None else list(difference.word),
        "line": None if difference is None else difference.line,
        "position": None if difference is None else difference.position,
    }


def _print_report(report: CraspReport) -> None:
    console = new_console()
    console.print(
        f"{report.words} words of up to {report.longest:,} symbols, {report.positions:,} positions"
    )
    if report.difference is None:
        console.print("interpreters and weights agree on every line at every position")
    else:
        word = " ".join(report.difference.word) or "the empty word"
        console.print(f"they differ on {word}:", soft_wrap=True)
        console.print(f"  {report.difference}", soft_wrap=True)


def positions_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR|RUN", help="A model folder, or a finished training run.")
    ],
    json: Json = False,
) -> None:
    """Show how the heads of a model use learned positions.

    The products of the position table in every head are fitted by a function of the distance (phi),
    a period and a range. A deviation is the share of their variance that a fit leaves: 0 for a
    limit transformer, near 1 for a head whose use of positions cannot carry over to longer inputs.

    Examples:

      weft crasp positions runs/4f0c2d

      weft crasp compile tomita-4 --form absolute --max-length 100 -o t4; weft crasp positions t4
    """
    from weft.crasp.position_products import fit_positions
    from weft.errors import WeftError
    from weft.models.files import load_model
    from weft.models.transformer import Transformer

    model = load_model(folder)
    if not isinstance(model, Transformer):
        raise WeftError("the model is not a Transformer", remedy="Give one with positions")
    heads = fit_positions(model)
    if json:
        print_json([head.as_dict() for head in heads])
        return
    header = ("layer", "head", "logits", "distance", "period", "range", "both", "summary")
    rows = [
        (
            str(head.layer + 1),
            str(head.head + 1),
            f"{head.spread:.2f}",
            f"{head.translation:.3f}",
            f"{head.period}: {head.periodicity:.3f}",
            f"{head.range}: {head.locality:.3f}",
            f"{head.limit:.3f}",
            head.description,
        )
        for head in heads
    ]
    table = new_table(header, rows, header[:7])
    console = new_console()
    console.print(table)
    console.print(
        "logits: standard deviation of the scores that positions add. Deviations from a function "
        "of the distance, from the best period (beyond the range), from the best range, from both."
    )
