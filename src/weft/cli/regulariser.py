"""`weft regulariser`: the terms of the length-generalisation regulariser of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from weft.cli.options import Json, model_path, new_console, new_table, print_json
from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.crasp.regulariser import RegulariserTerms

MAX_GROWTH = 1024
"""The longest context that growth is measured at: matrices grow with its square."""


def regulariser_command(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR|RUN",
            help="A model folder or a training run; with --lengths, also a C-RASP program.",
        ),
    ],
    lengths: Annotated[
        str,
        typer.Option(
            "--lengths",
            help="Compile the program of a C-RASP model for these lengths, as in 16,32.",
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Show the regulariser R(T) of a model, term by term.

    The theory predicts that a task generalises in length if models T_n of context n fit it with
    R(T_n) bounded in n. With --lengths, the program of a C-RASP model is compiled for each length,
    with a table of absolute positions, and the growth of every term is shown.

    Examples:

      weft regulariser runs/4f0c2d

      weft regulariser tomita-4 --lengths 16,32,64,128
    """
    if lengths:
        _show_growth(folder, _lengths(lengths), json)
        return
    from weft.crasp.regulariser import measure
    from weft.models.files import load_model
    from weft.models.transformer import Transformer

    path = model_path(folder)
    model = load_model(folder if path is None else path)
    if not isinstance(model, Transformer):
        raise WeftError(
            "the model is not a Transformer", remedy="The regulariser is that of Transformers"
        )
    terms = measure(model)
    if json:
        print_json(terms.as_dict())
        return
    rows = [(name, value, note) for name, value, note in _described(terms)]
    new_console().print(new_table(("term", "value", "what it is"), rows, ("value",)))


def _lengths(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and 1 <= int(part) <= MAX_GROWTH for part in parts):
        raise WeftError(
            f"'{text}' is not a list of lengths",
            remedy=f"Write it as in --lengths 16,32,64, each at most {MAX_GROWTH:,}",
        )
    return sorted({int(part) for part in parts})


def _described(terms: RegulariserTerms) -> list[tuple[str, str, str]]:
    """Every term with its value and what it measures."""
    missing = "not defined for this positional encoding"
    significant = f"at most {terms.significant} significant bits, stored as {terms.dtype}"
    return [
        ("layers", str(terms.layers), "number of layers"),
        ("heads", str(terms.heads), "heads per layer"),
        ("precision", str(terms.precision), f"fractional bits of parameters; {significant}"),
        ("rank", str(terms.rank), "largest numerical rank of a head's value matrix"),
        ("norm", _number(terms.norm), f"largest norm of a parameter: {terms.largest}"),
        ("position norm", _number(terms.position_norm), f"max ||p_i||, {terms.positions} rows"),
        (
            "position",
            _number(terms.position),
            missing if terms.position is None else "sum of |p_1 K'Q p_j|^2 over heads and j",
        ),
        ("R", _number(terms.total), "sum of the terms above"),
        (
            "averaged",
            _number(terms.averaged),
            missing if terms.averaged is None else "position term as `penalty.position` uses it",
        ),
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.4g}" if abs(value) < 1e5 else f"{value:,.0f}"


def _show_growth(name: str, lengths: list[int], json: bool) -> None:
    """The terms of a program's models, by length."""
    from weft.crasp.construction import compile_crasp
    from weft.crasp.loading import load
    from weft.crasp.regulariser import growth, measure

    path = model_path(name)
    program = load(name if path is None else str(path))
    by_length = {
        length: measure(compile_crasp(program, max_length=length, form="absolute").model)
        for length in lengths
    }
    keys = (
        "layers", "heads", "precision", "rank", "norm", "position_norm", "position", "averaged",
        "total",
    )  # fmt: skip
    values: dict[str, dict[int, Any]] = {
        key: {length: getattr(terms, key) for length, terms in by_length.items()} for key in keys
    }
    grown = {key: growth(some) for key, some in values.items()}
    if json:
        print_json(
            {
                "terms": {str(n): terms.as_dict() for n, terms in by_length.items()},
                "growth": grown,
            }
        )
        return
    header = ("term", *(f"n={length}" for length in lengths), "growth")
    rows = [
        (
            "R" if key == "total" else key.replace("_", " "),
            *(_number(values[key][length]) for length in lengths),
            grown[key],
        )
        for key in keys
    ]
    console = new_console()
    console.print(new_table(header, rows, header[1:-1]))
    console.print(
        f"Growth over the lengths shown, {lengths[0]} to {lengths[-1]}; it proves nothing about "
        "longer ones."
    )
