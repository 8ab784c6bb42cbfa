"""SCAN's splits into training and test: derived from the grammar, or read from published files.

The splits by length and by a new primitive (Lake and Baroni, 2018) are derived from the grammar.
The simple split and those of maximum compound divergence, MCD 1 to 3 (Keysers et al., 2020), are
random; they are read from the published files, gzipped or not.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from weft.errors import WeftError
from weft.programs.scan.grammar import Actions, meanings


@dataclass(frozen=True)
class ScanSplit:
    """Commands for training, test and development; `dev` may be empty."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    dev: tuple[str, ...] = ()


def length_split(longest: int = 22) -> ScanSplit:
    """Train on commands of at most `longest` actions, test on all others.

    Example:
        >>> split = length_split()
        >>> len(split.train), len(split.test)
        (16990, 3920)
    """
    short = [command for command, actions in meanings().items() if len(actions) <= longest]
    return ScanSplit(tuple(short), _others(short))


def primitive_split(primitive: str) -> ScanSplit:
    """Train on all commands without a primitive and on the primitive alone; test on all others.

    The published primitives are `jump` and `turn left`. In training, each is repeated until
    it makes up a tenth of the examples, as in the published files.

    Example:
        >>> split = primitive_split("jump")
        >>> len(split.train), len(split.test)
        (14670, 7706)
    """
    if primitive not in meanings("PHRASE"):
        raise WeftError(
            f"'{primitive}' is not a primitive of SCAN", remedy="Give a phrase, as in `turn left`"
        )
    without = [text for text in meanings() if f" {primitive} " not in f" {text} "]
    repeated = [primitive] * (len(without) // 9)
    return ScanSplit((*repeated, *without), _others([primitive, *without]))


def _others(train: Iterable[str]) -> tuple[str, ...]:
    known = set(train)
    return tuple(command for command in meanings() if command not in known)


def read_split(train: str | Path, test: str | Path) -> ScanSplit:
    """A split from two published files of examples, such as the simple one."""
    first, second = ([command for command, _ in read_examples(path)] for path in (train, test))
    return ScanSplit(tuple(first), tuple(second))


def mcd_split(indices: str | Path, examples: str | Path) -> ScanSplit:
    """An MCD split from its index file: line numbers of the file of all examples, from 0."""
    commands = [command for command, _ in read_examples(examples)]
    text = _text(indices)
    try:
        listed = json.loads(text)
        chosen = [
            tuple(commands[place] for place in listed[name])
            for name in ("trainIdxs", "testIdxs", "devIdxs")
        ]
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise WeftError(
            f"{indices} does not list lines of {examples}: {type(error).__name__}: {error}",
            remedy="Give a published index file, as mcd1.json, and SCAN's tasks.txt",
        ) from None
    return ScanSplit(*chosen)


def read_examples(path: str | Path) -> list[tuple[str, Actions]]:
    """The examples of a file of SCAN, whose lines are `IN: jump twice OUT: I_JUMP I_JUMP`."""
    result = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        command, separator, actions = line.removeprefix("IN: ").partition(" OUT: ")
        if not (separator and line.startswith("IN: ")):
            raise WeftError(
                f"{path}, line {number} is not an example of SCAN: {line!r}",
                remedy="Give one of the published files, with lines `IN: ... OUT: ...`",
            )
        result.append((command, tuple(actions.split())))
    return result


def _text(path: str | Path) -> str:
    """The text of a file, or of the gzipped file of the same name with .gz."""
    for candidate in (Path(path), Path(f"{path}.gz")):
        if candidate.is_file():
            data = candidate.read_bytes()
            packed = candidate.suffix == ".gz"
            return (gzip.decompress(data) if packed else data).decode("utf-8")
    raise WeftError(
        f"there is no file {path}, nor {path}.gz",
        remedy="Give the path of a published file, gzipped or not",
    )
