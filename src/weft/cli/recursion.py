"""`weft recursion`: iterate models of atomic steps, and ask language models about a function."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from weft.cli.options import (
    Device,
    Json,
    RunName,
    Runs,
    count_option,
    new_console,
    new_table,
    print_json,
)
from weft.errors import WeftError
from weft.files import output_file

RANGE = "A number, or the smallest and largest as 2-6."


def iterate_command(
    run: RunName,
    splits: Annotated[
        list[str] | None, typer.Option("--split", help="Only this split; may be repeated.")
    ] = None,
    size: Annotated[int, count_option("--size", "How many inputs of each split.")] = 500,
    by: Annotated[str, typer.Option("--by", metavar="AXIS", help="Show this axis.")] = "depth",
    runs: Runs = Path("runs"),
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Apply a model of atomic steps to its own outputs, until no call is left.

    The model is that of a run with parameters.part=step. A reduction is right if every term of it
    is.

    Examples:

      weft recursion iterate 3f2a --split deeper --by depth
    """
    from weft.errors import check_known
    from weft.tasks.recursion import Recursion
    from weft.training import RunStore
    from weft.training.environment import device_of
    from weft.training.iterated import iterate_steps
    from weft.training.supervision import task_of

    found = RunStore(runs).find(run)
    task = task_of(found.config)
    if not isinstance(task, Recursion):
        raise WeftError(
            f"the run {found.name} is of the task {task.called}, not of atomic steps",
            remedy="Name a run of the task recursion with parameters.part=step",
        )
    model = found.model(str(device_of(device)), task)
    results = [iterate_steps(model, task, split, size) for split in splits or task.tested]
    for result in results:
        check_known(by, result.axes, f"the task {task.name} has no axis '{by}'")
    if json:
        print_json(
            [
                {
                    "split": each.split,
                    "whole": each.share.as_dict(),
                    "per_step": each.per_step.as_dict(),
                    by: [{"value": at, **share.as_dict()} for at, share in each.by(by).items()],
                    "first_errors": each.errors,
                }
                for each in results
            ]
        )
        return
    for each in results:
        print(f"{each.split:<16} {each.share} whole reductions, {each.per_step} steps")
        for at, share in each.by(by).items():
            print(f"  {by} {at:<6} {share}")
        errors = ", ".join(f"{step}: {count}" for step, count in each.errors.items())
        if errors:
            print(f"  first wrong step: count  {errors}")


def prompts_command(
    definition: Annotated[
        str, typer.Argument(metavar="DEFINITION", help="A function, or path/file.py:name.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write the prompts here.")],
    ask: Annotated[
        str, typer.Option("--ask", help="value, or trace for the whole reduction.")
    ] = "value",
    demonstrations: Annotated[
        int, count_option("--demonstrations", "How many worked examples.", 0)
    ] = 8,
    demonstration_depths: Annotated[
        str, typer.Option("--demonstration-depths", metavar="A-B", help=f"Their depths. {RANGE}")
    ] = "0-3",
    depths: Annotated[
        str, typer.Option("--depths", metavar="A-B", help=f"Depths of questions. {RANGE}")
    ] = "0-6",
    sizes: Annotated[
        str, typer.Option("--sizes", metavar="A-B", help=f"Sizes of inputs. {RANGE}")
    ] = "4-10",
    per_depth: Annotated[int, count_option("--per-depth", "Questions of each depth.")] = 10,
    with_definition: Annotated[
        bool, typer.Option("--definition", help="State the types and equations.")
    ] = False,
    order: Annotated[str, typer.Option("--order", help="constructor or natural.")] = "constructor",
    notation: Annotated[
        str, typer.Option("--notation", help="prefix, parenthesised, empty, bracket or flat.")
    ] = "prefix",
    seed: Annotated[int, count_option("--seed", "Decides what is random.", 0)] = 0,
) -> None:
    """Write prompts about a recursive function for a language model, as lines of JSON.

    Each line has an id, the prompt, and the expected lines of the answer. Nothing is sent anywhere:
    answer the prompts with a model of your own, and grade the answers.

    Examples:

      weft recursion prompts successor --demonstrations 8 --depths 0-8 --out prompts.jsonl

      weft recursion prompts in-order --ask trace --sizes 1-6 --depths 1-6 --out prompts.jsonl
    """
    from weft.tasks.recursion.prompts import PromptSettings, write_prompts

    output_file(out, option="--out")
    settings = PromptSettings(
        definition=definition,
        ask=ask,  # type: ignore[arg-type]
        demonstrations=demonstrations,
        demonstration_depths=_range(demonstration_depths, "--demonstration-depths"),
        depths=_range(depths, "--depths"),
        sizes=_range(sizes, "--sizes"),
        per_depth=per_depth,
        with_definition=with_definition,
        order=order,  # type: ignore[arg-type]
        notation=notation,  # type: ignore[arg-type]
        seed=seed,
    )
    print(f"wrote {write_prompts(settings, out)} prompts to {out}")


def _range(text: str, option: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        raise WeftError(f"{option} {text} is not a range", remedy="Write a number, or two as 2-6")
    return int(first), int(last if dash else first)


def grade_command(
    prompts: Annotated[
        Path, typer.Argument(metavar="PROMPTS", help="What `weft recursion prompts` wrote.")
    ],
    answers: Annotated[
        Path, typer.Argument(metavar="ANSWERS", help='Lines such as {"id": 0, "answer": "XO 01"}.')
    ],
    json: Json = False,
) -> None:
    """Grade a file of answers exactly, by recursion depth.

    Example:

      weft recursion grade prompts.jsonl answers.jsonl
    """
    from weft.tasks.recursion.prompts import grade, read_answers, read_prompts

    grades = grade(read_prompts(prompts), read_answers(answers))
    if json:
        print_json(
            {
                **grades.share.as_dict(),
                "missing": grades.missing,
                "depth": [
                    {"value": depth, **share.as_dict()}
                    for depth, share in grades.by_depth().items()
                ],
                "first_errors": grades.errors,
            }
        )
        return
    rows = [
        [str(depth), share.percent, str(share.interval), f"{share.count:,}"]
        for depth, share in grades.by_depth().items()
    ]
    total = grades.share
    rows.append(["all", total.percent, str(total.interval), f"{total.count:,}"])
    header = ("depth", "right", "95% interval", "n")
    new_console().print(new_table(header, rows, header))
    if grades.missing:
        print(f"{grades.missing:,} prompts have no answer and are not counted")
    if any(each.ask == "trace" for each in grades.prompts) and grades.errors:
        shown = ", ".join(f"{line}: {count}" for line, count in grades.errors.items())
        print(f"first wrong line: count  {shown}")


def finetune_command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A local folder of Hugging Face Transformers.")
    ],
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE ...", help="Parameters of the task, as in order=natural."
        ),
    ] = None,
    steps: Annotated[int, count_option("--steps", "Number of steps.")] = 2000,
    batch: Annotated[int, count_option("--batch", "Examples per step.")] = 32,
    lr: Annotated[
        float, typer.Option("--lr", min=1e-12, max=1e3, help="Learning rate of AdamW.")
    ] = 1e-4,
    seed: Annotated[int, count_option("--seed", "Seed of the data.", 0)] = 0,
    size: Annotated[int, count_option("--size", "Number of tests per split.")] = 500,
    splits: Annotated[
        list[str] | None, typer.Option("--split", help="Only this split; may be repeated.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Save the model and scores.")
    ] = None,
    device: Device = "auto",
    json: Json = False,
) -> None:
    """Fine-tune a pretrained model on a recursive function, and score it by depth.

    The folder is that of an encoder-decoder or a decoder with its tokeniser, such as T5, CodeT5 or
    GPT-2. Nothing is downloaded. Needs the extra hf.

    Examples:

      weft recursion finetune ~/models/codet5-small order=natural --out codet5-successor

      weft recursion finetune ~/models/gpt2 definition=in-order notation=flat shortest=1 length=10
    """
    from weft.config import assignment
    from weft.files import output_folder, write_json
    from weft.tasks import task
    from weft.training.environment import device_of
    from weft.training.pretrained import FineTuning, Pretrained, fine_tune, score_pretrained

    if out is not None:
        output_folder(out, option="--out")
    made = task("recursion", **dict(map(assignment, changes or [])))
    settings = FineTuning(
        steps=steps, batch=batch, lr=lr, seed=seed, size=size, splits=tuple(splits or ())
    )
    for split in settings.splits:
        made.check_split(split)
    pretrained = Pretrained(folder.expanduser(), device_of(device))
    every = max(1, steps // 20)

    def report(step: int, loss: float, seconds: float) -> None:
        if not json and (step % every == 0 or step == steps):
            print(f"step {step:,} of {steps:,}: loss {loss:.4f}, {seconds:.0f} s")

    fine_tune(pretrained, made, settings, report)
    scores = list(score_pretrained(pretrained, made, settings))
    values = [
        {
            "split": each.split,
            **each.share.as_dict(),
            "depth": [{"value": at, **share.as_dict()} for at, share in each.by("depth").items()],
        }
        for each in scores
    ]
    if json:
        print_json(values)
    else:
        rows = [
            [each.split, each.share.percent, str(each.share.interval), f"{each.share.count:,}"]
            for each in scores
        ]
        header = ("split", "right", "95% interval", "n")
        new_console().print(new_table(header, rows, header[1:]))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        pretrained.model.save_pretrained(out)
        pretrained.tokeniser.save_pretrained(out)
        write_json(out / "recursion.json", {"parameters": made.parameters, "splits": values})
