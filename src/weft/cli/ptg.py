"""`weft ptg`: programs of the trace language, their traces, and those that models write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import MAX_COUNT, Json, Runs, new_console, plural, print_json
from weft.config import override
from weft.errors import WeftError
from weft.files import named, read_text

if TYPE_CHECKING:
    from weft.ptg.first_errors import FirstError
    from weft.ptg.language import Inputs, Language, Limits, Program
    from weft.ptg.tracing import Trace, TraceFormat
    from weft.tasks.program_traces import ProgramTraces

MAX_EXAMPLE = 1_000_000
SPECIAL_TOKENS = 3
"""Tokens of a document besides its text: its start, its end, and the sign before the trace."""

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="A program: one function f, as docs/ptg.md says.")
]
Arguments = Annotated[
    str,
    typer.Option("--input", help="Values of the parameters, as in 'a=3, lst_a=[0,9]'."),
]
Options = Annotated[
    list[str],
    typer.Option(
        "--language",
        metavar="KEY=VALUE",
        help="An option of the language, such as depth=2 or multiplication=true; repeat for more.",
    ),
]
LimitOptions = Annotated[
    list[str],
    typer.Option(
        "--limit",
        metavar="KEY=VALUE",
        help="A bound of the run: steps, list_length or value; repeat for more.",
    ),
]
FormatOptions = Annotated[
    list[str],
    typer.Option(
        "--format",
        metavar="KEY=VALUE",
        help="A format option: step_index, reversed_digits, answer or first_label.",
    ),
]
Context = Annotated[
    int,
    typer.Option(
        "--context",
        min=0,
        max=MAX_COUNT,
        help="Refuse a document of more tokens than this; 0 for no bound.",
    ),
]


@dataclass(frozen=True)
class Case:
    """A program with its run.

    Attributes:
        program: the program.
        inputs: its inputs.
        trace: its trace.
        form: the format of traces.
        language: the options of the language.
    """

    program: Program
    inputs: Inputs
    trace: Trace
    form: TraceFormat
    language: Language

    @property
    def target(self) -> str:
        """What a model should write."""
        from weft.ptg.tracing import document

        return document(self.program, self.inputs, self.trace, self.form).target


def run_command(
    file: File,
    arguments: Arguments = "",
    language: Options = [],  # noqa: B006 -- Typer copies it
    limit: LimitOptions = [],  # noqa: B006
    form: FormatOptions = [],  # noqa: B006
    context: Context = 0,
    whole: Annotated[
        bool, typer.Option("--document", help="Print the program and the call before the trace.")
    ] = False,
    json: Json = False,
) -> None:
    """Run a program of the trace language and print its trace.

    The trace has one line per executed line of source: its label, and the variable that it writes
    with its new value. A program that does not parse, uses what is switched off, fails or exceeds a
    limit is refused with its line; traces are never truncated.

    Examples:

      weft ptg run countdown.py --input 'a=3, lst_a=[0,9]'

      weft ptg run countdown.py --input 'a=3, lst_a=[]' --document --format step_index=true

      weft ptg run nested.py --input 'a=3' --language depth=2 --limit steps=500 --json
    """
    from weft.ptg.tracing import document

    case = _case(file, arguments, language, limit, form)
    made = document(case.program, case.inputs, case.trace, case.form)
    _check_context(made.text, case, context)
    if json:
        print_json(_as_json(case))
    else:
        print(made.text if whole else made.target, end="")


def show_command(
    program: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A program; without it, the example of --run that --split and --example name.",
        ),
    ] = None,
    arguments: Arguments = "",
    trace: Annotated[
        Path | None, typer.Option("--trace", help="A file with the trace that a model wrote.")
    ] = None,
    run: Annotated[
        str, typer.Option("--run", help="A run of program-traces, whose model writes a trace.")
    ] = "",
    split: Annotated[str, typer.Option("--split", help="Without FILE: the split.")] = "train",
    example: Annotated[
        int,
        typer.Option(
            "--example", min=0, max=MAX_EXAMPLE, help="Without FILE: which example of the split."
        ),
    ] = 0,
    around: Annotated[
        int,
        typer.Option(
            "--around",
            min=0,
            max=MAX_COUNT,
            help="Show this many steps before and after the first error; 0 for all.",
        ),
    ] = 0,
    language: Options = [],  # noqa: B006 -- Typer copies it
    limit: LimitOptions = [],  # noqa: B006
    form: FormatOptions = [],  # noqa: B006
    context: Context = 0,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Show a program, its trace, and that of a model.

    The first error is marked and named: wrong line, wrong variable, stale value, off by one, list
    length or element, other value, early or late end, malformed (docs/ptg.md defines them). After
    it, lines are aligned, so that one missing line does not make all others look wrong. The model's
    trace is read from a file, or written by the model of a run.

    Examples:

      weft ptg show countdown.py --input 'a=3, lst_a=[0,9]' --trace model.txt

      weft ptg show countdown.py --input 'a=3, lst_a=[0,9]' --run 3f2a

      weft ptg show --run 3f2a --split longer-traces-1 --example 12 --around 5
    """
    if trace is not None and run:
        raise WeftError("--trace and --run are given", remedy="Give one of them")
    if program is None and not run:
        raise WeftError("there is no program to show", remedy="Give a file, or a run with --run")
    if run and (language or form):
        raise WeftError(
            "--language and --format are given with --run",
            remedy="Leave them out: the task of the run has its own",
        )
    written: str | None = None
    if run:
        case, written = _of_run(run, runs, program, arguments, limit, split, example)
    else:
        assert program is not None
        case = _case(program, arguments, language, limit, form)
        written = None if trace is None else _read_trace(trace, case)
    _check_context(case.target if written is None else written, case, context)
    from weft.ptg.first_errors import first_error

    error = None
    if written is not None:
        error = first_error(case.program, case.inputs, case.trace, written, case.form)
    if json:
        print_json(_as_json(case) | _comparison_as_json(written, error))
        return
    from weft.cli.ptg_table import render

    console = new_console()
    for part in render(case, written, error, around):
        console.print(part, soft_wrap=isinstance(part, str))


def _case(
    file: Path, arguments: str, language: list[str], limit: list[str], form: list[str]
) -> Case:
    """The run of the program in a file."""
    from weft.ptg.language import Language
    from weft.ptg.tracing import TraceFormat

    return _run_source(
        read_text(file, "Give a file with a program, as docs/ptg.md says"),
        file,
        arguments,
        override(Language(), language),
        limit,
        override(TraceFormat(), form),
    )


def _run_source(
    source: str,
    file: Path,
    arguments: str,
    language: Language,
    limit: list[str],
    form: TraceFormat,
) -> Case:
    from weft.ptg.inputs import check_inputs, read_inputs
    from weft.ptg.interpreter import run
    from weft.ptg.language import Limits
    from weft.ptg.parser import parse

    limits: Limits = override(Limits(), limit)
    above, source = _without_preamble(source)
    with _lines_below(above):
        program = parse(source, language, str(file))
        inputs = check_inputs(program, read_inputs(arguments), limits)
        trace = run(program, inputs, limits, str(file))
    return Case(program, inputs, trace, form, language)


def _without_preamble(source: str) -> tuple[int, str]:
    """The number of comments and empty lines above the program, and the source without them."""
    rows = source.split("\n")
    above = 0
    while above < len(rows) - 1 and (not rows[above].strip() or rows[above].startswith("#")):
        above += 1
    return above, "\n".join(rows[above:])


@contextmanager
def _lines_below(above: int) -> Iterator[None]:
    """Count lines in errors from the top of the file."""
    try:
        yield
    except WeftError as error:
        if error.where is None:
            raise
        raise error.revised(where=replace(error.where, line=error.where.line + above)) from None


def _read_trace(file: Path, case: Case) -> str:
    """The trace in a file, of which every sign must be one that traces have."""
    from weft.ptg.tokens import Tokeniser, symbols_of

    text = read_text(file, "Give a file with a trace").replace("\r\n", "\n")
    with named(file):
        Tokeniser(symbols_of(case.language, step_index=case.form.step_index)).encode(text)
    return text


def _of_run(
    name: str,
    runs: Path,
    file: Path | None,
    arguments: str,
    limit: list[str],
    split: str,
    example: int,
) -> tuple[Case, str]:
    """A program, its run, and the trace that the model of a training run writes."""
    from weft.ptg.source import source_of
    from weft.studies.ptg.continuation import model_trace
    from weft.tasks.program_traces import ProgramTraces
    from weft.training import RunStore, task_of

    run = RunStore(runs).find(name)
    task = task_of(run.config)
    if not isinstance(task, ProgramTraces):
        raise WeftError(
            f"{name} is a run of the task '{task.name}'", remedy="Give a run of program-traces"
        )
    if file is None:
        case = _example(task, split, example, limit)
    else:
        source = read_text(file, "Give a file with a program, as docs/ptg.md says")
        case = _run_source(source, file, arguments, task.language, limit, task.form)
    return case, model_trace(run.model(task=task), task, source_of(case.program), case.inputs).text


def _example(task: ProgramTraces, split: str, example: int, limit: list[str]) -> Case:
    """An example of a split of a task, with its run."""
    from weft.ptg.interpreter import run
    from weft.ptg.language import Limits
    from weft.ptg.parser import parse

    batch = task.test_set(split, example + 1)
    if len(batch.tokens) <= example:
        raise WeftError(
            f"the split '{split}' has {plural(len(batch.tokens), 'example')}",
            remedy="Give a smaller --example; the first is 0",
        )
    source, inputs = task.program_of(batch.tokens[example].tolist())
    program = parse(source, task.language)
    limits: Limits = override(Limits(), limit)
    return Case(program, inputs, run(program, inputs, limits), task.form, task.language)


def _check_context(text: str, case: Case, context: int) -> None:
    """Refuse a document with a trace of more tokens than a context holds."""
    if not context:
        return
    from weft.ptg.tokens import Tokeniser, symbols_of
    from weft.ptg.tracing import call_text, program_text

    prompt = program_text(case.program, case.form) + call_text(case.program, case.inputs, case.form)
    whole = text if text.startswith(prompt) else prompt + text
    tokeniser = Tokeniser(symbols_of(case.language, step_index=case.form.step_index))
    tokens = len(tokeniser.encode(whole)) + SPECIAL_TOKENS
    if tokens > context:
        raise WeftError(
            f"the document has {plural(tokens, 'token')}, and the context holds {context:,}",
            remedy="Give a shorter program, smaller inputs or a larger --context",
        )


def _as_json(case: Case) -> dict[str, Any]:
    """A run for JSON; docs/ptg.md lists the keys."""
    from weft.ptg.source import source_hash, source_of

    source = source_of(case.program)
    return {
        "source": source,
        "hash": source_hash(source),
        "inputs": dict(case.inputs),
        "steps": [asdict(step) for step in case.trace.steps],
        "final": dict(case.trace.final),
        "text": case.target,
    }


def _comparison_as_json(written: str | None, error: FirstError | None) -> dict[str, Any]:
    return {
        "written": written,
        "right": None if written is None else error is None,
        "first_error": None if error is None else asdict(error),
    }
