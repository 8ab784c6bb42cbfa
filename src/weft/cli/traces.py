"""`weft traces`: what a program's feed-forward maps to what, each distinct state once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, MaxLength, Name, Seed, count_option, print_json
from weft.errors import WeftError
from weft.files import output_folder
from weft.interpreter.inputs import random_inputs, read_input_file
from weft.language.user_code import encode_text

if TYPE_CHECKING:
    from weft.language.program import Program
    from weft.training.traces.dataset import TraceSet


def traces_command(
    name: Name,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Write the traces to this folder.")
    ] = None,
    inputs: Annotated[
        Path | None, typer.Option("--for", help="A file with one input per line.")
    ] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="Take the training inputs of this task.")
    ] = None,
    samples: Annotated[int, count_option("--samples", "How many inputs to draw.")] = 1000,
    max_length: MaxLength = 20,
    seed: Seed = 0,
    show: Annotated[
        int, count_option("--show", "How many states to print, the most frequent first.", 0)
    ] = 0,
    json: Json = False,
) -> None:
    """Collect what a feed-forward reads and writes.

    Every distinct state that the program's feed-forward reads, over all layers and positions, is
    stored with what it writes and how often the state occurs. Inputs come from a file, from a task,
    or are random.

    Examples:

      weft traces parity --task parity --samples 20000 -o traces/parity

      weft traces parity --show 5
    """
    from weft.programs import program
    from weft.training.traces.dataset import collect, extract

    if out is not None:
        output_folder(out, holds="traces", marker="traces.json", option="-o")
    traced = program(name)
    given = _inputs(traced, inputs, task, samples, max_length, seed)
    traces = collect(traced, given) if out is None else extract(traced, given, out, name=name)
    states = _states(traces, show)
    if json:
        print_json({**_summary(traces), "shown": states})
        return
    for word, value in _summary(traces).items():
        print(f"{word:<14}{value:,}")
    if states:
        print()
        _print_states(states)
    if out is not None:
        print(f"written to {out}")


def _inputs(
    program: Program,
    path: Path | None,
    task: str | None,
    samples: int,
    max_length: int,
    seed: int,
) -> Iterator[Any]:
    """The inputs, one after the other."""
    if path is not None and task is not None:
        raise WeftError("both --for and --task were given", remedy="Give one of them")
    if path is not None:
        return (encode_text(program, line) for line in read_input_file(path))
    if task is not None:
        from weft.tasks import task as task_of
        from weft.training.program_task import ProgramTask

        return ProgramTask(inner=task_of(task), program=program).inputs(seed, samples)
    return random_inputs(program, random.Random(seed), samples, 1, max_length)


def _summary(traces: TraceSet) -> dict[str, int]:
    return {
        "inputs": traces.inputs,
        "occurrences": traces.occurrences,
        "states": len(traces),
    }


def _states(traces: TraceSet, most: int) -> list[dict[str, Any]]:
    """The most frequent states: how often, what was read, and what changed."""
    import numpy as np

    order = np.argsort(-np.asarray(traces.counts), kind="stable")[:most]
    return [_state(traces, int(row)) for row in order]


def _state(traces: TraceSet, row: int) -> dict[str, Any]:
    read: dict[str, Any] = {}
    written: dict[str, Any] = {}
    variables = traces.program.variables
    pairs = zip(traces.states.codes[row].tolist(), traces.after[row].tolist(), strict=True)
    for (name, variable), (before, after) in zip(variables.items(), pairs, strict=True):
        values = (*variable.range.values, None)
        read[name] = values[before]
        if not variable.is_head and before != after:
            written[name] = values[after]
    return {"count": int(traces.counts[row]), "read": read, "written": written}


def _print_states(states: list[dict[str, Any]]) -> None:
    for state in states:
        read = "  ".join(f"{name} {_shown(value)}" for name, value in state["read"].items())
        written = ", ".join(
            f"{name} := {_shown(value)}" for name, value in state["written"].items()
        )
        print(f"{state['count']:>10,}  {read}  ->  {written or 'nothing'}")


def _shown(value: Any) -> str:
    if value is None:
        return "∅"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
