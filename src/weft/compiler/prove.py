"""Prove a compiled model, in memory or as it is on disk, against its program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from json import dumps
from pathlib import Path

from weft.compiler.build import Compiled
from weft.compiler.model_files import output_format, read_certificate, read_program
from weft.compiler.proof import Proof, verify
from weft.errors import WeftError
from weft.language.program import Program
from weft.language.source import source_hash
from weft.models.files import load_model, read_description, record_verified
from weft.models.transformer import Transformer

__all__ = ["Proof", "prove", "prove_folder"]


def prove(compiled: Compiled, *, search: bool = True) -> Proof:
    """Prove from its weights and config that a compiled model computes its program.

    Args:
        compiled: what `weft.compile` returned.
        search: whether to search for a counterexample if the proof does not go through.

    Example:
        >>> import weft
        >>> weft.prove(weft.compile(weft.program("parity"))).verdict
        'proved'
    """
    return verify.prove(compiled.model, compiled.program, compiled.certificate, search=search)


def prove_folder(folder: Path, name: str | None, find: Callable[[str], Program]) -> Proof:
    """Prove the model in a folder, and write the result on its card.

    Args:
        folder: a model folder, such as `weft compile` writes.
        name: where the program is; None for where it was when it was compiled.
        find: finds a program by its name.
    """
    model, description, about = load_model(folder), read_description(folder), read_program(folder)
    if description.kind != "compiled" or about is None or not isinstance(model, Transformer):
        reason = f"the model is {description.kind}: there is no program to prove it against"
        return Proof(verdict="undecided", reason=reason)
    program = find(name or about.found_as)
    if source_hash(program) != about.source_hash:
        if program.name != about.name:
            raise WeftError(f"{folder} was compiled from {about.name}, not from {program.name}")
        raise WeftError(
            f"the source of {about.name} has changed since the model was compiled",
            remedy="Compile it again, then prove it",
        )
    certificate = read_certificate(folder)
    proof = verify.prove(model, program, certificate)
    inputs = None if certificate.inputs is None else len(certificate.inputs)
    text = output_format(program)
    names = dumps(program.vocabulary.names)  # in Python, 0 and False are equal
    claims = {
        "the vocabulary in config.json is not that of the program": (
            dumps(description.vocabulary) == names
        ),
        "the text format in config.json is not that of the program": description.text == text,
        "config.json and certificate.json name different numbers of inputs": (
            about.for_inputs == inputs
        ),
    }
    wrong = [reason for reason, holds in claims.items() if not holds]
    if proof.proved and wrong:
        proof = replace(proof, verdict="undecided", reason=wrong[0])
    record_verified(folder, f"{proof} ({proof.checked})")
    return proof
