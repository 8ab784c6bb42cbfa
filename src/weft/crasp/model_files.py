"""Compiled C-RASP programs on disk.

The folder is that of all models (`weft.models.files`), with the program's text in `program.crasp`.
The section `program` of its description says that the language is C-RASP.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from weft.crasp.construction import CompiledCrasp, PositionForm, compile_crasp
from weft.crasp.head_positions import measure_positions
from weft.crasp.loading import PROGRAM
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.text import text
from weft.errors import WeftError
from weft.models.files import load_model, model_folder, read_description, save_model
from weft.models.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class CraspDescription:
    """The program behind a model, as its folder describes it.

    Attributes:
        language: `c-rasp`.
        name: the program's name.
        form: where the scores of local heads come from.
        slope: of the units that compare counts.
        longest: the largest length that the number format allows.
        period: after how many positions the table of positions repeats.
        range: the largest offset that a head reads.
    """

    language: str = "c-rasp"
    name: str
    form: PositionForm
    slope: float
    longest: int
    period: int
    range: int


def save_crasp(compiled: CompiledCrasp, folder: str | Path) -> None:
    """Write a compiled program to a folder, which is replaced if it holds a model already.

    PERIODIC and LOCAL are measured on the weights, head by head, and written on the card.

    Args:
        compiled: what `compile_crasp` returned.
        folder: where to write it.

    Example:
        >>> import tempfile, weft
        >>> from weft.crasp import library
        >>> from weft.crasp.construction import compile_crasp
        >>> folder = tempfile.mkdtemp() + "/dyck"
        >>> save_crasp(compile_crasp(library.load("dyck-1")), folder)
        >>> weft.load(folder).answer("(())")
        'accept'
    """
    program, limit = compiled.program, compiled.limit
    name = program.name or "c-rasp"
    stored = CraspDescription(
        name=name,
        form=compiled.position_form,
        slope=compiled.slope,
        longest=compiled.longest,
        period=limit.period,
        range=limit.range,
    )
    save_model(
        compiled.model,
        folder,
        kind="compiled",
        name=name,
        text=compiled.text,
        vocabulary=compiled.model.vocabulary,
        program=asdict(stored),
        about=program.about,
        facts={
            "language": "C-RASP",
            "form": compiled.position_form,
            "longest word": f"{compiled.max_length:,} symbols",
            "longest word that the number format allows": f"{compiled.longest:,} symbols",
            "heads that do something": f"{compiled.heads}",
            "hidden units that do something": f"{compiled.units}",
            **({"slope of comparisons": f"{compiled.slope:g}"} if compiled.slope else {}),
        },
        sections={
            "Layers": compiled.explain(),
            "Positions, measured on the weights": measure_positions(compiled.model).lines(),
        },
        files={PROGRAM: text(program)},
    )


def read_crasp(folder: str | Path) -> CraspProgram:
    """The program of a folder that `save_crasp` wrote."""
    from weft.crasp.syntax.parser import read

    return read(model_folder(folder) / PROGRAM)


def load_crasp(folder: str | Path) -> CompiledCrasp:
    """The compiled program in a folder that `save_crasp` wrote, with the weights in it."""
    path = model_folder(folder)
    program, model = read_crasp(path), load_model(path)
    described = read_description(path).program or {}
    if not isinstance(model, Transformer) or "form" not in described:
        raise WeftError(f"{path} holds no compiled C-RASP program", remedy="Compile it again")
    compiled = compile_crasp(
        program,
        max_length=(model.config.max_length or 1) - 1,
        dtype=model.config.dtype,
        form=described["form"],
    )
    return replace(compiled, model=model)
