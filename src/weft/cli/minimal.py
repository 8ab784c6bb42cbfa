"""`weft minimal`: what training inputs leave of a program, and what that is worth on others."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import MAX_COUNT, MAX_SEED, Json, Name, new_console, print_json
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.theory.minimal.fired import Form
    from weft.theory.minimal.generalisation import Generalisation
    from weft.theory.minimal.minimise import Minimal
    from weft.theory.minimal.report import Report, Table

SPLIT = "a task's split (train, addition(digits=3):train), length<=20, or a file of inputs"

Train = Annotated[
    str, typer.Option("--train", metavar="SPLIT", help=f"What it is trained on: {SPLIT}.")
]
Test = Annotated[
    list[str] | None,
    typer.Option("--test", metavar="SPLIT", help="What it is tested on; several if repeated."),
]
Size = Annotated[
    int, typer.Option("--size", min=1, max=MAX_COUNT, help="How many training inputs to draw.")
]
Tests = Annotated[
    int, typer.Option("--tests", min=1, max=MAX_COUNT, help="How many test inputs to draw.")
]
Full = Annotated[
    bool, typer.Option("--full", help="Constraints that training does not need go too.")
]
ReadingName = Annotated[
    str,
    typer.Option("--reading", help="With --full: of definition 1; weights, logic or exclusive."),
]
Tries = Annotated[
    int, typer.Option("--tries", min=1, max=MAX_COUNT, help="With --full: how many orders to try.")
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=MAX_SEED, help="With --full: an order drawn from a seed."),
]
Forms = Annotated[
    bool, typer.Option("--forms", help="Count all minimal forms of the rules that fired.")
]
FormName = Annotated[
    str, typer.Option("--form", help="single: one value per constraint; sets: as derived.")
]
Rules = Annotated[bool, typer.Option("--rules", help="Show the rules that are left.")]
Dropped = Annotated[bool, typer.Option("--dropped", help="Show what was dropped, and why.")]
Limit = Annotated[
    int, typer.Option("--limit", min=0, max=MAX_COUNT, help="How many to show at most.")
]
Layers = Annotated[
    int | None,
    typer.Option("--layers", min=0, max=MAX_COUNT, help="For programs that do not halt."),
]
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
    """Leave of a program what training inputs use; does that still solve the test inputs?

    With --full, constraints go too, by definition 1 of the ALTA paper. The default reading of it,
    weights, is that of `weft optimum --removals`: what is left compiles to a strict optimum.

    Examples:

      weft minimal parity-sum --train train --test longer --test more-ones

      weft minimal addition --train "addition(digits=3):train" --test longer

      weft minimal scan --train "scan(split=length):train" --test "scan(split=length):test"

      weft minimal dyck --train "length<=8" --test length=9..20 --full --tries 10
    """
    from weft.programs import program
    from weft.theory.minimal.minimality import reading_named
    from weft.theory.minimal.minimise import minimal_program
    from weft.theory.minimal.report import Report
    from weft.theory.minimal.splits import split_inputs

    of_definition = reading_named(reading)
    found = program(name)
    inputs = split_inputs(found, name, train, size=size)
    shape = _known_form(form)
    left = minimal_program(
        found, inputs, constraints=full, reading=of_definition, form=shape, seed=seed,
        tries=tries, layers=layers,
    )  # fmt: skip
    outcomes = tuple((each, _tested(left, name, each, tests, layers)) for each in test or ())
    report = Report(name, left, train, outcomes)
    if json:
        print_json(report.as_json() | ({"forms": _forms(left)} if forms else {}))
    elif markdown:
        print(report.markdown())
    else:
        _print(report)
        if forms:
            new_console().print(f"minimal forms of the rules that fired: {_forms(left):,}")
        _print_lists(left, rules, dropped, limit)


def _tested(left: Minimal, name: str, split: str, size: int, layers: int | None) -> Generalisation:
    from weft.theory.minimal.generalisation import generalises
    from weft.theory.minimal.splits import split_inputs

    inputs = split_inputs(left.original, name, split, size=size, testing=True)
    return generalises(left, inputs, layers=layers)


def _known_form(form: str) -> Form:
    known: dict[str, Form] = {"single": "single", "sets": "sets"}
    if form in known:
        return known[form]
    raise WeftError(f"there is no form '{form}'", remedy="Give single or sets")


def _forms(left: Minimal) -> int:
    from weft.theory.minimal.antecedents import minimal_forms

    return len(minimal_forms(left.fired, left.used, reading=left.reading))


def _print(report: Report) -> None:
    console = new_console()
    for sentence in report.sentences():
        console.print(sentence)
    console.print()
    console.print(_rich(report.parts()))
    if report.tests:
        console.print()
        console.print(_rich(report.outcomes()))
        for line in report.warnings():
            console.print(line, soft_wrap=True)


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
