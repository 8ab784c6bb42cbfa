"""Two-level minimisation over many-valued variables.

A cube allows a set of values for each of some variables. The paths of a decision diagram are cubes
that do not overlap; cubes that differ in one variable only are merged, and still do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Cube = dict[str, frozenset[Any]]


def minimise(cubes: Iterable[Cube]) -> list[Cube]:
    """Fewer cubes that cover the same states, each state once."""
    left = list(cubes)
    names = sorted({name for cube in left for name in cube})
    while True:
        before = len(left)
        for name in names:
            left = _merged(left, name)
        if len(left) == before:
            return left


def _merged(cubes: list[Cube], name: str) -> list[Cube]:
    """Merge cubes that differ only in this variable."""
    groups: dict[Any, Cube] = {}
    for cube in cubes:
        others = frozenset((other, values) for other, values in cube.items() if other != name)
        key = (others, name in cube)
        if key in groups and name in cube:
            groups[key] = {**cube, name: groups[key][name] | cube[name]}
        else:
            groups[key] = cube
    return list(groups.values())
