"""`weft train`, `weft eval`: train a model on a task, and evaluate it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Device, Json, RunName, Runs, count_option, print_json
from weft.errors import WeftError
from weft.files import output_folder

if TYPE_CHECKING:
    from weft.statistics import Share
    from weft.training import Predictions, Result, Run, TrainingConfig


def train_command(
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="The name of a task or of a program.")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE ...", help="Settings to change, as in optimiser.lr=3e-4."
        ),
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="A preset, which sets the model's size.")
    ] = "",
    traces: Annotated[
        str,
        typer.Option("--traces", metavar="PROGRAM", help="Train from this program's traces."),
    ] = "",
    small: Annotated[
        bool, typer.Option("--small", help="With --traces: a small recipe, not the ALTA paper's.")
    ] = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="With --traces: train all weights, none compiled.")
    ] = False,
    runs: Runs = Path("runs"),
    device: Device = "auto",
    save_every: Annotated[
        float, count_option("--save-every", "Seconds between checkpoints.", 0)
    ] = 60.0,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=0,
            max=64,
            help="Processes that make batches beside training; by default some if a GPU trains on "
            "a task whose examples are slow to make.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    own: Annotated[
        list[str] | None,
        typer.Option(
            "--callback", metavar="NAME", help="Your callback, as path/file.py:Class; repeatable."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Train a model on a task; interrupted runs resume.

    A finished run is not trained again: its result is shown. Ctrl-C and SIGTERM save a checkpoint
    before they end a run.

    Examples:

      weft train parity parameters.format=tag steps=1000

      weft train addition --model micro model.position=abacus optimiser.name=muon

      weft train parity --traces parity --small

      weft train my_program.py:MyProgram parameters.length=8 parameters.longer=16

      torchrun --nproc-per-node 2 -m weft train parity
    """
    from weft.extensions import make
    from weft.training import override, train
    from weft.training.callbacks import GOOD
    from weft.training.environment import device_of
    from weft.training.progress import Display

    output_folder(runs, option="--runs")
    where = device_of(device)
    preset = [f"preset={model}"] if model else []
    config = override(_recipe(task, traces, small, whole), [*preset, *(changes or [])])
    shown = [] if quiet or json else [Display(where)]
    callbacks = [*shown, *(make("callback", name) for name in own or [])]
    result = train(
        config,
        runs=runs,
        device=device,
        callbacks=callbacks,
        save_every=save_every,
        workers=workers,
    )
    if os.environ.get("RANK", "0") == "0":
        _print_result(config.hash, runs / config.hash, result, json)
    if result.status not in GOOD:
        raise typer.Exit(1)


def _recipe(task: str, traces: str, small: bool, whole: bool) -> TrainingConfig:
    """The config before the user's changes: trained from answers, or from a program's traces."""
    from dataclasses import replace

    from weft.tasks import named
    from weft.training import TrainingConfig, stream_config, trace_config

    name, parameters = named(task)
    if not traces:
        if small or whole:
            raise WeftError("no program was named", remedy="Name one, as in --traces parity")
        return TrainingConfig(task=name, parameters=parameters)
    config = stream_config(name, traces) if whole else trace_config(name, traces, small=small)
    return replace(config, parameters={**config.parameters, **parameters})


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
    for split, share in result.described():
        print(f"{split:<13} {share}")
    for line in warnings(result.shares.items()):
        print(line)


def eval_command(
    run: RunName,
    splits: Annotated[
        list[str] | None, typer.Option("--split", help="Only this split; may be repeated.")
    ] = None,
    size: Annotated[int | None, count_option("--size", "How many examples of each split.")] = None,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="AXIS", help="Also show accuracy by this axis."),
    ] = None,
    runs: Runs = Path("runs"),
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Evaluate a trained model: exact match on each split.

    Examples:

      weft eval 3f2a --by length

      weft eval 3f2a --split longer --size 4096
    """
    from weft.statistics import warnings
    from weft.training import RunStore

    predictions = _evaluate(RunStore(runs).find(run), tuple(splits or ()), size, device)
    groups = {split: table.by(by) for split, table in predictions.items()} if by else {}
    if json:
        print_json([_as_json(t, by, groups.get(split)) for split, t in predictions.items()])
        return
    for split, table in predictions.items():
        print(f"{split:<13} {table.share}, loss {table.loss:.4f}")
        for value, share in groups.get(split, {}).items():
            print(f"  {by} {value:<8}{share}")
    for line in warnings((split, table.share) for split, table in predictions.items()):
        print(line)


def _evaluate(
    run: Run, splits: tuple[str, ...], size: int | None, device: str
) -> dict[str, Predictions]:
    from weft.training import evaluate
    from weft.training.environment import device_of
    from weft.training.evaluation import test_sets
    from weft.training.supervision import task_of

    config, label_sets = run.config.evaluation, run.config.supervision.label_sets
    tests = test_sets(task_of(run.config), splits or config.splits, size or config.size)
    model = run.model(str(device_of(device)))
    return evaluate(model, tests, batch=config.batch, label_sets=label_sets)


def _as_json(
    table: Predictions, axis: str | None, groups: dict[int, Share] | None
) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "split": table.split,
        "accuracy": table.accuracy,
        "loss": table.loss,
        "count": table.batch.example_count,
        **table.share.as_dict(),
    }
    if axis is not None and groups is not None:
        entry[axis] = [
            {"value": value, "accuracy": share.share, "count": share.count, **share.as_dict()}
            for value, share in groups.items()
        ]
    return entry
