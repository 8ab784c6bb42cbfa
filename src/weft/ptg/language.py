"""The language of program traces: options, names, grammar and syntax tree.

A program is one Python function over integers, Booleans and lists of integers. The default options
give the restrictions of Sun (2025), a subset of L0-Bench: blocks are one level deep, numbers change
by one, comparisons are `==` and `!=`, lists are indexed by a literal, and loops count. Each option
lifts one restriction.

    Language    which statements are allowed
    Limits      how long a run, a list and a number may get
    Program     the syntax tree
    GRAMMAR     the concrete syntax, rule by rule

Papers: docs/references.md#program-traces, docs/references.md#l0-bench.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from weft.config import check_bounds, check_types

# Names and values

INTEGERS = tuple(string.ascii_lowercase)
"""Names of integer variables, a to z."""
BOOLEANS = tuple(f"cond_{letter}" for letter in string.ascii_lowercase)
"""Names of Boolean variables, cond_a to cond_z."""
LISTS = tuple(f"lst_{letter}" for letter in string.ascii_lowercase)
"""Names of lists of integers, lst_a to lst_z."""
MAX_DEPTH = 9
"""The largest depth of blocks that an option may allow."""
COUNTERS = ("cnt", *(f"cnt_{depth}" for depth in range(2, MAX_DEPTH + 1)))
"""Names of loop counters, by the number of counted loops around a loop."""

Kind: TypeAlias = Literal["integer", "Boolean", "list", "counter"]
Value: TypeAlias = int | bool | tuple[int, ...]
"""A value of a variable. Lists are tuples, so that no two variables share one."""
Inputs: TypeAlias = Mapping[str, Value]
"""Arguments by parameter."""

KINDS: dict[str, Kind] = {
    **dict.fromkeys(INTEGERS, "integer"),
    **dict.fromkeys(BOOLEANS, "Boolean"),
    **dict.fromkeys(LISTS, "list"),
    **dict.fromkeys(COUNTERS, "counter"),
}
"""The kind of every name of the language."""


def shown(value: Value) -> str:
    """A value as programs, calls and traces write it: lists have no spaces.

    Example:
        >>> shown((1, -2)), shown(True), shown(-3)
        ('[1,-2]', 'True', '-3')
    """
    if isinstance(value, tuple | list):
        return f"[{','.join(map(str, value))}]"
    return str(value)


# Options


@dataclass(frozen=True)
class Language:
    """Which programs are allowed; the defaults are the restrictions of Sun (2025).

    Attributes:
        depth: how deep blocks may be nested; `if`, `else` and `while` each add one level.
        else_blocks: whether an `if` may have an `else`.
        data_loops: whether a loop may test program variables instead of its counter. Such a loop
            may run forever, so the step limit matters.
        addend: the largest number that may be added or subtracted.
        literal: the largest number elsewhere: in assignments, comparisons, indices and appends.
        trips: the largest number of iterations that a counted loop may be written with.
        multiplication: whether `a = b * c` and `a = b * 3` are allowed.
        variable_index: whether `a = lst_a[b]` is allowed.
        comments: whether lines that hold only `#` signs are allowed. They have a line number and
            are never executed, so they lengthen a document without changing its trace.
    """

    depth: int = 1
    else_blocks: bool = False
    data_loops: bool = False
    addend: int = 1
    literal: int = 9
    trips: int = 99
    multiplication: bool = False
    variable_index: bool = False
    comments: bool = False

    def __post_init__(self) -> None:
        check_types(self, "language")
        bounds = {
            "depth": (1, MAX_DEPTH),
            "addend": (1, 9999),
            "literal": (1, 9999),
            "trips": (1, 9999),
        }
        check_bounds(self, bounds, "language")


PAPER = Language()
"""The restrictions of Sun (2025), the default."""
RICH = Language(
    depth=MAX_DEPTH,
    else_blocks=True,
    data_loops=True,
    addend=9999,
    literal=9999,
    trips=9999,
    multiplication=True,
    variable_index=True,
    comments=True,
)
"""Everything that the options can allow."""


@dataclass(frozen=True)
class Limits:
    """Bounds of a run. A run that exceeds one is an error; traces are never truncated.

    Attributes:
        steps: the largest number of trace lines.
        list_length: the largest length of a list, in the inputs and after every append.
        value: the largest absolute value of an integer.
    """

    steps: int = 10_000
    list_length: int = 64
    value: int = 999_999

    def __post_init__(self) -> None:
        check_types(self, "limits")
        bounds = {"steps": (1, 1_000_000), "list_length": (0, 10_000), "value": (9, 10**15)}
        check_bounds(self, bounds, "limits")


# The syntax tree

Operand: TypeAlias = int | str
"""A number, or the name of an integer variable."""


@dataclass(frozen=True, slots=True)
class Sum:
    """`left + right` or `left - right`, where `right` is a number."""

    left: str
    sign: Literal["+", "-"]
    right: int


@dataclass(frozen=True, slots=True)
class Product:
    """`left * right`."""

    left: str
    right: Operand


@dataclass(frozen=True, slots=True)
class Item:
    """`name[index]`."""

    name: str
    index: Operand


@dataclass(frozen=True, slots=True)
class Length:
    """`len(name)`."""

    name: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left == right` or `left != right`."""

    left: str
    operator: Literal["==", "!="]
    right: Operand


Expression: TypeAlias = int | str | Sum | Product | Item | Length


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = expression`, an integer."""

    target: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Compare:
    """`target = comparison`, a Boolean."""

    target: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Append:
    """`name.append(operand)`."""

    name: str
    operand: Operand


@dataclass(frozen=True, slots=True)
class Pop:
    """`name.pop()`."""

    name: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A line of `length` signs `#`, which is never executed."""

    length: int


@dataclass(frozen=True, slots=True)
class If:
    """`if condition:` with a body, and an `else` unless `otherwise` is empty."""

    condition: str
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class CountedLoop:
    """A loop that runs `trips` times.

    It is six lines or more: the counter starts at 0, the condition is set, the header, the body,
    the counter steps by 1, the condition is set again. The counter's name follows from the number
    of counted loops around this one: `cnt`, `cnt_2`, `cnt_3` and so on.
    """

    condition: str
    trips: int
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class DataLoop:
    """A loop that runs while a comparison of program variables holds.

    The condition is set before the header and again at the end of the body.
    """

    condition: str
    comparison: Comparison
    body: tuple[Statement, ...]


Statement: TypeAlias = Assign | Compare | Append | Pop | Comment | If | CountedLoop | DataLoop


@dataclass(frozen=True, slots=True)
class Program:
    """The function `f`: its parameters and its body, before the final `return`."""

    parameters: tuple[str, ...]
    body: tuple[Statement, ...]


# Concrete syntax

GRAMMAR = {
    "program": '"def f(" [ name { "," name } ] "):" NEWLINE { statement } TAB "return"',
    "name": "integer | boolean | list",
    "statement": "assignment | comparison | append | pop | if | loop | comment",
    "assignment": 'integer " = " expression NEWLINE',
    "expression": 'operand | sum | item | "len(" list ")" | product',
    "sum": 'integer ( " + " | " - " ) number',
    "product": 'integer " * " operand',
    "item": 'list "[" operand "]"',
    "comparison": 'boolean " = " integer ( " == " | " != " ) operand NEWLINE',
    "append": 'list ".append(" operand ")" NEWLINE',
    "pop": 'list ".pop()" NEWLINE',
    "if": '"if " boolean ":" NEWLINE block [ "else:" NEWLINE block ]',
    "loop": "counted_loop | data_loop",
    "counted_loop": (
        'counter " = 0" NEWLINE'
        ' boolean " = " counter " != " number NEWLINE'
        ' "while " boolean ":" NEWLINE { statement }'
        ' counter " = " counter " + 1" NEWLINE'
        ' boolean " = " counter " != " number NEWLINE'
    ),
    "data_loop": 'comparison "while " boolean ":" NEWLINE { statement } comparison',
    "block": "statement { statement }, one TAB deeper",
    "comment": '"#" { "#" } NEWLINE',
    "operand": "integer | number",
    "integer": '"a" to "z"',
    "boolean": '"cond_a" to "cond_z"',
    "list": '"lst_a" to "lst_z"',
    "counter": '"cnt", "cnt_2" in a counted loop, "cnt_3" in two counted loops, and so on',
    "number": 'digits "0" to "9", without leading zeros',
}
"""The grammar, by rule. Braces mean any number of times, brackets mean once or not at all.

All spaces are as written, a block is one tab deeper than what it belongs to, and every line ends
in NEWLINE. `operand` in `item` is a number unless `variable_index` is on.
"""

NUMBER = re.compile(r"0|[1-9][0-9]{0,15}")
"""A number in a program. The length bounds what is converted to an integer."""
SIGNED = re.compile(r"0|-?[1-9][0-9]{0,15}")
"""An integer in an input or in a trace; there is no -0."""
