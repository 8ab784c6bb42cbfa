"""Models on the command line: run one just compiled, run or show the one in a folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from weft.cli.options import new_console, print_json
from weft.compiler.build import compile_program
from weft.compiler.run import ProgramFormat
from weft.files import read_text
from weft.interpreter.inputs import read_input
from weft.language.program import Program
from weft.loading import load
from weft.models.files import AGAIN, CARD, model_folder, read_description
from weft.models.text import TextRun


def run_compiled(program: Program, given: str, level: int, layers: int | None) -> TextRun:
    """Compile a program and run its weights on one input."""
    tokens = read_input(program, given)
    longest = None if program.definition.positions is not None else max(64, len(tokens))
    model = compile_program(program, level=level, max_length=longest).model
    return ProgramFormat(program).run(model, given, layers=layers)


def run_folder(folder: Path, given: str, layers: int | None) -> TextRun:
    """Run the model of a folder, compiled or trained, on one input."""
    model = load(folder)
    assert model.text is not None  # a loaded model reads text
    return model.text.run(model, given, layers=layers)


def show_folder(folder: Path, json: bool) -> None:
    """Print the card of the model in a folder; its description as JSON."""
    path = model_folder(folder)
    description = read_description(path)
    if json:
        print_json(asdict(description))
        return
    from rich.markdown import Markdown

    new_console().print(Markdown(read_text(path / CARD, AGAIN, damaged=True)))
