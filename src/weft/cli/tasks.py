"""`weft tasks`: tasks, their parameters and splits, with examples."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, count_option, new_console, paragraphs, print_json

if TYPE_CHECKING:
    from weft.tasks import Task

ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)
"""An attribute in a docstring, with its continuation lines."""


def tasks_command(
    name: Annotated[
        str | None, typer.Argument(metavar="TASK", help="The name of a task or of a program.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE ...", help="Parameters of the task, such as length=12."),
    ] = None,
    examples: Annotated[
        int, count_option("--examples", "How many tests of each split to print.", 0)
    ] = 2,
    json: Json = False,
) -> None:
    """List tasks, or show one with examples.

    A task is shown with its parameters, its splits, and some tests of each.

    Examples:

      weft tasks

      weft tasks addition digits=3 longer=5 order=reversed

      weft tasks rule-110 --examples 1
    """
    if name is None:
        _list(json)
        return
    from weft.config import assignment
    from weft.tasks import named, task

    result, own = named(name)
    given = dict(map(assignment, changes or []))
    shown = _as_dict(task(result, **{**own, **given}), examples)
    if json:
        print_json(shown)
    else:
        _show(shown)


def _list(json: bool) -> None:
    from weft.extensions import available
    from weft.tasks import TASKS

    summaries = {name: _summary(kind) for name, kind in TASKS.items()} | available("task")
    if json:
        print_json([{"name": name, "summary": summary} for name, summary in summaries.items()])
        return
    console = new_console()
    width = max(map(len, summaries)) + 2
    for name, summary in summaries.items():
        console.print(f"{name:<{width}}{summary}", soft_wrap=True)
    console.print("\nA program's name is a task, too: see weft list.")


def _as_dict(made: Task, examples: int) -> dict[str, Any]:
    """A task as plain values."""
    meanings = _meanings(type(made))
    tests = {split: made.test_set(split, max(1, examples)) for split in made.tested}
    return {
        "name": made.name,
        "description": paragraphs((made.__doc__ or "").partition("Attributes:")[0]).strip(),
        "formats": list(made.formats),
        "axes": list(next(iter(tests.values())).axes),
        "programs": list(made.programs),
        "parameters": {
            field.name: {
                "value": getattr(made, field.name),
                "meaning": meanings.get(field.name, ""),
            }
            for field in fields(made)
        },
        "splits": {split: made.splits[split].description for split in made.tested},
        "examples": {
            split: [
                {"question": list(question), "answer": list(answer)}
                for question, answer in list(made.examples(batch))[:examples]
            ]
            for split, batch in tests.items()
        },
    }


def _show(shown: dict[str, Any]) -> None:
    console = new_console()
    console.print(shown["description"])
    console.print()
    for word in ("formats", "axes", "programs"):
        if shown[word]:
            console.print(f"{word:<12}{', '.join(shown[word])}", soft_wrap=True)
    console.print("\nparameters", style="bold")
    width = max(13, *map(len, shown["parameters"]))
    for name, one in shown["parameters"].items():
        value = one["value"] if one["value"] != "" else '""'
        console.print(f"  {name:<{width}} {value!s:<13} {one['meaning']}", soft_wrap=True)
    for split, description in shown["splits"].items():
        console.print(f"\n{split}: {description}", style="bold", soft_wrap=True)
        for example in shown["examples"][split]:
            question, answer = (" ".join(example[word]) for word in ("question", "answer"))
            console.print(f"  {question}  ->  {answer}", soft_wrap=True)


def _summary(kind: type) -> str:
    return inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]


def _meanings(kind: type) -> dict[str, str]:
    """The meaning of each attribute, from the docstrings of a class and its bases."""
    result: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        text = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        result |= {name: " ".join(said.split()) for name, said in ATTRIBUTE.findall(text)}
    return result
