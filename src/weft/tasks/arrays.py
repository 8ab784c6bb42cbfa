"""Dataclasses of arrays with one row per example: select rows, concatenate, pad, reverse.

The letters of shapes: b examples, l positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Rows = TypeVar("Rows")

WIDEST_TABLE = 512


def taken(value: Rows, chosen: Ints | Bools | slice) -> Rows:
    """The chosen rows of every array of a dataclass."""
    return _mapped(lambda arrays: arrays[0][chosen], [value])


def joined(values: Sequence[Rows]) -> Rows:
    """Several dataclasses concatenated row by row; narrower rows are padded with 0."""
    return values[0] if len(values) == 1 else _mapped(_stacked, values)


def _stacked(parts: list[Any]) -> Any:
    widest = max((part.shape[1] for part in parts if part.ndim == 2), default=0)
    return np.concatenate(
        [
            np.pad(part, ((0, 0), (0, widest - part.shape[1])))
            if part.ndim == 2 and part.shape[1] < widest
            else part
            for part in parts
        ]
    )


def _mapped(change: Callable[[list[Any]], Any], values: Sequence[Rows]) -> Rows:
    """Apply a function to each array of several dataclasses, including those in mappings."""
    changed: dict[str, Any] = {}
    for field in fields(values[0]):  # type: ignore[arg-type]
        parts = [getattr(value, field.name) for value in values]
        if isinstance(parts[0], Mapping):
            changed[field.name] = {key: change([part[key] for part in parts]) for key in parts[0]}
        else:
            changed[field.name] = None if parts[0] is None else change(parts)
    return type(values[0])(**changed)


def within(lengths: Ints, width: int) -> Bools:
    """Which of `width` positions lie within each row's length (b l)."""
    if width > WIDEST_TABLE:
        return np.asarray(np.arange(width) < lengths[:, None])
    return _prefixes(width).take(lengths, axis=0, mode="clip")


@lru_cache(maxsize=64)
def _prefixes(width: int) -> Bools:
    """A row for each length up to `width`: looked up several times faster than compared."""
    return np.tri(width + 1, width, -1, dtype=np.bool_)


def turned(values: Ints, lengths: Ints) -> Ints:
    """Each row reversed within its length, with 0 beyond it."""
    width = values.shape[1]
    places = lengths[:, None] - 1 - np.arange(width)
    values = np.take_along_axis(values, np.maximum(places, 0), axis=1)
    return np.where(places >= 0, values, 0)


def placed(width: int, parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Concatenate parts within each row, each with its lengths: the rows and their lengths."""
    values = np.concatenate([values for values, _ in parts], axis=1)
    kept = np.concatenate([within(lengths, part.shape[1]) for part, lengths in parts], axis=1)
    ends = np.sum([lengths for _, lengths in parts], axis=0)
    rows = np.zeros((len(ends), width), dtype=np.int64)
    rows[within(ends, width)] = values[kept]
    return rows, ends


def constant(value: int, size: int) -> tuple[Ints, Ints]:
    """The same single value in each row, as a part for `placed`."""
    return np.full((size, 1), value, dtype=np.int64), np.ones(size, dtype=np.int64)
