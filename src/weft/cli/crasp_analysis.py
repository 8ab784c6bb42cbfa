"""`weft crasp equal` and `weft crasp simplify`: C-RASP programs compared and made smaller."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from weft.cli.crasp import CraspName
from weft.cli.options import MAX_COUNT, MAX_LENGTH, Json, new_console, plural, print_json

if TYPE_CHECKING:
    from weft.crasp.analysis.equivalence import EqualitySearch
    from weft.crasp.program import CraspProgram

Limit = Annotated[
    int,
    typer.Option(
        "--limit",
        min=1,
        max=MAX_COUNT,
        help="Give up beyond this many configurations; a million of them take about 200 MB.",
    ),
]


def equal_command(
    left: CraspName,
    right: CraspName,
    length: Annotated[
        int, typer.Option("--length", min=0, max=MAX_LENGTH, help="Maximum length of words.")
    ] = 40,
    limit: Limit = 5_000_000,
    json: Json = False,
) -> None:
    """Find a word on which two programs differ.

    It is the shortest one, and the first of these in the order of the alphabet; it is printed with
    both traces, and the exit code is 1. All words up to a length are covered, but only the
    configurations that they lead to are visited: the counts as far as comparisons depend on them,
    and the last values of what is read at an offset. If longer words lead to no new ones, the
    programs are equal on all words.

    Examples:

      weft crasp equal dyck-1 mine.crasp

      weft crasp equal dyck-1 'bounded-dyck(depth=3)' --length 20 --json
    """
    from weft.crasp.analysis.equivalence import search_difference
    from weft.crasp.loading import load

    programs = (load(left), load(right))
    with _Progress() as progress:
        search = search_difference(
            *programs, length, max_configurations=limit, progress=progress.show
        )
    if json:
        print_json(
            {
                "equal": search.word is None,
                "word": search.word,
                "length": length,
                "all_lengths": search.complete,
                "configurations": search.configurations,
            }
        )
    elif search.word is None:
        print(describe(search))
    else:
        _print_difference((left, right), programs, search.word)
    if search.word is not None:
        raise typer.Exit(1)


def simplify_command(
    name: CraspName,
    length: Annotated[
        int,
        typer.Option(
            "--length", min=0, max=MAX_LENGTH, help="Check equality on words up to this length."
        ),
    ] = 20,
    limit: Limit = 200_000,
    json: Json = False,
) -> None:
    """Print a smaller, equal program.

    Constants are folded, repeated expressions get a line, and lines on which nothing depends are
    removed; every line that stays keeps its name and its values. The result is then compared with
    the program by the search of `weft crasp equal`. The program is printed on standard output, and
    what has changed on standard error.

    Examples:

      weft crasp simplify bounded-dyck

      weft crasp simplify mine.crasp > smaller.crasp
    """
    from weft.crasp.analysis.measures import size
    from weft.crasp.analysis.simplification import simplify
    from weft.crasp.loading import load
    from weft.crasp.syntax.text import text

    program = load(name)
    simple = simplify(program)
    checked = _check(program, simple, length, limit)
    sizes = [(size(each), len(each.lines)) for each in (program, simple)]
    if json:
        names = ("before", "after")
        counts = (dict(zip(("operations", "lines"), each, strict=True)) for each in sizes)
        print_json(
            {
                "text": text(simple),
                **dict(zip(names, counts, strict=True)),
                "equal_up_to": None if checked is None else length,
                "all_lengths": checked is not None and checked.complete,
            }
        )
        return
    new_console().print(text(simple), end="", soft_wrap=True)
    (before, lines_before), (after, lines_after) = sizes
    print(
        f"{before} -> {after} operations, {lines_before} -> {lines_after} lines; "
        + ("not checked within the limit" if checked is None else describe(checked)),
        file=sys.stderr,
    )


def describe(search: EqualitySearch) -> str:
    """One line on a search that found no difference."""
    where = "all words" if search.complete else f"all words up to length {search.length}"
    return f"equal on {where} ({plural(search.configurations, 'configuration')})"


def _check(
    program: CraspProgram, simple: CraspProgram, length: int, limit: int
) -> EqualitySearch | None:
    """The search for a difference, which finds none; None if it would take too long."""
    from weft.crasp.analysis.equivalence import search_difference
    from weft.errors import WeftError

    try:
        search = search_difference(program, simple, length, max_configurations=limit)
    except WeftError:
        return None
    assert search.word is None, "simplification has changed the program"
    return search


def _print_difference(
    names: tuple[str, str], programs: tuple[CraspProgram, CraspProgram], word: tuple[str, ...]
) -> None:
    from weft.cli.crasp_trace import render_run
    from weft.crasp.reference import run

    console = new_console()
    separator = "" if all(len(symbol) == 1 for symbol in programs[0].alphabet) else " "
    shown = f"'{separator.join(word)}'" if word else "the empty word"
    console.print(f"they differ on {shown} (length {len(word)})", soft_wrap=True)
    for name, program in zip(names, programs, strict=True):
        console.print(f"\n{name}", soft_wrap=True)
        for line in render_run(program, run(program, word), True, console.width):
            console.print(line, soft_wrap=True)


class _Progress:
    """A line on standard error, if that is a terminal, that is rewritten for every length."""

    def __enter__(self) -> _Progress:
        self._shown = sys.stderr.isatty()
        return self

    def show(self, length: int, configurations: int) -> None:
        if self._shown:
            line = f"length {length}: {configurations:,} configurations"
            print(f"\r{line}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
