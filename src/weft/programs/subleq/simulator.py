"""A plain SUBLEQ machine: the specification of the program `subleq`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import weft


@dataclass(frozen=True)
class Execution:
    """The execution of a machine that has halted.

    Attributes:
        memory: its cells at the end.
        instructions: the number of instructions executed.
        layers: the number of layers that the program `subleq` takes for it: three per instruction,
            and one more if a negative address halted it, rather than a jump to one.
        low: the smallest number that a cell ever held.
        high: the largest.
    """

    memory: tuple[int, ...]
    instructions: int
    layers: int
    low: int
    high: int


class MachineError(weft.WeftError):
    """A machine failed; `cell` is the address of its last instruction."""

    def __init__(self, what: str, cell: int, remedy: str) -> None:
        super().__init__(what, remedy=remedy)
        self.cell = cell


def execute(
    memory: Sequence[int], *, low: int | None = None, high: int | None = None, most: int = 1000
) -> Execution:
    """Run a machine until it halts.

    Args:
        memory: a number for each cell. It begins at cell 0.
        low: the smallest number that a cell can hold; None for any.
        high: the largest; None for any.
        most: how many instructions it may take.
    """
    cells = list(memory)
    for address, value in enumerate(cells):
        _check_range(value, low, high, f"cell {address} holds {value}", address)
    lowest, highest = min(cells, default=0), max(cells, default=0)
    at = last = 0
    for count in range(most + 1):
        if at + 2 >= len(cells):
            raise _outside(f"instruction {count + 1} would be at cell {at}", cells, last)
        a, b, c = cells[at : at + 3]
        if a < 0 or b < 0:
            return Execution(tuple(cells), count, 3 * count + 1, lowest, highest)
        here = f"instruction {count + 1}, {a} {b} {c} at cell {at}"
        if max(a, b) >= len(cells):
            raise _outside(f"{here}, uses cell {max(a, b)}", cells, at)
        difference = cells[b] - cells[a]
        what = f"{here}: {cells[b]} - {cells[a]} is {difference}"
        _check_range(difference, low, high, what, at)
        cells[b] = difference
        lowest, highest = min(lowest, difference), max(highest, difference)
        if difference <= 0 and c < 0:
            return Execution(tuple(cells), count + 1, 3 * (count + 1), lowest, highest)
        last, at = at, (c if difference <= 0 else at + 3)
    raise MachineError(
        f"the machine has not halted after {most:,} instructions",
        last,
        "It halts when it jumps to a negative address; or allow more instructions",
    )


def _outside(what: str, cells: list[int], at: int) -> MachineError:
    remedy = "Correct the address, or add cells"
    return MachineError(f"{what}; the memory has {len(cells)} cells", at, remedy)


def _check_range(value: int, low: int | None, high: int | None, what: str, at: int) -> None:
    if low is not None and value < low:
        raise MachineError(f"{what}, less than {low}", at, "Give a smaller `low`")
    if high is not None and value > high:
        raise MachineError(f"{what}, more than {high}", at, "Give a larger `high`")
