"""`weft train`, `weft eval`, `weft runs`: learning tasks, and what came of it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import MOST, Json, print_json
from weft.errors import WeftError
from weft.files import output_folder

if TYPE_CHECKING:
    from weft.statistics import Share
    from weft.training import Predictions, Result, Run, RunStore, TrainingConfig

Runs = Annotated[Path, typer.Option("--runs", help="The folder of all runs.")]
Device = Annotated[
    str, typer.Option("--device", help="cpu, cuda, or auto: cuda if there is a GPU, else cpu.")
]


def check_device(name: str) -> None:
    """Refuse a device that is not there before any work is done."""
    from weft.training.environment import device_of

    device_of(name)


def train_command(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The name of a task, or a program.")],
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE ...", help="Changes, as in optimiser.lr=3e-4."),
    ] = None,
    model: Annotated[str, typer.Option("--model", help="The size of the model, a preset.")] = "",
    traces: Annotated[
        str,
        typer.Option("--traces", metavar="PROGRAM", help="Learn from this program's traces."),
    ] = "",
    small: Annotated[
        bool, typer.Option("--small", help="With --traces: less than the ALTA paper's table 1.")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="With --traces: a whole model, nothing compiled.")
    ] = False,
    runs: Runs = Path("runs"),
    device: Device = "auto",
    save_every: Annotated[
        float,
        typer.Option(
            "--save-every", min=0, max=MOST, help="Seconds from checkpoint to checkpoint."
        ),
    ] = 60.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    json: Json = False,
) -> None:
    """Train a model on a task; interrupted runs resume, and finished ones are only shown.

    Ctrl-C and SIGTERM save the last step before they end a run.

    Examples:

      weft train parity parameters.format=tag steps=1000

      weft train addition --model micro model.position=abacus optimiser.name=muon

      weft train parity --traces parity --small

      weft train my_program.py:MyProgram parameters.length=8 parameters.longer=16

      torchrun --nproc-per-node 2 -m weft train parity
    """
    from weft.training import override, train
    from weft.training.callbacks import GOOD
    from weft.training.environment import device_of
    from weft.training.progress import Display

    output_folder(runs, option="--runs")
    device_of(device)
    given = [f"preset={model}"] if model else []
    start = _start(task, traces, small, whole)
    config = override(start, [*given, *(changes or [])])
    watcher = None if quiet or json else Display(device_of(device))
    result = train(config, runs=runs, device=device, watcher=watcher, save_every=save_every)
    if os.environ.get("RANK", "0") == "0":
        _print_result(config.hash, runs / config.hash, result, json)
    if result.status not in GOOD:
        raise typer.Exit(1)


def _start(task: str, traces: str, small: bool, whole: bool) -> TrainingConfig:
    """The config before its changes: end to end, or from a program's traces."""
    from dataclasses import replace

    from weft.tasks import named
    from weft.training import TrainingConfig, stream_config, trace_config

    name, parameters = named(task)
    if not traces:
        if small or whole:
            raise WeftError("no program was named", remedy="Name one, as in --traces parity")
        return TrainingConfig(task=name, parameters=parameters)
    made = stream_config(name, traces) if whole else trace_config(name, traces, small=small)
    return replace(made, parameters={**made.parameters, **parameters})


def _print_result(name: str, folder: Path, result: Result, json: bool) -> None:
    from dataclasses import asdict

    from weft.statistics import warnings

    if json:
        shares = {split: share.as_dict() for split, share in result.shares.items()}
        print_json({"name": name, "folder": str(folder), **asdict(result), "shares": shares})
        return
    print(f"{'run':<14}{folder if folder.is_dir() else 'nothing is kept'}")
    print(f"{'status':<14}{result.status}{': ' * bool(result.message)}{result.message}")
    print(f"{'steps':<14}{result.step:,}")
    print(f"{'parameters':<14}{result.parameters:,}")
    for split, share in result.told():
        print(f"{split:<14}{share}")
    for line in warnings(result.shares.items()):
        print(line)


def eval_command(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The beginning of a run's name.")],
    splits: Annotated[
        list[str] | None, typer.Option("--split", help="Only this one; may be given repeatedly.")
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", min=1, max=MOST, help="How many examples of each.")
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="AXIS", help="Accuracy along an axis as well.")
    ] = None,
    runs: Runs = Path("runs"),
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Evaluate the model of a run: exact match on each split.

    Examples:

      weft eval 3f2a --by length

      weft eval 3f2a --split longer --size 4096
    """
    from weft.statistics import warnings
    from weft.training import RunStore

    found = RunStore(runs).find(run)
    tables = _evaluated(found, tuple(splits or ()), size, device)
    groups = {split: one.by(by) for split, one in tables.items()} if by else {}
    if json:
        print_json([_entry(one, by, groups.get(split)) for split, one in tables.items()])
        return
    for split, one in tables.items():
        print(f"{split:<14}{one.share}, loss {one.loss:.4f}")
        for value, share in groups.get(split, {}).items():
            print(f"  {by} {value:<8}{share}")
    for line in warnings((split, one.share) for split, one in tables.items()):
        print(line)


def _evaluated(
    run: Run, splits: tuple[str, ...], size: int | None, device: str
) -> dict[str, Predictions]:
    from weft.training import evaluate
    from weft.training.environment import device_of
    from weft.training.evaluation import test_sets
    from weft.training.supervising import task_of

    wanted = run.config.evaluation
    tests = test_sets(task_of(run.config), splits or wanted.splits, size or wanted.size)
    return evaluate(run.model(str(device_of(device))), tests, batch=wanted.batch)


def _entry(found: Predictions, axis: str | None, groups: dict[int, Share] | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "split": found.split,
        "accuracy": found.accuracy,
        "loss": found.loss,
        "count": len(found.batch),
        **found.share.as_dict(),
    }
    if axis is not None and groups is not None:
        entry[axis] = [
            {"value": value, "accuracy": share.share, "count": share.count, **share.as_dict()}
            for value, share in groups.items()
        ]
    return entry


def runs_command(
    conditions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONDITION ...",
            help="As in task=parity or 'accuracy.train>0.99 and seed=0'; or the beginning of a "
            "name.",
        ),
    ] = None,
    runs: Runs = Path("runs"),
    compare: Annotated[
        bool, typer.Option("--compare", help="Show the values in which they differ.")
    ] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Delete those that are found.")] = False,
    json: Json = False,
) -> None:
    """List runs, compare them, or delete some.

    Examples:

      weft runs

      weft runs task=parity status=done --compare

      weft runs 3f2a --delete
    """
    from weft.training import RunStore

    store = RunStore(runs)
    found = _matching(store, conditions or [])
    if delete:
        if not conditions:
            raise WeftError("no runs were named", remedy="Say which, as in status=nan")
        for run in found:
            store.delete(run)
            print(f"deleted {run.name}")
        return
    differing = store.compare(found) if compare else {}
    if json:
        print_json([run.values() for run in found])
        return
    from weft.statistics import warnings

    if not found:
        such = f" with {' and '.join(conditions)}" if conditions else ""
        print(f"no runs{such} in {runs}")
    for place, run in enumerate(found):
        print(_line(run))
        for key, values in differing.items():
            print(f"  {key:<22}{values[place]}")
    ended = [(run.name, run.result) for run in found if run.result is not None]
    few = ((f"{name}'s {split}", one) for name, r in ended for split, one in r.shares.items())
    for line in warnings(few):
        print(line, file=sys.stderr)  # so that standard output has one line per run


def _matching(store: RunStore, conditions: list[str]) -> list[Run]:
    """The runs that conditions and beginnings of names select."""
    from weft.training.store import clauses

    together = re.sub(r"(\s+and)+\s+", " and ", " and ".join(conditions))
    parts = clauses(together) if conditions else []
    names = [part for part in parts if part.isalnum()]
    found = store.query(*(part for part in parts if part not in names))
    chosen = {store.find(name).name for name in names}
    return [run for run in found if not names or run.name in chosen]


def _line(run: Run) -> str:
    if run.problem:
        return f"{run.name}  {run.status}: {run.problem}"
    result = run.result
    supervision = run.config.supervision
    kind = run.config.preset if supervision.by == "answers" else supervision.by
    subject = f"{run.config.parameters.get('program', run.config.task)} "
    start = f"{run.name}  {subject:<12}{kind:<8}{run.status:<14}"
    if result is None:
        return f"{start}".rstrip()
    if result.message:
        return f"{start.rstrip()}: {result.message} (after {result.step:,} steps)"
    shares = "  ".join(f"{split} {share}" for split, share in result.told())
    return f"{start}{result.step:>8,} steps  {shares}".rstrip()
