"""`weft reduce`: definitions by structural recursion, and their reduction step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, count_option, new_console, new_table, plural, print_json
from weft.errors import WeftError

if TYPE_CHECKING:
    from rich.text import Text

    from weft.recursion import Function, Notation, Reduction


def reduce_command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="A definition of the library, or path/file.py:name of your own."
        ),
    ] = None,
    terms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TERM ...", help="The arguments: their tokens, separated by blanks."
        ),
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show the term after every round.")
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show the delta, beta and iota steps of every round.")
    ] = False,
    rounds: Annotated[
        int | None, count_option("--rounds", "Stop after this many rounds.", 0)
    ] = None,
    parallel: Annotated[
        bool,
        typer.Option(
            "--parallel", help="Reduce all reducible calls in a round, not the outermost only."
        ),
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Reduce the calls of this function only. May be repeated."),
    ] = None,
    style: Annotated[
        str,
        typer.Option(
            "--style", help="How terms are written: prefix, parenthesised, empty, bracket or flat."
        ),
    ] = "prefix",
    order: Annotated[
        str,
        typer.Option(
            "--order",
            help="Order of the tokens: constructor, outermost first; or natural, the reverse.",
        ),
    ] = "constructor",
    labels: Annotated[
        str,
        typer.Option("--labels", help="Where the labels of trees stand: pre, in or post."),
    ] = "pre",
    max_rounds: Annotated[
        int | None,
        count_option("--max-rounds", "More rounds to the normal form are an error; 100,000."),
    ] = None,
    json: Json = False,
) -> None:
    """Reduce a call of a recursive function, round by round.

    Without arguments, the definitions of the library are listed. Without terms, a definition is
    shown: its types, equations, axes and cases. A round is a delta, a beta and an iota step at the
    outermost reducible call.

    Examples:

      weft reduce successor 'XO X1 01' --trace

      weft reduce in-order 'Branch a Branch b Leaf Leaf Leaf' --parallel --trace --style flat

      weft reduce path/to/mine.py:double 'S S O' --steps
    """
    if name is None:
        _list(json)
        return
    from weft.recursion import Notation, definition

    function = definition(name)
    notation = Notation(style, order, labels)  # type: ignore[arg-type]
    if not terms:
        _describe(function, name, json)
        return
    reduction = _reduced(function, terms, notation, rounds, parallel, only or [], max_rounds)
    if json:
        from weft.recursion import reduction_json

        shown = reduction_json(reduction, notation)
        print_json({"definition": name, "parallel": parallel, **shown})
        return
    console = new_console()
    for line in _lines(reduction, notation, trace or steps, steps):
        console.print(line, soft_wrap=True)


def _reduced(
    function: Function,
    terms: list[str],
    notation: Notation,
    rounds: int | None,
    parallel: bool,
    only: list[str],
    max_rounds: int | None,
) -> Reduction:
    """The reduction of a call on terms that are given as text."""
    from weft.recursion import parse_term, reduce
    from weft.recursion.reduction import MAX_ROUNDS

    kinds = [kind for _, kind in function.parameters]
    if len(terms) == 1 and len(kinds) > 1 and notation.style != "flat":
        arguments = _several(terms[0], function, notation)
    elif len(terms) == len(kinds):
        arguments = []
        for (name, kind), text in zip(function.parameters, terms, strict=True):
            try:
                arguments.append(parse_term(text, kind, notation, function.functions))
            except WeftError as error:
                where = f"the argument '{name}' of {function.name}"
                raise error.revised(subject=where) from None
    else:
        names = ", ".join(f"{name}: {kind.__name__}" for name, kind in function.parameters)
        what = f"it takes {plural(len(kinds), 'term')} ({names}), and is given {len(terms)}"
        raise WeftError(what, subject=function.name, remedy="Put each term in quotation marks")
    return reduce(
        function.call(*arguments),
        rounds,
        parallel=parallel,
        only=_functions(function, only),
        max_rounds=MAX_ROUNDS if max_rounds is None else max_rounds,
    )


def _several(text: str, function: Function, notation: Notation) -> list[Any]:
    """All arguments from one text, one after the other."""
    from weft.recursion import decode_terms
    from weft.recursion.reading import split_text

    kinds = [kind for _, kind in function.parameters]
    try:
        return list(decode_terms(split_text(text), kinds, notation, function.functions))
    except WeftError as error:
        raise error.revised(subject=f"the arguments of {function.name}") from None


def _functions(function: Function, only: list[str]) -> list[Function]:
    """The functions of these names among those that a function calls."""
    from weft.errors import check_known

    known = {one.name: one for one in function.functions}
    known |= {one.name.replace("_", "-"): one for one in function.functions}
    for name in only:
        check_known(name, known, f"{function.name} does not call a function '{name}'")
    return [known[name] for name in only]


def _lines(
    reduction: Reduction, notation: Notation, trace: bool, with_steps: bool
) -> list[Text | str]:
    """What is printed about a reduction."""
    from weft.recursion import show_term
    from weft.recursion.trace import is_value, shown_calls, steps

    lines: list[Text | str] = []
    if trace:
        labels = [shown_calls(one.reducts) for one in reduction.rounds]
        width = max(4, *map(len, labels)) if labels else 4
        digits = max(5, len(str(len(labels))))
        lines.append(f"{'round':>{digits}}  {'case':<{width}}  term")
        lines.append(_row("0", "", reduction.start, notation, digits, width))
        for one, label in zip(reduction.rounds, labels, strict=True):
            for reduct in one.reducts if with_steps else ():
                lines += [
                    f"{'':>{digits}}  {step.kind:<5}  {step.rule}"
                    for step in steps(reduct, notation)
                ]
            lines.append(_row(str(one.number), label, one.after, notation, digits, width))
        lines.append("")
    count = plural(len(reduction.rounds), "round")
    if is_value(reduction.term):
        word = "value"
    else:
        word = "normal form" if reduction.finished else "not finished"
    if trace:
        lines.append(f"{word} after {count}")
    else:
        lines.append(show_term(reduction.term, notation))
        if not is_value(reduction.term):
            lines.append(f"{word} after {count}")
    return lines


def _row(number: str, label: str, term: Any, notation: Notation, digits: int, width: int) -> Text:
    """A line of a trace, in which the names of functions stand out."""
    from rich.text import Text

    from weft.recursion import encode_term
    from weft.recursion.vocabulary import called_tokens

    line = Text(f"{number:>{digits}}  {label:<{width}} ")
    called = called_tokens(term)
    for token in encode_term(term, notation):
        line.append(" ")
        line.append(token, "bold cyan" if token in called else "")
    return line


def _list(json: bool) -> None:
    from weft.recursion import DEFINITIONS

    if json:
        print_json([_definition_json(name, one) for name, one in DEFINITIONS.items()])
        return
    rows = []
    for name, one in DEFINITIONS.items():
        types = ", ".join(kind.__name__ for _, kind in one.parameters)
        rows.append([name, f"{types} -> {one.result.__name__}", one.doc.splitlines()[0]])
    new_console().print(new_table(["definition", "type", "value"], rows, []))


def _definition_json(name: str, function: Function) -> dict[str, Any]:
    return {
        "name": name,
        "token": function.token,
        "about": function.doc,
        "parameters": [[key, kind.__name__] for key, kind in function.parameters],
        "result": function.result.__name__,
        "equations": [str(one) for one in function.equations],
        "calls": [one.name for one in function.functions[1:]],
        "axes": list(function.axes),
        "cases": list(function.cases),
    }


def _describe(function: Function, name: str, json: bool) -> None:
    """Print a definition."""
    if json:
        print_json(_definition_json(name, function))
        return
    from weft.recursion.vocabulary import type_lines

    console = new_console()
    console.print(function.doc or function.name, soft_wrap=True)
    for kind in type_lines(function):
        console.print(f"  {kind}", soft_wrap=True)
    for one in function.functions:
        console.print()
        shown = one.equations if len(one.equations) <= 20 else one.equations[:5]
        for equation in shown:
            console.print(f"  {equation}", soft_wrap=True)
        if len(shown) < len(one.equations):
            console.print(f"  ... {len(one.equations) - len(shown)} more", soft_wrap=True)
    console.print(f"\naxes   {', '.join(function.axes)}", soft_wrap=True)
    if function.cases:
        console.print(f"cases  {', '.join(function.cases)}", soft_wrap=True)
