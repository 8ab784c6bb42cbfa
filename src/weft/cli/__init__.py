"""The command line: one thin module per command group, imported when its command is used.

Every command calls a function that a notebook can call. Bad input prints one line on standard
error and exits with 2; a failed check exits with 1. `main` lists the other exit codes.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core
import typer.main

from weft.cli.conversion import without_pydantic
from weft.errors import Interrupted, WeftError, unknown_name
from weft.files import reason
from weft.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

COMMANDS = {
    "list": ("programs", "list_command", "List the programs of the library."),
    "run": ("run", "run_command", "Run a program or a model and show what it computes."),
    "rules": ("programs", "rules_command", "Show the rules derived from a program's step."),
    "show": ("programs", "show_command", "Show a program, or the model in a folder."),
    "compile": ("compile", "compile_command", "Compile a program into transformer weights."),
    "check": ("compile", "check_command", "Compare interpreters and weights on random inputs."),
    "prove": ("compile", "prove_command", "Prove that saved weights compute their program."),
    "subleq": ("subleq", "subleq_command", "Run a SUBLEQ machine: Python, interpreter, weights."),
    "models": ("models", "models_command", "List mechanisms and presets, or show one."),
    "reduce": ("reduce", "reduce_command", "Reduce a call of a recursive function."),
    "tasks": ("tasks", "tasks_command", "List tasks, or show one with examples."),
    "traces": ("traces", "traces_command", "Collect what a feed-forward reads and writes."),
    "train": ("train", "train_command", "Train a model on a task; interrupted runs resume."),
    "eval": ("train", "eval_command", "Evaluate a trained model: exact match on each split."),
    "runs": ("runs", "runs_command", "List, compare or delete runs."),
    "explain": ("explain", "explain_command", "Show what the model of a run has learned."),
    "sweep": ("studies", "sweep_command", "Train every combination of some settings."),
    "study": ("studies", "study_command", "Reproduce a table of a paper as training runs."),
    "predict": ("predict", "predict_command", "Predict whether training would generalise."),
    "minimal": ("minimal", "minimal_command", "Predict generalisation by the minimal program."),
    "optimum": ("optimum", "optimum_command", "Check whether compiled weights are an optimum."),
    "regulariser": (
        "regulariser",
        "regulariser_command",
        "Show the regulariser R(T) of a model, term by term.",
    ),
    "export": ("export", "export_command", "Export a model for other tools."),
    "verdict": ("verdict", "verdict_command", "Compare what is expressible, predicted, learned."),
    "crasp list": ("crasp", "list_command", "List the C-RASP programs of the library."),
    "crasp show": ("crasp", "show_command", "Show a C-RASP program."),
    "crasp run": ("crasp", "run_command", "Run a C-RASP program on a word."),
    "crasp equal": ("crasp_analysis", "equal_command", "Find a word on which two programs differ."),
    "crasp simplify": ("crasp_analysis", "simplify_command", "Print a smaller, equal program."),
    "crasp compile": (
        "crasp_models",
        "compile_command",
        "Compile a C-RASP program into transformer weights.",
    ),
    "crasp check": (
        "crasp_models",
        "check_command",
        "Compare interpreters and weights of a C-RASP program on words.",
    ),
    "crasp positions": (
        "crasp_models",
        "positions_command",
        "Show how the heads of a model use learned positions.",
    ),
    "recursion iterate": (
        "recursion",
        "iterate_command",
        "Apply a model of atomic steps to its own outputs.",
    ),
    "recursion prompts": (
        "recursion",
        "prompts_command",
        "Write prompts about a recursive function for a language model.",
    ),
    "recursion grade": ("recursion", "grade_command", "Grade a file of answers exactly."),
    "recursion finetune": (
        "recursion",
        "finetune_command",
        "Fine-tune a pretrained model on a recursive function.",
    ),
    "ptg run": ("ptg", "run_command", "Run a program of the trace language and print its trace."),
    "ptg show": ("ptg", "show_command", "Show a program, its trace, and that of a model."),
    "ptg sample": ("ptg_sample", "sample_command", "Draw random programs with inputs and traces."),
}
"""By command: its module, its function, and its line in `weft --help`.

The command of a group has the group's name in front, as in `crasp run`.
"""

GROUPS = {
    "crasp": (
        "C-RASP, the programming language of counting transformers.",
        "weft crasp run dyck-1 '(())' --trace",
    ),
    "recursion": (
        "Structural recursion: iterated steps, prompts, fine-tuning.",
        "weft recursion prompts successor --depths 0-8 --out prompts.jsonl",
    ),
    "ptg": (
        "Program traces: run programs, judge the traces of models.",
        "weft ptg run countdown.py --input 'a=3, lst_a=[0,9]'",
    ),
}
"""By group of commands: its line in `weft --help`, and an example."""

RENAMED = {"read": "explain"}
"""Old names of commands, which point to the new one for one version."""

PACKAGE = Path(__file__).parent.parent
USAGE_ERROR = typer.BadParameter.__mro__[1]
"""Click's UsageError: some versions of Typer bring their own Click, others do not."""


class Command(typer.core.TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its arguments and options."""
        return without_pydantic(super().get_params(ctx))


class Commands(typer.core.TyperGroup):
    """All commands, or those of a group, each imported when it is used; help imports none of them.

    A command that is ended by a signal says on one line what is saved and how to resume.
    """

    group = ""
    """The group whose commands these are; empty for `weft` itself."""

    def entries(self) -> dict[str, str]:
        """The line of help of each command, and of each group."""
        lines = {name: line for name, (_, _, line) in COMMANDS.items()}
        lines |= {name: line for name, (line, _) in GROUPS.items()}
        names = [name for name in lines if name.rpartition(" ")[0] == self.group]
        return {name.rpartition(" ")[2]: lines[name] for name in names}

    def full_name(self, name: str) -> str:
        """The name of a command with its group."""
        return f"{self.group} {name}".strip()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Arguments; none at all asks for help."""
        return super().parse_args(ctx, args or ["--help"])

    def get_params(self, ctx: Any) -> list[Any]:
        """The options before a command."""
        return without_pydantic(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of all commands."""
        return list(self.entries())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, imported now; None if there is none."""
        name = self.full_name(cmd_name)
        if name in RENAMED:
            new = RENAMED[name]
            raise WeftError(f"weft {name} is now weft {new}", remedy=f"Run weft {new}")
        if name in GROUPS:
            return built_group(name)
        return built(name) if name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List every command with its line of help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.entries().items()))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that arguments name, or an error with similar names."""
        name = self.full_name(args[0])
        if name not in {*COMMANDS, *GROUPS, *RENAMED} and not args[0].startswith("-"):
            raise unknown_name(f"there is no command '{name}'", args[0], self.entries())
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except Interrupted as error:
            if error.what and os.environ.get("RANK", "0") == "0":
                print(f"weft: {error.what}", file=sys.stderr)
            raise typer.Exit(error.code) from None


def function_of(name: str) -> Callable[..., Any]:
    """The function of a command."""
    module, function, _ = COMMANDS[name]
    callback: Callable[..., Any] = getattr(import_module(f"weft.cli.{module}"), function)
    return callback


def built(name: str) -> Any:
    """A command as Typer parses it."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name.split()[-1], cls=Command)(function_of(name))
    return typer.main.get_command(alone)


def built_group(name: str) -> Any:
    """A group of commands as Typer parses it; none of them is imported."""
    line, example = GROUPS[name]
    grouped = typer.Typer(cls=Commands, add_completion=False, rich_markup_mode=None)
    grouped.callback(help=f"{line}\n\nExample:\n\n  {example}")(lambda: None)
    group = typer.main.get_group(grouped)
    assert isinstance(group, Commands)
    group.group = name
    return group


app = typer.Typer(
    name="weft",
    cls=Commands,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"weft {VERSION}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Which algorithms can a transformer express, and which will it learn?

    Example:

      weft run parity 101 --trace
    """


def main() -> None:
    """Run the command line. Every failure is one line on standard error and an exit code.

    0: success. 1: a check or a run failed. 2: a mistake in the arguments, a file or the
    environment; the line says which. 70: a bug in Weft; WEFT_TRACEBACK=1 shows the traceback.
    """
    try:
        code = app(sys.argv[1:], standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe has closed it
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        if os.environ.get("WEFT_TRACEBACK"):
            raise
        line, code = _failure(error)
        print(f"weft: {' '.join(line.splitlines())}", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else 0)


def _failure(error: Exception) -> tuple[str, int]:
    """The line to print about an exception, and the exit code."""
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
        prefix = f"{error.filename}: " if error.filename else ""
        return f"{prefix}{reason(error)}", 2
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    frame = [frame for frame in frames if Path(frame.filename).is_relative_to(PACKAGE)][-1]
    return (
        f"a bug in Weft: {type(error).__name__}: {str(error)[:200]} ({Path(frame.filename).name}:"
        f"{frame.lineno}). Please report it; WEFT_TRACEBACK=1 shows the traceback",
        70,
    )


def _usage(error: Exception, arguments: list[str]) -> str:
    """A mistake in options or arguments, with the command whose help lists the right ones."""
    message = " ".join(error.format_message().split())  # type: ignore[attr-defined]
    for option in getattr(getattr(error, "param", None), "opts", ()):
        for index, argument in enumerate(arguments):  # name the value, too
            value = argument.partition("=")[2] or " ".join(arguments[index + 1 : index + 2])
            if argument.partition("=")[0] == option:
                message = message.replace(f"'{option}'", f"'{option} {value}'", 1)
    message = message[:1].lower() + message[1:]
    names = [" ".join(arguments[:count]) for count in (2, 1)]
    command = ["weft", *[name for name in names if name in COMMANDS or name in GROUPS][:1]]
    end = "" if message.endswith(("?", ".")) else "."
    return f"{message}{end} See {' '.join(command)} --help"
