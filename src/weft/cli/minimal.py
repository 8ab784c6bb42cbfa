"""`weft minimal`: what training inputs leave of a program, and what that is worth on others."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, Name, new_console, print_json
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.theory.fired import Form
    from weft.theory.minimal_report import Report, Table
    from weft.theory.minimising import Minimal

SPLIT = "a task's split (train, addition(digits=3):train), length<=20, or a file of inputs"


def minimal_command(
    name: Name,
    train: Annotated[
        str, typer.Option("--train", metavar="SPLIT", help=f"What it is trained on: {SPLIT}.")
    ],
    test: Annotated[
        list[str] | None,
        typer.Option("--test", metavar="SPLIT", help="What it is tested on; several if repeated."),
    ] = None,
    size: Annotated[
        int, typer.Option("--size", min=1, help="How many training inputs to draw.")
    ] = 10_000,
    tests: Annotated[
        int, typer.Option("--tests", min=1, help="How many test inputs to draw.")
    ] = 1_000,
    full: Annotated[
        bool,
        typer.Option("--full", help="Constraints that training does not need go too."),
    ] = False,
    tries: Annotated[
        int, typer.Option("--tries", min=1, help="With --full: try so many orders.")
    ] = 1,
    seed: Annotated[
        int | None, typer.Option("--seed", help="With --full: an order drawn from a seed.")
    ] = None,
    forms: Annotated[
        bool, typer.Option("--forms", help="Count all minimal forms of the rules that fired.")
    ] = False,
    form: Annotated[
        str, typer.Option("--form", help="single: one value per constraint; sets: as derived.")
    ] = "single",
    rules: Annotated[bool, typer.Option("--rules", help="Show the rules that are left.")] = False,
    dropped: Annotated[
        bool, typer.Option("--dropped", help="Show what was dropped, and why.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", min=0, help="Show at most so many.")] = 20,
    layers: Annotated[
        int | None, typer.Option("--layers", min=0, help="For programs that do not halt.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json: Json = False,
) -> None:
    """Leave of a program what training inputs use; does that still solve the test inputs?

    Examples:

      weft minimal parity-sum --train train --test longer --test more-ones

      weft minimal addition --train "addition(digits=3):train" --test longer

      weft minimal scan --train "scan(split=length):train" --test "scan(split=length):test"

      weft minimal dyck --train "length<=8" --test length=9..20 --full --tries 10
    """
    from weft.programs import program
    from weft.theory.generalising import generalises
    from weft.theory.minimal_report import Report
    from weft.theory.minimising import minimal
    from weft.theory.splits import split_inputs

    found = program(name)
    inputs = split_inputs(found, name, train, size=size)
    left = minimal(
        found,
        inputs,
        constraints=full,
        form=_known_form(form),
        seed=seed,
        tries=tries,
        layers=layers,
    )
    outcomes = tuple(
        (
            each,
            generalises(
                left, split_inputs(found, name, each, size=tests, testing=True), layers=layers
            ),
        )
        for each in test or ()
    )
    report = Report(name, left, train, outcomes)
    if json:
        print_json(report.as_json() | ({"forms": _forms(left)} if forms else {}))
        return
    if markdown:
        print(report.markdown())
        return
    _print(report)
    if forms:
        count = _forms(left)
        new_console().print(f"minimal forms of the rules that fired: {count:,}")
    _print_lists(left, rules, dropped, limit)


def _known_form(form: str) -> Form:
    known: dict[str, Form] = {"single": "single", "sets": "sets"}
    if form in known:
        return known[form]
    raise WeftError(f"there is no form '{form}'", remedy="Give single or sets")


def _forms(left: Minimal) -> int:
    from weft.theory.antecedents import minimal_forms

    return len(minimal_forms(left.fired, left.used))


def _print(report: Report) -> None:
    console = new_console()
    for sentence in report.sentences():
        console.print(sentence)
    console.print()
    console.print(_rich(report.parts()))
    if report.tests:
        console.print()
        console.print(_rich(report.outcomes()))


def _rich(table: Table) -> Any:
    from rich.table import Table as RichTable

    shown = RichTable(box=None, pad_edge=False)
    for place, column in enumerate(table.columns):
        shown.add_column(column, justify="right" if place else "left")
    for row in table.rows:
        shown.add_row(*row)
    return shown


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
