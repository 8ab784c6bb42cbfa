"""`weft minimal`: predict generalisation by the minimal program."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, cast

import typer

from weft.cli.options import (
    MAX_SEED,
    Json,
    Layers,
    Name,
    count_option,
    new_console,
    new_table,
    print_json,
)
from weft.errors import check_known

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from weft.theory.minimal.minimise import Minimal
    from weft.theory.minimal.observation import Form
    from weft.theory.minimal.prediction import MinimalPrediction, TextTable

SPLIT = "a task's split (train, addition(digits=3):train), length<=20, or a file of inputs"

Train = Annotated[
    str, typer.Option("--train", metavar="SPLIT", help=f"The training inputs: {SPLIT}.")
]
Test = Annotated[
    list[str] | None,
    typer.Option("--test", metavar="SPLIT", help="Test inputs, in the same form; may be repeated."),
]
Size = Annotated[int, count_option("--size", "How many training inputs to draw.")]
Tests = Annotated[int, count_option("--tests", "How many test inputs to draw.")]
Full = Annotated[
    bool, typer.Option("--full", help="Also drop constraints that training does not need.")
]
ReadingName = Annotated[
    str,
    typer.Option(
        "--reading", help="With --full: the reading of definition 1: weights, logic or exclusive."
    ),
]
Tries = Annotated[
    int, count_option("--tries", "With --full: how many orders of constraints to try.")
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=MAX_SEED, help="With --full: draw the order from this seed."),
]
Forms = Annotated[
    bool, typer.Option("--forms", help="Count all minimal forms of the rules that fired.")
]
FormName = Annotated[
    str, typer.Option("--form", help="single: one value per constraint; sets: as derived.")
]
Rules = Annotated[bool, typer.Option("--rules", help="Show the rules of the minimal program.")]
Dropped = Annotated[bool, typer.Option("--dropped", help="Show what was dropped, and why.")]
Limit = Annotated[int, count_option("--limit", "How many rules to show.", 0)]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]


def minimal_command(
    name: Name,
    train: Train,
    test: Test = None,
    size: Size = 10_000,
    tests: Tests = 1_000,
    full: Full = False,
    reading: ReadingName = "weights",
    tries: Tries = 1,
    seed: Seed = None,
    forms: Forms = False,
    form: FormName = "single",
    rules: Rules = False,
    dropped: Dropped = False,
    limit: Limit = 20,
    layers: Layers = None,
    markdown: Markdown = False,
    json: Json = False,
) -> None:
    """Predict generalisation by the minimal program.

    The minimal program keeps the rules that the training inputs use. If it still solves the test
    inputs, the training data determines the algorithm on them. With --full, unneeded constraints
    are dropped as well, by definition 1 of the ALTA paper. Its default reading, weights, is that of
    `weft optimum --removals`: the result compiles to a strict optimum. Nothing is trained.

    Examples:

      weft minimal parity-sum --train train --test longer --test more-ones

      weft minimal addition --train "addition(digits=3):train" --test longer

      weft minimal scan --train "scan(split=length):train" --test "scan(split=length):test"

      weft minimal dyck --train "length<=8" --test length=9..20 --full --tries 10
    """
    from weft.theory.minimal.minimality import reading_named
    from weft.theory.minimal.prediction import predict_minimal

    prediction = predict_minimal(
        name,
        train,
        *(test or ()),
        examples=size,
        test_examples=tests,
        constraints=full,
        reading=reading_named(reading),
        form=_known_form(form),
        seed=seed,
        tries=tries,
        layers=layers,
    )
    minimal = prediction.minimal
    if json:
        print_json(prediction.as_json() | ({"forms": _forms(minimal)} if forms else {}))
    elif markdown:
        print(prediction.markdown())
    else:
        _print(prediction)
        if forms:
            new_console().print(f"minimal forms of the rules that fired: {_forms(minimal):,}")
        _print_lists(minimal, rules, dropped, limit)


def _known_form(form: str) -> Form:
    check_known(form, ("single", "sets"), f"there is no form '{form}'")
    return cast("Form", form)


def _forms(left: Minimal) -> int:
    from weft.theory.minimal.shortening import minimal_forms

    return len(minimal_forms(left.fired, left.used, reading=left.reading))


def _print(prediction: MinimalPrediction) -> None:
    console = new_console()
    for sentence in prediction.sentences():
        console.print(sentence)
    console.print()
    console.print(_table(prediction.parts()))
    if prediction.tests:
        console.print()
        console.print(_table(prediction.outcomes()))
        for line in prediction.warnings():
            console.print(line, soft_wrap=True)


def _table(table: TextTable) -> RichTable:
    return new_table(table.columns, table.rows, table.columns[1:])


def _print_lists(left: Minimal, rules: bool, dropped: bool, limit: int) -> None:
    console = new_console()
    if rules:
        console.print()
        for rule in left.rules[:limit]:
            console.print(rule.show(left.original.variables), soft_wrap=True)
        if len(left.rules) > limit:
            console.print(f"... {len(left.rules) - limit:,} more rules (--limit)")
    if dropped:
        console.print()
        for each in islice(left.dropped(), limit):
            console.print(f"{each.kind} {each.what}: {each.why}", soft_wrap=True)
