"""Models on the command line: run one just compiled, run or show the one in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.cli.options import new_console, print_json
from weft.cli.run import RunDisplay
from weft.cli.trace_table import render_model
from weft.compiler.build import compile_program
from weft.compiler.execution import ProgramFormat, model_numbers
from weft.compiler.tracing import trace_model
from weft.files import read_text
from weft.interpreter.inputs import read_input
from weft.language.program import Program, token_numbers
from weft.loading import load
from weft.models.factory import Model
from weft.models.files import AGAIN, CARD, model_folder, read_description
from weft.models.text import TextRun

if TYPE_CHECKING:
    from rich.text import Text


def run_compiled(
    program: Program, given: str, level: int, layers: int | None, trace: bool
) -> RunDisplay:
    """Compile a program and run its weights on one input."""
    tokens = read_input(program, given)
    longest = None if program.definition.positions is not None else max(64, len(tokens))
    model = compile_program(program, level=level, max_length=longest).model
    run = ProgramFormat(program).run(model, given, layers=layers)
    numbers = token_numbers(program, run.tokens)
    return _display(model, run, numbers, program.definition.output, trace)


def run_folder(folder: Path, given: str, layers: int | None, trace: bool) -> RunDisplay:
    """Run the model of a folder, compiled or trained, on one input."""
    model = load(folder)
    assert model.text is not None  # a loaded model reads text
    run = model.text.run(model, given, layers=layers)
    numbers: list[int] = []
    output = ""
    if isinstance(model.text, ProgramFormat):
        program = model.text.program
        output = program.definition.output
        numbers = model_numbers(model, program, run.tokens)
    elif trace and model.vocabulary is not None:
        numbers = model.vocabulary.all_numbers(list(run.tokens))
    return _display(model, run, numbers, output, trace)


def _display(
    model: Model, run: TextRun, numbers: Sequence[int], output: str, trace: bool
) -> RunDisplay:
    traced = trace_model(model, numbers, layers=run.layers) if trace else None

    def blocks(width: int) -> Iterable[Text]:
        return () if traced is None else render_model(traced, run.tokens, output, width)

    def values() -> dict[str, Any]:
        shown = {
            "input": [str(token) for token in run.tokens],
            "outputs": run.outputs,
            "result": run.result,
            "layers": run.layers,
        }
        return shown if traced is None else {**shown, "trace": traced.as_dict()}

    return RunDisplay(blocks, run.outputs, run.result, run.layers, values)


def show_folder(folder: Path, json: bool) -> None:
    """Print the card of the model in a folder; its description as JSON."""
    path = model_folder(folder)
    description = read_description(path)
    if json:
        print_json(asdict(description))
        return
    from rich.markdown import Markdown

    new_console().print(Markdown(read_text(path / CARD, AGAIN, damaged=True)))
