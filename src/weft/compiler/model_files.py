"""Compiled models on disk: what a model folder holds about the program behind the model.

The folder is that of all models (`weft.models.files`). The compiler adds the section `program` to
its description, and `certificate.json`: what it relied on, for the verifier.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from weft.compiler.build import Compiled
from weft.compiler.certificate import Certificate, certificate_from_dict
from weft.config import from_plain
from weft.errors import WeftError
from weft.files import read_json
from weft.language.program import Program
from weft.language.source import source_hash
from weft.models.files import AGAIN, CONFIG, model_folder, read_description, save_model
from weft.models.text import TokenFormat

CERTIFICATE = "certificate.json"


@dataclass(frozen=True, kw_only=True)
class ProgramDescription:
    """The program behind a model, as its folder names it.

    Attributes:
        name: the name of its class.
        found_as: how to find it: a library name, or path/file.py:Class; empty if that is unknown.
        source_hash: a hash of its source, to tell it from its next version.
        level: the level that it was compiled at; None if the model was trained.
        rules: the number of its rules.
        for_inputs: the number of inputs that the model is made for; None for all.
        passes: what each pass of the compiler did.
        stop: the number of the token that ends generation; None if the program has none.
    """

    name: str
    found_as: str
    source_hash: str
    level: int | None = None
    rules: int | None = None
    for_inputs: int | None = None
    passes: tuple[tuple[str, str], ...] = ()
    stop: int | None = None


def save(compiled: Compiled, folder: str | Path, *, name: str = "") -> None:
    """Write a compiled model to a folder, which is replaced if it holds a model already.

    Args:
        compiled: the model and how it was compiled.
        folder: where to write it.
        name: how to find the program again (a library name, or path/file.py:Class).
    """
    program = compiled.program
    stored = ProgramDescription(
        name=program.name,
        found_as=name,
        source_hash=source_hash(program),
        level=compiled.level,
        rules=compiled.rules,
        for_inputs=compiled.for_inputs,
        passes=compiled.notes,
        stop=None if program.stop is None else program.vocabulary.number(program.stop),
    )
    facts = {"level": f"{compiled.level}", "rules": f"{compiled.rules:,}"}
    if compiled.for_inputs is not None:
        facts["made for"] = f"{compiled.for_inputs:,} inputs alone"
    save_model(
        compiled.model,
        folder,
        kind="compiled",
        name=program.name,
        text=output_format(program),
        vocabulary=program.vocabulary,
        program=asdict(stored),
        about=inspect.cleandoc(type(program).__doc__ or ""),
        facts={**facts, "source hash": stored.source_hash[:16]},
        sections={"Passes": [f"{name}: {what}" for name, what in compiled.notes]},
        files={CERTIFICATE: json.dumps(compiled.certificate.as_dict()) + "\n"},
    )


def output_format(program: Program) -> TokenFormat:
    """How a program's model is read without its source: its output at every token."""
    values = program.variables[program.definition.output].range.values
    return TokenFormat(mode="every", classes=tuple(map(str, values)))


def read_program(folder: str | Path) -> ProgramDescription | None:
    """The program behind the model in a folder; None if there is none, or if it is C-RASP."""
    section = read_description(folder).program
    if section is None or "language" in section:
        return None
    file = model_folder(folder) / CONFIG
    return from_plain(ProgramDescription, section, f"{file}: 'program'", AGAIN)


def read_certificate(folder: str | Path) -> Certificate:
    """What the compiler relied on, from `certificate.json`."""
    file = model_folder(folder) / CERTIFICATE
    try:
        return certificate_from_dict(read_json(file, AGAIN))
    except ValueError as error:
        if isinstance(error, WeftError):
            raise
        raise WeftError(f"{file} is damaged: {error}", remedy=AGAIN) from None
