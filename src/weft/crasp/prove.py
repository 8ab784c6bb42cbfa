"""Prove a compiled C-RASP program, in memory or as it is on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from weft.crasp.loading import PROGRAM
from weft.crasp.model_files import read_crasp
from weft.crasp.program import CraspProgram
from weft.crasp.proof import CraspProof, verify
from weft.errors import WeftError
from weft.models.files import load_model, model_folder, read_description, record_verified
from weft.models.text import TextFormat, TokenFormat
from weft.models.transformer import Transformer


def holds_crasp(folder: str | Path) -> bool:
    """Whether a model folder holds a compiled C-RASP program."""
    return (model_folder(folder) / PROGRAM).is_file()


def prove(model: Transformer, program: CraspProgram, *, search: bool = True) -> CraspProof:
    """Prove from its weights and config that a model computes a C-RASP program.

    Args:
        model: the model, as it was compiled or loaded.
        program: what it should compute.
        search: whether to look for a counterexample if the proof does not go through.

    Example:
        >>> from weft.crasp import library
        >>> from weft.crasp.construction import compile_crasp
        >>> compiled = compile_crasp(library.load("dyck-1"), max_length=100)
        >>> print(prove(compiled.model, compiled.program))
        proved for words of up to 100 symbols
    """
    if model.config.norm_type == "layer":
        reason = "the LayerNorm form is not covered; compare it by `weft crasp check DIR`"
        return CraspProof(verdict="undecided", reason=reason)
    return verify.prove(model, program, search=search)


def prove_folder(folder: str | Path, program: CraspProgram | None = None) -> CraspProof:
    """Prove the model in a folder, and write the result on its card.

    Args:
        folder: a model folder that holds a compiled C-RASP program.
        program: what it should compute; the program in the folder by default.
    """
    path = model_folder(folder)
    own = program is None
    if program is None:
        if not (path / PROGRAM).is_file():
            raise WeftError(
                f"{path} has no {PROGRAM}",
                remedy="Give a folder that `weft crasp compile` wrote, or a program with it",
            )
        program = read_crasp(path)
    model, description = load_model(path), read_description(path)
    names = description.vocabulary
    if not own and names is not None and names[:-1] != program.alphabet:
        raise WeftError(
            f"the alphabet of {program.name or 'the program'} is not that of the model",
            remedy=f"Give a program over {', '.join(map(str, names[:-1]))}, in this order",
        )
    if not isinstance(model, Transformer):
        reason = "the model is not a Transformer"
        return CraspProof(verdict="undecided", reason=reason)
    proof = prove(model, program)
    wrong = _wrong_claim(description.text, model, program)
    wrong = f"text.{wrong}" if wrong else "vocabulary" * (description.vocabulary is None)
    if proof.proved and wrong:
        reason = f"in config.json, {wrong} is not that of the program"
        proof = replace(proof, verdict="undecided", reason=reason)
    if own:
        record_verified(path, f"{proof} ({proof.checked})")
    return proof


def _wrong_claim(text: TextFormat, model: Transformer, program: CraspProgram) -> str:
    """What the text format says otherwise than the program; empty if nothing."""
    symbols, longest = len(program.alphabet), (model.config.max_length or 1) - 1
    transduces = bool(program.next_symbols)
    expected = TokenFormat(
        mode="allowed" if transduces else "last",
        classes=(*program.alphabet, "stop") if transduces else ("reject", "accept"),
        symbols=tuple(range(symbols)),
        before=(symbols,),
        end=symbols if transduces else None,
        longest=longest,
    )
    for name in ("mode", "classes", "spaced", "symbols", "before", "after", "end", "longest"):
        if getattr(text, name) != getattr(expected, name):
            return name
    return ""
