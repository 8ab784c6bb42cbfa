"""Compiled models on disk: weights, config, and a card that people can read.

A folder with `model.safetensors`, `config.json`, `certificate.json` (what the compiler relied on,
for the verifier) and `card.md`, written as a whole or not at all. Nothing is ever unpickled, and
loading needs no source of the program.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from weft.compiler.build import Compiled
from weft.compiler.certificate import Certificate, certificate_from_dict
from weft.config import frozen, require
from weft.errors import WeftError
from weft.files import named, output_folder, read_json
from weft.language.source import source_hash
from weft.language.vocabulary import Vocabulary
from weft.models.config import config_from_dict
from weft.models.files import AGAIN, check_layout, check_weights
from weft.models.slots import layout_from_list
from weft.models.transformer import Transformer
from weft.version import VERSION

FORMAT = 2
WEIGHTS = "model.safetensors"
LONGEST = 1_000_000
"""The longest input that a stored model may claim to be made for."""
DESCRIPTION = {
    "program": dict[str, Any],
    "level": int,
    "max_length": int | None,
    "for_inputs": int | None,
    "config": dict[str, Any],
    "layout": tuple[dict[str, Any], ...],
}
"""What `config.json` has to hold, by type."""
TOKEN = str | int | float | bool | tuple[str | int | float | bool, ...]
PROGRAM = {"name": str, "found_as": str, "source_hash": str, "tokens": tuple[TOKEN, ...] | None}


def save(compiled: Compiled, folder: str | Path, *, name: str = "") -> None:
    """Write a compiled model to a folder, which is replaced if it holds one already.

    Args:
        compiled: what to write.
        folder: where to.
        name: how to find the program again (a library name, or path/file.py:Class).
    """
    target = Path(folder)
    output_folder(target, holds="model", marker=WEIGHTS)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        tensors = {k: v.contiguous() for k, v in compiled.model.state_dict().items()}
        save_file(tensors, scratch / WEIGHTS)
        description = describe(compiled, name)
        (scratch / "config.json").write_text(json.dumps(description, indent=1) + "\n")
        stated = json.dumps(compiled.certificate.as_dict())
        (scratch / "certificate.json").write_text(stated + "\n")
        (scratch / "card.md").write_text(card(compiled, description))
        scratch.chmod(0o755)
        _swap(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _swap(scratch: Path, target: Path) -> None:
    """Put a finished folder in the place of another."""
    if not target.exists():
        os.replace(scratch, target)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    os.replace(target, old / "model")
    os.replace(scratch, target)
    shutil.rmtree(old)


def describe(compiled: Compiled, name: str) -> dict[str, Any]:
    """All that is written beside the weights."""
    vocabulary = compiled.program.vocabulary
    return {
        "format": FORMAT,
        "weft": VERSION,
        "program": {
            "name": compiled.program.name,
            "found_as": name,
            "source_hash": source_hash(compiled.program),
            "tokens": None if vocabulary.names is None else list(vocabulary.names),
        },
        "level": compiled.level,
        "max_length": compiled.max_length,
        "for_inputs": compiled.for_inputs,
        "sizes": compiled.sizes(),
        "passes": [list(note) for note in compiled.notes],
        "config": compiled.model.config.as_dict(),
        "layout": compiled.model.layout.as_list(),
        "verified": None,
    }


def card(compiled: Compiled, description: dict[str, Any]) -> str:
    """A page about the model."""
    sizes = compiled.sizes()
    length = sizes["max_length"] or "any"
    lines = [
        f"# {compiled.program.name}, compiled",
        "",
        inspect.cleandoc(type(compiled.program).__doc__ or ""),
        "",
        "| | |",
        "|---|---|",
        f"| level | {compiled.level} |",
        f"| rules | {sizes['rules']:,} |",
        f"| hidden units | {sizes['hidden_units']:,} ({' + '.join(map(str, sizes['hidden']))}) |",
        f"| stream | {sizes['d_model']} dimensions |",
        f"| heads | {sizes['heads']} |",
        f"| parameters | {sizes['parameters']:,} |",
        f"| number format | {compiled.model.config.dtype} |",
        f"| longest input | {length} |",
        *([f"| made for | {compiled.for_inputs:,} inputs alone |"] if compiled.for_inputs else []),
        f"| source hash | {description['program']['source_hash'][:16]} |",
        "",
        "## Stream",
        "",
        "| variable | dimensions | kind |",
        "|---|---|---|",
    ]
    for slot in compiled.model.layout.values():
        kind = f"{slot.kind}, head" if slot.is_head else slot.kind
        lines.append(f"| {slot.name} | {slot.start}..{slot.start + slot.size - 1} | {kind} |")
    lines += ["", "## Passes", "", *(f"- {name}: {what}" for name, what in compiled.notes)]
    lines += ["", "## Verified", "", NOT_VERIFIED, ""]
    return "\n".join(lines)


NOT_VERIFIED = "Nothing yet; `weft prove` and `weft check` say."


def record_verified(folder: Path, what: str) -> None:
    """Write on the card what was shown of a model."""
    description = {**read_description(folder), "verified": what}
    try:
        page = (folder / "card.md").read_text()
    except (OSError, UnicodeDecodeError):  # lost, or no text: begin another
        page = f"# {description['program']['name']}, compiled\n\n"
    start = page.find("## Verified")
    kept = page if start < 0 else page[:start]
    _replace_file(folder / "card.md", f"{kept}## Verified\n\n{what}\n")
    _replace_file(folder / "config.json", json.dumps(description, indent=1) + "\n")


def _replace_file(path: Path, text: str) -> None:
    if path.is_dir():
        raise WeftError(f"{path} is a folder, not a file", remedy=AGAIN)
    scratch = path.with_name(f".{path.name}.new")
    scratch.write_text(text)
    os.replace(scratch, path)


def load(folder: str | Path) -> Transformer:
    """The model in a folder that `weft compile` wrote. Needs no source of the program.

    Example:
        >>> import tempfile, weft
        >>> folder = tempfile.mkdtemp() + "/parity"
        >>> weft.save(weft.compile(weft.program("parity")), folder)
        >>> weft.load(folder).layout["parity"].dimensions
        slice(0, 2, None)
    """
    path = Path(folder)
    description = read_description(path)
    with named(path / "config.json", AGAIN):
        config = config_from_dict(description["config"])
        layout = layout_from_list(description["layout"])
        check_layout(layout, config)
        names = frozen(description["program"]["tokens"])
        if names is not None and len(set(names)) != config.vocabulary:
            raise WeftError(f"{len(names)} tokens are listed, and {config.vocabulary} embedded")
    check_weights(path / WEIGHTS, config)
    vocabulary = Vocabulary(names=names, size=config.vocabulary)
    model = Transformer(config, layout, vocabulary=vocabulary)
    model.load_state_dict(load_file(path / WEIGHTS))
    model.requires_grad_(False)
    return model.eval()


def read_description(path: Path) -> dict[str, Any]:
    """What `config.json` says."""
    file, remedy = path / "config.json", "Give a folder that `weft compile` wrote"
    if not path.is_dir():
        what = f"{path} is a file" if path.exists() else f"there is no folder {path}"
        raise WeftError(what, remedy=remedy)
    if not file.exists():
        raise WeftError(f"{path} holds no model: config.json is missing", remedy=remedy)
    description: dict[str, Any] = read_json(file, AGAIN)
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise WeftError(f"{file} is not a model of this version of Weft", remedy=AGAIN)
    require(description, DESCRIPTION, str(file), AGAIN)
    require(description["program"], PROGRAM, f"{file}: 'program'", AGAIN)
    length = description["max_length"]
    if length is not None and not 0 <= length <= LONGEST:
        raise WeftError(f"{file}: 'max_length' is {length}", remedy=AGAIN)
    return description


def read_certificate(path: Path) -> Certificate:
    """What the compiler relied on, from `certificate.json`."""
    file = path / "certificate.json"
    try:
        return certificate_from_dict(read_json(file, AGAIN))
    except ValueError as error:
        if isinstance(error, WeftError):
            raise
        raise WeftError(f"{file} is damaged: {error}", remedy=AGAIN) from None
