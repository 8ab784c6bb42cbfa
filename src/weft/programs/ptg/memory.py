"""The input of the trace machine: a memory with one cell per value, then five words per line.

A line of the language becomes an instruction over addresses of cells. Numbers that a program may
write are cells too, so every operand is an address. Elements of lists have fixed addresses: a list
of at most n elements has n cells behind the cell of its length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from weft.errors import WeftError
from weft.ptg.inputs import check_inputs
from weft.ptg.language import (
    BOOLEANS,
    COUNTERS,
    INTEGERS,
    KINDS,
    LISTS,
    Comparison,
    Item,
    Kind,
    Length,
    Limits,
    Program,
    Sum,
    Value,
)
from weft.ptg.lines import TRACED, Line, lines_of, names_of

OPERATIONS = (
    "copy", "plus-one", "minus-one", "equal", "differ", "append", "pop", "branch", "return",
)  # fmt: skip
COPY, PLUS, MINUS, EQUAL, DIFFER, APPEND, POP, BRANCH, RETURN = range(len(OPERATIONS))
FIELDS = 5
"""Words of an instruction: operation, target, two operands and the next instruction."""
UNSET = "_"
"""The word of a cell without a value."""


@dataclass(frozen=True)
class Memory:
    """How many cells there are of each kind, in this order.

    Attributes:
        integers: cells of integers.
        counters: cells of loop counters.
        booleans: cells of Booleans.
        lists: lists.
        capacity: elements per list, at most.
        constants: the numbers 0 to this, which programs may write.
        instructions: lines that are executed.
        values: the largest absolute value of an integer.
    """

    integers: int
    counters: int
    booleans: int
    lists: int
    capacity: int
    constants: int
    instructions: int
    values: int

    @property
    def first_list(self) -> int:
        """The address of the first list."""
        return self.integers + self.counters + self.booleans

    @property
    def first_constant(self) -> int:
        """The address of the number 0."""
        return self.first_list + self.lists * (1 + self.capacity)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.first_constant + self.constants + 1

    def list_at(self, address: int) -> int:
        """The number of the list, from 1, that a cell belongs to; 0 for none."""
        if not self.first_list <= address < self.first_constant:
            return 0
        return 1 + (address - self.first_list) // (1 + self.capacity)

    def index_at(self, address: int) -> int:
        """The index of a cell in its list; `capacity` for cells that are not elements."""
        within = (address - self.first_list) % (1 + self.capacity)
        return within - 1 if self.list_at(address) and within else self.capacity

    def names(self) -> dict[str, int]:
        """The address of each variable, with canonical names."""
        groups: tuple[tuple[Sequence[str], int, int], ...] = (
            (INTEGERS, self.integers, 1),
            (COUNTERS, self.counters, 1),
            (BOOLEANS, self.booleans, 1),
            (LISTS, self.lists, 1 + self.capacity),
        )
        result: dict[str, int] = {}
        address = 0
        for names, count, size in groups:
            for name in names[:count]:
                result[name] = address
                address += size
        return result

    def words(self) -> list[Any]:
        """All words: values, operations, addresses and instructions to go to."""
        values = range(-self.values, self.values + 1)
        addresses = (f"@{address}" for address in range(self.cells))
        instructions = (f">{number}" for number in range(self.instructions))
        return [UNSET, *values, *OPERATIONS, *addresses, *instructions]


@dataclass(frozen=True)
class Loaded:
    """A program with its inputs in a memory.

    Attributes:
        words: the input of the machine.
        lines: the line of each instruction.
        addresses: the address of each variable.
    """

    words: tuple[Any, ...]
    lines: tuple[Line, ...]
    addresses: Mapping[str, int]


def load(memory: Memory, program: Program, inputs: Mapping[str, Any]) -> Loaded:
    """Lay out a program and its inputs.

    Raises:
        WeftError: if something does not fit, with what it needs.
    """
    limits = Limits(list_length=memory.capacity, value=max(9, memory.values))
    given = check_inputs(program, inputs, limits)
    lines = lines_of(program)
    executed = tuple(line for line in lines if line.kind in TRACED)
    _fits("lines are executed", len(executed), memory.instructions, "lines")
    addresses = _addresses(memory, (*program.parameters, *names_of(lines)))
    cells: list[Any] = [UNSET] * memory.cells
    cells[memory.first_constant :] = range(memory.constants + 1)
    for name, value in given.items():
        _store(cells, addresses[name], value, memory)
    loader = _Loader(memory, addresses, {line.number: at for at, line in enumerate(executed)})
    words = [word for line in executed for word in loader.instruction(line)]
    return Loaded((*cells, *words), executed, addresses)


def check_memory(memory: Memory) -> None:
    """Refuse sizes without meaning, or with more names than there are."""
    names = {"ints": memory.integers, "bools": memory.booleans, "lists": memory.lists}
    for option, count in names.items():
        _between(option, count, 0, len(INTEGERS))
    _between("counters", memory.counters, 0, len(COUNTERS))
    _between("lines", memory.instructions, 1, 9999)
    _between("capacity", memory.capacity, 1, memory.values)
    _between("largest", memory.constants, 0, memory.values)


def _between(option: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise WeftError(
            f"{option} is {value}",
            subject="trace-machine",
            remedy=f"Give a number between {low} and {high}; values have up to `tens` tens",
        )


def _addresses(memory: Memory, names: Sequence[str]) -> dict[str, int]:
    """Cells for variables, those of a kind in the order of the text."""
    free = memory.names()
    cells: dict[Kind, list[str]] = {"integer": [], "Boolean": [], "list": [], "counter": []}
    for name in free:
        cells[KINDS[name]].append(name)
    options = {"integer": "ints", "Boolean": "bools", "list": "lists", "counter": "counters"}
    result: dict[str, int] = {}
    for name in dict.fromkeys(names):
        kind = KINDS[name]
        have = len(cells[kind])
        used = sum(KINDS[other] == kind for other in result)
        at = COUNTERS.index(name) if kind == "counter" else used
        _fits(f"{kind} variables", at + 1, have, options[kind])
        result[name] = free[cells[kind][at]]
    return result


def _store(cells: list[Any], address: int, value: Value, memory: Memory) -> None:
    if isinstance(value, tuple):
        cells[address : address + 1 + len(value)] = [len(value), *value]
        return
    cells[address] = int(value)


@dataclass(frozen=True)
class _Loader:
    memory: Memory
    addresses: Mapping[str, int]
    numbers: Mapping[int, int]  # of instructions, by line

    def instruction(self, line: Line) -> list[str]:
        """The five words of a line."""
        operation, left, right = self.parts(line)
        target = self.addresses.get(line.target, 0)
        following = self.numbers.get(line.next, 0)
        last = f">{self.numbers[line.otherwise]}" if operation == BRANCH else f"@{right}"
        return [OPERATIONS[operation], f"@{target}", f"@{left}", last, f">{following}"]

    def parts(self, line: Line) -> tuple[int, int, int]:
        """The operation of a line and the addresses of its operands."""
        match line.kind, line.expression:
            case "return", _:
                return RETURN, 0, 0
            case "if" | "while", _:
                return BRANCH, self.addresses[line.target], 0
            case "append", int() | str() as operand:
                return APPEND, self.operand(operand), 0
            case "pop", _:
                return POP, 0, 0
            case _, Comparison(name, operator, other):
                operation = EQUAL if operator == "==" else DIFFER
                return operation, self.operand(name), self.operand(other)
            case _, Sum(name, sign, 1):
                return PLUS if sign == "+" else MINUS, self.operand(name), 0
            case _, Sum(name, _, 0):
                return COPY, self.operand(name), 0
            case _, Item(name, int(index)):
                _fits("elements are read of a list", index + 1, self.memory.capacity, "capacity")
                return COPY, self.addresses[name] + 1 + index, 0
            case _, Length(name):
                return COPY, self.addresses[name], 0
            case _, int() | str() as operand:
                return COPY, self.operand(operand), 0
        raise AssertionError(line)

    def operand(self, operand: int | str) -> int:
        if isinstance(operand, str):
            return self.addresses[operand]
        _fits("is written in the program", operand, self.memory.constants, "largest")
        return self.memory.first_constant + operand


def _fits(what: str, needed: int, have: int, option: str) -> None:
    if needed > have:
        raise WeftError(
            f"{needed} {what}, and the machine is made for {have}",
            subject="trace-machine",
            remedy=f"Make it with a larger `{option}`",
        )
