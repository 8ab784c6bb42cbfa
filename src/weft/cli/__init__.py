"""The command line, one module a command group.

Every command is a thin layer over a function that a notebook can call. Bad input is one line on
standard error and exit code 2; a check that fails exits with 1.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
import typer.core

import weft
from weft.cli import (
    compile,
    inspect,
    mechanisms,
    minimal,
    optimum,
    read,
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
app.command("models")(mechanisms.models_command)
app.command("tasks")(tasks.tasks_command)
app.command("traces")(traces.traces_command)
app.command("train")(train.train_command)
app.command("eval")(train.eval_command)
app.command("runs")(train.runs_command)
app.command("read")(read.read_command)
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
    """Run the command line."""
    try:
        app()
    except WeftError as error:
        print(f"weft: {error.line}", file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors"):
            raise
        print("weft: this needs PyTorch: pip install 'weftwork[torch]'", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(0)
