"""The command line, one module a command group.

Every command is a thin layer over a function that a notebook can call. Bad input is one line on
standard error and exit code 2; a check that fails exits with 1. `main` says what else there is.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

import weft
from weft.cli import (
    compile,
    explain,
    inspect,
    minimal,
    models,
    optimum,
    run,
    study,
    subleq,
    sweep,
    tasks,
    traces,
    train,
    verdict,
)
from weft.errors import Interrupted, WeftError
from weft.files import reason

PHRASES = {
    "Input should be greater than or equal to": "it must be at least",
    "Input should be less than or equal to": "it must be at most",
    "Input should be a valid integer, unable to parse string as an integer": "a whole number is "
    "wanted",
    "Input should be a valid number, unable to parse string as a number": "a number is wanted",
}
"""What Typer says of numbers, and what Weft does."""
PACKAGE = Path(weft.__file__).parent
USAGE_ERROR = typer.BadParameter.__mro__[1]
"""Click's UsageError: Typer brings a Click of its own in some versions and not in others."""


class Commands(typer.core.TyperGroup):
    """All commands. One that a signal ended says on one line what is saved, and how to resume."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Interrupted as error:
            if error.what and os.environ.get("RANK", "0") == "0":
                print(f"weft: {error.what}", file=sys.stderr)
            raise typer.Exit(error.code) from None


app = typer.Typer(
    name="weft",
    cls=Commands,
    help="Which algorithms can a transformer express, and which will it learn?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("list")(inspect.list_programs)
app.command("run")(run.run_program)
app.command("rules")(inspect.show_rules)
app.command("show")(inspect.show_program)
app.command("compile")(compile.compile_command)
app.command("check")(compile.check_command)
app.command("prove")(compile.prove_command)
app.command("subleq")(subleq.subleq_command)
app.command("models")(models.models_command)
app.command("tasks")(tasks.tasks_command)
app.command("traces")(traces.traces_command)
app.command("train")(train.train_command)
app.command("eval")(train.eval_command)
app.command("runs")(train.runs_command)
app.command("read")(explain.read_command)
app.command("sweep")(sweep.sweep_command)
app.command("study")(study.study_command)
app.command("minimal")(minimal.minimal_command)
app.command("optimum")(optimum.optimum_command)
app.command("verdict")(verdict.verdict_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"weft {weft.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Say which this is."
        ),
    ] = False,
) -> None:
    """Which algorithms can a transformer express, and which will it learn?"""


def main() -> None:
    """Run the command line. Every way that it can go wrong is one line and an exit code.

    0: done. 1: a check or a run failed. 2: what was typed, a file or the machine is at fault, and
    the line says how. 70: a bug in Weft; WEFT_TRACEBACK=1 shows where.
    """
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if os.environ.get("WEFT_TRACEBACK"):
            raise
        line, code = _failure(error)
        print(f"weft: {' '.join(line.splitlines())}", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _failure(error: Exception) -> tuple[str, int]:
    """What to say about an exception, and the exit code."""
    if isinstance(error, WeftError):
        return error.line, 2
    if isinstance(error, USAGE_ERROR):
        return _usage(error, sys.argv[1:]), 2
    if isinstance(error, typer.Abort):
        return "interrupted", 1
    if isinstance(error, ModuleNotFoundError) and error.name in ("torch", "safetensors"):
        return "this needs PyTorch: pip install 'weftwork[torch]'", 2
    if isinstance(error, MemoryError) or "allocate memory" in str(error):
        return "there is not enough memory for this. Make it smaller", 2
    if isinstance(error, OSError):
        named = f"{error.filename}: " if error.filename else ""
        return f"{named}{reason(error)}", 2
    frames = traceback.extract_tb(error.__traceback__)
    where = [one for one in frames if Path(one.filename).is_relative_to(PACKAGE)][-1]
    return (
        f"a bug in Weft: {type(error).__name__}: {str(error)[:200]} ({Path(where.filename).name}:"
        f"{where.lineno}). Please report it; WEFT_TRACEBACK=1 shows the traceback",
        70,
    )


def _usage(error: Exception, arguments: list[str]) -> str:
    """A mistake in options and arguments, with the command whose help lists the right ones."""
    said = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    for option in getattr(getattr(error, "param", None), "opts", ()):
        for place, argument in enumerate(arguments):  # name the value, too
            given = argument.partition("=")[2] or " ".join(arguments[place + 1 : place + 2])
            if argument.partition("=")[0] == option:
                said = said.replace(f"'{option}'", f"'{option} {given}'", 1)
    for theirs, ours in PHRASES.items():
        said = said.replace(theirs, ours)
    said = said[:1].lower() + said[1:]
    known = {one.name for one in app.registered_commands}
    command = ["weft", *[one for one in arguments[:1] if one in known]]
    return f"{said}{'' if said.endswith(('?', '.')) else '.'} See {' '.join(command)} --help"
