"""`weft.load`: the model of a folder, compiled or trained, with the program behind it if there is.

Loading needs no source. If the program behind the model can still be found, and is what it was, the
model takes and gives text by the program's own `encode` and `decode`; otherwise by the names of its
tokens.
"""

from __future__ import annotations

from pathlib import Path

from weft.compiler.execution import ProgramFormat
from weft.compiler.model_files import read_program
from weft.errors import WeftError
from weft.language.program import Program
from weft.language.source import source_hash
from weft.models.factory import Model
from weft.models.files import load_model, read_description
from weft.programs import program as find_program


def load(folder: str | Path) -> Model:
    """The model in a folder that `weft compile` wrote, or of a finished training run.

    Args:
        folder: a model folder, or the folder of a run.

    Example:
        >>> import tempfile, weft
        >>> folder = tempfile.mkdtemp() + "/parity"
        >>> weft.save(weft.compile(weft.program("parity")), folder, name="parity")
        >>> model = weft.load(folder)
        >>> model.answer("101"), model.layout["parity"].dimensions
        ('0', slice(0, 2, None))
    """
    program = program_behind(folder)
    if program is None:
        return load_model(folder)
    description = read_description(folder)
    trained, longest = description.kind == "trained", description.text.longest
    return load_model(folder, text=ProgramFormat(program, trained=trained, longest=longest))


def program_behind(folder: str | Path) -> Program | None:
    """The program behind the model in a folder, if it can be found and has not changed."""
    about = read_program(folder)
    if about is None or not about.found_as:
        return None
    try:
        program = find_program(about.found_as)
    except WeftError:
        return None
    return program if source_hash(program) == about.source_hash else None
