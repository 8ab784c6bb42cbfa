"""`weft crasp`: C-RASP programs of the library, and of `.crasp` files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, new_console, new_table, plural, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from weft.crasp.program import CraspProgram
    from weft.crasp.reference import CraspRun

LONG = 64
"""Characters of a word from which it is worth importing NumPy for."""

CraspName = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME",
        help="A .crasp file, a library name (see `weft crasp list`) with parameters in brackets "
        "if it has any, or a folder that holds a compiled program.",
    ),
]


def list_command(json: Json = False) -> None:
    """List the C-RASP programs of the library.

    Parameters are below a name, with their defaults. `depth` is how deep counts are nested. A
    program that needs nothing is one for transformers without positions. `weft crasp show` prints
    a program with its idea.

    Examples:

      weft crasp list

      weft crasp show 'bounded-dyck(depth=3)'
    """
    from weft.crasp.analysis.measures import measure
    from weft.crasp.library import ENTRIES

    programs = [(entry, program := entry.make(), measure(program)) for entry in ENTRIES.values()]
    if json:
        print_json(
            [
                {
                    "name": entry.name,
                    "parameters": dict(entry.parameters),
                    "language": entry.language,
                    "idea": entry.idea,
                    "example": entry.example,
                    "alphabet": list(program.alphabet),
                    "needs": measures.needs,
                    "depth": measures.depth,
                }
                for entry, program, measures in programs
            ]
        )
        return
    rows = [
        [
            "\n".join(
                [entry.name, *(f"  {key}={value}" for key, value in entry.parameters.items())]
            ),
            "".join(program.alphabet),
            measures.needs,
            str(measures.depth),
            entry.language,
        ]
        for entry, program, measures in programs
    ]
    header = ["program", "symbols", "needs", "depth", "language or task"]
    new_console().print(new_table(header, rows, ["depth"]))


def show_command(name: CraspName, json: Json = False) -> None:
    """Show a C-RASP program.

    It is shown as text that parses back to the same program, with its measures as a comment: the
    depth of nested counts, the number of operations, and what its transformer needs.

    Examples:

      weft crasp show dyck-1

      weft crasp show path/to/mine.crasp --json
    """
    from weft.crasp.loading import load
    from weft.crasp.syntax.text import text

    program = load(name)
    if json:
        print_json(_program_as_json(program))
        return
    console = new_console()
    measures = "".join(f"// {line}\n" for line in _measures(program))
    console.print(_highlighted(text(program) + measures), end="", soft_wrap=True)


def _highlighted(written: str) -> Text:
    """The text of a program, in colour on a terminal."""
    from rich.text import Text

    coloured = Text(written)
    coloured.highlight_regex(r"(?m)^[^\s/]\S*(?= :=)", "bold")
    coloured.highlight_regex(r"#(?=\[)|\b(?:exists|previous|MOD|min|max)\b", "cyan")
    coloured.highlight_regex(r"\b(?:and|or|not)\b", "magenta")
    coloured.highlight_regex(r"(?m)^(?:program|alphabet|periodic|local)\b", "magenta")
    coloured.highlight_regex(r"(?m)^//.*$", "dim not bold default")
    return coloured


def _measures(program: CraspProgram) -> Iterator[str]:
    """What a program costs and needs, in words."""
    from weft.crasp.analysis.measures import measure

    measures = measure(program)
    yield f"counting depth {measures.depth}, {plural(measures.size, 'operation')}"
    if measures.layers is None:
        yield "too large for the construction of weights"
    else:
        heads = " + ".join(map(str, measures.heads))
        word = "head" if measures.heads == (1,) else "heads"
        yield f"{plural(measures.layers, 'layer')} with {heads} {word}"
    if measures.period > 1:
        yield f"periodic predicates with period {measures.period}"
    if measures.offsets:
        yield f"local predicates with offsets {', '.join(map(str, measures.offsets))}"


def _program_as_json(program: CraspProgram) -> dict[str, Any]:
    from dataclasses import asdict

    from weft.crasp.analysis.measures import measure
    from weft.crasp.syntax.text import expression_text, text

    return {
        "name": program.name,
        "about": program.about,
        "alphabet": list(program.alphabet),
        "lines": [
            {
                "name": line.name,
                "kind": program.kinds[line.name],
                "expression": expression_text(line.expression),
            }
            for line in program.lines
        ],
        "accepting": program.accepting,
        "next_symbols": dict(program.next_symbols),
        "periodic": [
            {"name": p.name, "period": p.period, "residues": list(p.residues)}
            for p in program.periodics
        ],
        "local": [{"name": p.name, "offsets": list(p.offsets)} for p in program.locals],
        "measures": asdict(measure(program)),
        "text": text(program),
    }


def run_command(
    name: CraspName,
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="The word: its symbols, separated by spaces unless all of them are characters.",
        ),
    ],
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the value of every line at every position.")
    ] = False,
    counts: Annotated[
        bool,
        typer.Option("--counts", help="With --trace: also the counts that lines are made of."),
    ] = False,
    json: Json = False,
) -> None:
    """Run a C-RASP program on a word.

    Position 0 is the begin symbol, at which the empty word is judged. In the trace, a Boolean is T
    or a dot, and a count is a number.

    Examples:

      weft crasp run dyck-1 '(())' --trace --counts

      weft crasp run majority '' --json

      weft crasp run path/to/mine.crasp abba
    """
    from weft.crasp.loading import load

    program = load(name)
    labels: dict[str, str] = {}
    if counts:
        from weft.cli.crasp_trace import with_counts

        program, labels = with_counts(program)
    result = _run(program, word)
    if json:
        print_json(_run_as_json(program, result, trace, labels))
        return
    from weft.cli.crasp_trace import render_run

    console = new_console()
    for line in render_run(program, result, trace, console.width, labels):
        console.print(line, soft_wrap=True)


def _run(program: CraspProgram, word: str) -> CraspRun:
    """A run, in the interpreter that is faster for a word of this length."""
    if len(word) <= LONG:
        from weft.crasp.reference import run

        return run(program, word)
    from weft.crasp.batched import run_batch

    return run_batch(program, [word])[0]


def _run_as_json(
    program: CraspProgram, run: CraspRun, trace: bool, labels: dict[str, str]
) -> dict[str, Any]:
    """A run for JSON; docs/crasp.md lists the keys."""
    from weft.crasp.reference import allowed_next

    lines = [
        {"name": labels.get(name, name), "kind": program.kinds[name], "values": list(values)}
        for name, values in run.values.items()
    ]
    return {
        "program": program.name,
        "word": list(run.word),
        "accepted": run.accepted,
        "next": [list(s) for s in allowed_next(program, run)] if program.next_symbols else None,
        "lines": lines if trace else None,
    }
