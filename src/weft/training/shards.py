"""Tensors in files of limited size: large checkpoints are written as several safetensors files.

    model.safetensors                     if everything fits into one file
    model-00001-of-00003.safetensors      otherwise, and so on

A tensor that is larger than a file is cut along its first axis into parts, which are stored as
`name#0`, `name#1` and so on. Small files can be copied one by one, and from machines that return
nothing larger.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from weft.errors import WeftError
from weft.files import readable

MAX_BYTES = 16 * 2**20 - 2**16
"""The largest size of a file's tensors; names and shapes come on top."""
SUFFIX = ".safetensors"
SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})")
PART = "#"
Files = dict[str, dict[str, Tensor]]


def save_shards(
    tensors: Mapping[str, Tensor], folder: Path, name: str, max_bytes: int = MAX_BYTES
) -> list[Path]:
    """Write tensors into a folder as one file, or as several of at most `max_bytes` each."""
    shards = list(_shards(tensors, max_bytes)) or [{}]
    paths = []
    for number, shard in enumerate(shards, 1):
        several = f"-{number:05d}-of-{len(shards):05d}" if len(shards) > 1 else ""
        paths.append(folder / f"{name}{several}{SUFFIX}")
        save_file(shard, paths[-1])
    return paths


def load_shards(folder: Path, remedy: str) -> Files:
    """All tensors in a folder, by the name under which they were saved.

    Args:
        folder: the folder.
        remedy: what to do if a file is damaged or missing, for the message.
    """
    files: dict[str, dict[str, Tensor]] = {}
    expected: dict[str, int] = {}
    found: dict[str, int] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        match = SHARD.fullmatch(path.stem)
        name = match[1] if match else path.stem
        expected[name] = int(match[3]) if match else 1
        found[name] = found.get(name, 0) + 1
        with readable(path, remedy, SafetensorError):
            files.setdefault(name, {}).update(load_file(path))
    for name, count in expected.items():
        if found[name] != count:
            what = f"{folder} has {found[name]} of the {count} files of '{name}'"
            raise WeftError(what, remedy=remedy)
    return {name: _joined(tensors) for name, tensors in files.items()}


def shard_files(folder: Path, name: str) -> list[Path]:
    """The files that hold the tensors saved under a name."""
    found = [path for path in folder.glob(f"{name}*{SUFFIX}") if _name(path) == name]
    return sorted(found)


def _name(path: Path) -> str:
    match = SHARD.fullmatch(path.stem)
    return match[1] if match else path.stem


def _shards(tensors: Mapping[str, Tensor], max_bytes: int) -> Iterator[dict[str, Tensor]]:
    """Tensors in their order, as many per file as fit."""
    shard: dict[str, Tensor] = {}
    size = 0
    total = sum(tensor.nbytes for tensor in tensors.values())
    parts = _parts(tensors, max_bytes) if total > max_bytes else tensors.items()
    for name, tensor in parts:
        if shard and size + tensor.nbytes > max_bytes:
            yield shard
            shard, size = {}, 0
        shard[name] = tensor.contiguous()
        size += tensor.nbytes
    if shard:
        yield shard


def _parts(tensors: Mapping[str, Tensor], max_bytes: int) -> Iterable[tuple[str, Tensor]]:
    for name, tensor in tensors.items():
        if tensor.nbytes <= max_bytes or tensor.dim() == 0:
            yield name, tensor
            continue
        rows = max(1, max_bytes * len(tensor) // tensor.nbytes)
        for number, part in enumerate(torch.split(tensor, rows)):
            yield f"{name}{PART}{number}", part.clone()


def _joined(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors with the parts of each put together."""
    whole: dict[str, Tensor] = {}
    parts: dict[str, dict[int, Tensor]] = {}
    for key, tensor in tensors.items():
        name, mark, number = key.rpartition(PART)
        if mark and number.isdecimal():
            parts.setdefault(name, {})[int(number)] = tensor
        else:
            whole[key] = tensor
    for name, pieces in parts.items():
        whole[name] = torch.cat([pieces[number] for number in sorted(pieces)])
    return whole
