"""A plain simulator of the trace machine, and what its cells mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.errors import WeftError
from weft.programs.ptg.memory import FIELDS, UNSET, Memory
from weft.ptg.language import KINDS, Value

EMPTY = 10
"""The last digit of a cell without a value."""
Cells = list[int | None]
"""The value of each cell, if it has one."""


def simulate(memory: Memory, words: Sequence[Any], most: int = 100_000) -> Cells:
    """The cells after a run, of at most `most` lines."""
    cells: Cells = [None if word == UNSET else word for word in words[: memory.cells]]
    code = words[memory.cells :]
    lines = [code[first : first + FIELDS] for first in range(0, len(code), FIELDS)]
    line = 0
    for _ in range(most):
        operation, *addresses, following = lines[line]
        target, left = (int(word[1:]) for word in addresses[:2])
        line = int(following[1:])
        last = int(addresses[2][1:])
        match operation:
            case "return":
                return cells
            case "branch":
                if not cells[left]:
                    line = last
            case "append":
                length = _number(cells, target)
                cells[target + 1 + length] = cells[left]
                cells[target] = length + 1
            case "pop":
                cells[target] = _number(cells, target) - 1
            case "copy":
                cells[target] = cells[left]
            case "plus-one":
                cells[target] = _number(cells, left) + 1
            case "minus-one":
                cells[target] = _number(cells, left) - 1
            case "equal":
                cells[target] = int(cells[left] == cells[last])
            case "differ":
                cells[target] = int(cells[left] != cells[last])
    raise WeftError(f"it has not returned after {most:,} lines", subject="trace-machine")


def _number(cells: Cells, address: int) -> int:
    value = cells[address]
    if value is None:
        raise WeftError(f"cell {address} is read and has no value", subject="trace-machine")
    return value


def cell_of(stream: Mapping[str, Sequence[Any]], address: int) -> int | None:
    """The value of a cell in the machine's stream."""
    sign, tens, ones = (int(stream[part][address]) for part in ("sign", "tens", "ones"))
    return None if ones == EMPTY else (10 * tens + ones) * (1 - 2 * sign)


def value_of(cells: Cells, name: str, address: int) -> Value | None:
    """The value of a variable; None if it has none."""
    value = cells[address]
    if value is None:
        return None
    if KINDS[name] == "list":
        return tuple(item or 0 for item in cells[address + 1 : address + 1 + value])
    return bool(value) if KINDS[name] == "Boolean" else value


def final_state(memory: Memory, cells: Cells) -> dict[str, Any]:
    """The variables that have a value, by canonical name; lists as lists."""
    named = memory.names().items()
    values = {name: value_of(cells, name, address) for name, address in named}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value is not None
    }
