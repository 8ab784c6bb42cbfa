"""`weft list`, `weft rules`, `weft show`: the library, and the contents of a program."""

from __future__ import annotations

import inspect
import itertools
import math
import shlex
from typing import Annotated, Any

import typer

from weft.cli.options import (
    Json,
    Name,
    count_option,
    model_path,
    new_console,
    new_table,
    paragraphs,
    plural,
    print_json,
)
from weft.errors import check_known
from weft.interpreter.trace import plain
from weft.language.program import Program, Variable
from weft.language.ranges import Categorical, Number
from weft.language.rules import Rule
from weft.paper import PaperProgram


def list_command(json: Json = False) -> None:
    """List the programs of the library.

    Example:

      weft list
    """
    from weft.extensions import available
    from weft.programs import LIBRARY

    installed = available("program")
    if json:
        entries = [(entry.name, entry.example, entry.summary) for entry in LIBRARY.values()]
        entries += [(name, "", origin) for name, origin in installed.items()]
        print_json([{"name": n, "example": e, "summary": s} for n, e, s in entries])
        return
    console = new_console()
    for entry in LIBRARY.values():
        console.print(entry.name, style="bold")
        console.print(f"  {entry.summary}", soft_wrap=True)
        console.print(f"  $ weft run {entry.name} {shlex.quote(entry.example)}", style="dim")
    for name, origin in installed.items():
        console.print(name, style="bold")
        console.print(f"  {origin}", soft_wrap=True)


def rules_command(
    name: Name,
    variable: Annotated[
        str | None, typer.Option("--variable", help="Show only the rules of this variable.")
    ] = None,
    updates: Annotated[
        bool, typer.Option("--updates", help="Show the guarded updates that the rules come from.")
    ] = False,
    by_line: Annotated[
        bool, typer.Option("--by-line", help="Group rules by the source line they come from.")
    ] = False,
    diff: Annotated[
        str | None, typer.Option("--diff", metavar="PROGRAM", help="Compare with another program.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check that no two rules overlap; else exit with 1."),
    ] = False,
    limit: Annotated[
        int | None, count_option("--limit", "Print at most this many (100; all with --json).", 0)
    ] = None,
    json: Json = False,
) -> None:
    """Show the rules derived from a program's step.

    Examples:

      weft rules parity

      weft rules addition --variable carry --limit 10

      weft rules addition --updates

      weft rules parity --diff parity-absolute
    """
    from weft.programs import program

    loaded = program(name)
    if variable is not None:
        what = f"there is no variable '{variable}'"
        check_known(variable, loaded.variables, what, subject=loaded.name)
    if json:
        print_json(_rules_as_json(loaded, variable, limit, check))
        return
    limit = 100 if limit is None else limit
    if diff is not None:
        _print_diff(loaded, program(diff), limit)
    elif updates:
        _print_updates(loaded, variable)
    elif by_line:
        _print_by_line(loaded, variable, limit)
    else:
        _print_rules(loaded, variable, limit)
    if check:
        _check_overlaps(loaded)


def _print_rules(program: Program, variable: str | None, limit: int) -> None:
    console = new_console()
    counts = program.rules.counts()
    left, current = limit, None
    for rule in program.rules:
        if variable is not None and rule.variable != variable:
            continue
        if left == 0:
            break
        if rule.variable != current:
            current = rule.variable
            kind = "reset" if rule.is_reset else "rule"
            console.print(f"{current}  {plural(counts[current], kind)}", style="bold")
        console.print(f"  {rule.show(program.variables)}{_origin(rule)}", soft_wrap=True)
        left -= 1
    total = counts.get(variable, 0) if variable is not None else len(program.rules)
    resets = len(program.rules.resets)
    shown = "" if total <= limit else f"; {limit:,} shown (--limit)"
    clears = f", {resets} of them reset heads" if variable is None and resets else ""
    console.print(f"{plural(total, 'rule')}{clears}{shown}")


def _origin(rule: Rule) -> str:
    return f"   [{rule.where}]" if rule.where and not rule.is_reset else ""


def _print_updates(program: Program, variable: str | None) -> None:
    console = new_console()
    updates = [u for u in program.updates if variable is None or u.variable == variable]
    for update in updates:
        console.print(f"{program.updates.show(update)}   [{update.where}]", soft_wrap=True)
    console.print(plural(len(updates), "guarded update"))


def _print_by_line(program: Program, variable: str | None, limit: int) -> None:
    console = new_console()
    for where, all_rules in program.rules.by_line().items():
        rules = [rule for rule in all_rules if variable is None or rule.variable == variable]
        if not rules:
            continue
        source = where.excerpt().splitlines()[0].split("|", 1)[-1].strip() if where else ""
        console.print(
            f"{where}  {plural(len(rules), 'rule')}   {source}", style="bold", soft_wrap=True
        )
        for rule in rules[: max(0, limit)]:
            console.print(f"  {rule.show(program.variables)}", soft_wrap=True)
        limit -= len(rules)


def _print_diff(left: Program, right: Program, limit: int) -> None:
    console = new_console()
    difference = left.rules.diff(right.rules)
    for sign, program, rules in (
        ("-", left, difference.only_left),
        ("+", right, difference.only_right),
    ):
        for rule in rules[:limit]:
            console.print(f"{sign} {rule.show(program.variables)}", soft_wrap=True)
    console.print(
        f"{len(difference.only_left)} only in {left.name}, "
        f"{len(difference.only_right)} only in {right.name}, {difference.both} in both"
    )


def _check_overlaps(program: Program) -> None:
    overlapping = list(program.rules.overlaps())
    for one, other in overlapping:
        shown = " | ".join(rule.show(program.variables) for rule in (one, other))
        new_console().print(f"overlap: {shown}", soft_wrap=True)
    if overlapping:
        raise typer.Exit(1)
    new_console().print("no two rules overlap")


def _rules_as_json(
    program: Program, variable: str | None, limit: int | None, check: bool
) -> dict[str, Any]:
    rules = (r for r in program.rules if variable is None or r.variable == variable)
    listed = list(itertools.islice(rules, limit))
    counts = program.rules.counts()
    overlaps = {"overlaps": sum(1 for _ in program.rules.overlaps())} if check else {}
    return {
        "program": program.name,
        "count": len(program.rules) if variable is None else counts.get(variable, 0),
        "counts": counts,
        **overlaps,
        "rules": [
            {
                "guard": {name: plain(values) for name, values in rule.guard},
                "variable": rule.variable,
                "old": rule.old,
                "new": rule.new,
                "line": rule.where.line if rule.where else None,
            }
            for rule in listed
        ],
    }


def show_command(name: Name, json: Json = False) -> None:
    """Show a program, or the model in a folder.

    A program is shown with its variables, heads, sizes and source, a model with its card.

    Examples:

      weft show parity

      weft show models/addition

      weft show runs/3f2a90c1d7e4
    """
    from weft.programs import program

    stored = model_path(name)
    if stored is not None:
        from weft.cli.run_model import show_folder

        show_folder(stored, json)
        return
    loaded = program(name)
    if json:
        print_json(_program_as_json(loaded))
        return
    console = new_console()
    console.print(loaded.name, style="bold")
    console.print(paragraphs(type(loaded).__doc__ or ""), style="dim", markup=False)
    console.print()
    variables = [(v.name, _range(v), _start(v)) for v in loaded.variables.values() if not v.is_head]
    console.print(new_table(("variable", "values", "starts from"), variables, ()))
    console.print()
    if loaded.heads:
        heads = [(n, _range(loaded.variables[n]), h.describe()) for n, h in loaded.heads.items()]
        console.print(new_table(("head", "values", "fetches"), heads, ()))
        console.print()
    for word, value in _facts(loaded).items():
        console.print(f"{word:<10}{value}", soft_wrap=True)
    source = _source(loaded)
    if source:
        from rich.syntax import Syntax

        console.print()
        console.print(
            Syntax("", "python", background_color="default").highlight(source), soft_wrap=True
        )


def _range(variable: Variable) -> str:
    kind = variable.range
    if isinstance(kind, Categorical):
        return kind.describe()
    return f"{'number' if isinstance(kind, Number) else 'set'}: {kind.describe()}"


def _start(variable: Variable) -> str:
    if variable.token is not None:
        return "token"
    return "position" if variable.position is not None else str(plain(variable.default))


def _facts(program: Program) -> dict[str, str]:
    definition = program.definition
    states = math.prod(len(v) + v.is_head for v in program.variables.values())
    halt = definition.halt
    runs = (
        f"until {halt.variable} = {halt.value} everywhere" if halt else f"{program.layers} layers"
    )
    tokens = definition.vocabulary.names
    return {
        "tokens": " ".join(map(str, tokens)) if tokens else str(definition.vocabulary.size),
        "output": definition.output,
        "runs": runs + (", causal" if program.causal else ""),
        "states": f"{states:,} of a position" if states < 10**9 else f"10^{math.log10(states):.1f}",
        "updates": f"{len(program.updates)} guarded",
        "rules": f"{len(program.rules):,}, {len(program.rules.resets)} of them reset heads",
    }


def _source(program: Program) -> str:
    if program.source_text:
        return program.source_text.rstrip()
    shown = program.step_function if isinstance(program, PaperProgram) else type(program)
    try:
        return inspect.getsource(shown).rstrip()  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""


def _program_as_json(program: Program) -> dict[str, Any]:
    definition = program.definition
    return {
        "program": program.name,
        "variables": {
            v.name: {"values": plain(list(v.range.values)), "starts_from": _start(v)}
            for v in program.variables.values()
            if not v.is_head
        },
        "heads": {
            h.name: {
                "query": h.query,
                "key": h.key,
                "value": h.value,
                "offsets": None if h.offsets is None else sorted(h.offsets),
            }
            for h in program.heads.values()
        },
        "output": definition.output,
        "halt": None
        if definition.halt is None
        else [definition.halt.variable, definition.halt.value],
        "tokens": definition.vocabulary.names or definition.vocabulary.size,
        "positions": definition.positions,
        "causal": program.causal,
        "updates": len(program.updates),
        "rules": len(program.rules),
    }
