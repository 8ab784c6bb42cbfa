"""Random programs of the trace language as text, with random inputs; syntax-directed.

They share no code with the package, and do not avoid errors: some pop from empty lists, index out
of range, read unbound variables or do not end, on which the tracers must agree too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class RandomSource:
    """A random program and its inputs, for some options of the language."""

    rng: random.Random
    depth: int = 1
    else_blocks: bool = False
    data_loops: bool = False
    addend: int = 1
    literal: int = 9
    trips: int = 4
    multiplication: bool = False
    variable_index: bool = False
    comments: bool = False
    careless: float = 0.1  # the share of operands that may be unbound
    rows: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = self.rng
        letters = rng.sample(LETTERS, rng.randint(2, 6))
        self.integers = letters[: rng.randint(1, len(letters))]
        self.locals = letters
        self.booleans = [f"cond_{letter}" for letter in rng.sample(LETTERS, rng.randint(1, 4))]
        inputs = self.booleans[: rng.randint(0, len(self.booleans))]
        self.lists = [f"lst_{letter}" for letter in rng.sample(LETTERS, rng.randint(1, 3))]
        self.parameters = [*self.integers, *inputs, *self.lists]
        rng.shuffle(self.parameters)
        self.known = set(self.parameters)

    @property
    def options(self) -> dict[str, Any]:
        names = ["depth", "else_blocks", "data_loops", "addend", "literal", "trips"]
        names += ["multiplication", "variable_index", "comments"]
        return {name: getattr(self, name) for name in names}

    def source(self, statements: int) -> str:
        self.rows = [f"def f({','.join(self.parameters)}):"]
        self.block(1, statements, 0, 0)
        self.rows.append("\treturn")
        return "\n".join(self.rows) + "\n"

    def inputs(self) -> dict[str, Any]:
        rng = self.rng
        result: dict[str, Any] = {}
        for name in self.parameters:
            if name.startswith("cond_"):
                result[name] = rng.random() < 0.5
            elif name.startswith("lst_"):
                result[name] = [rng.randint(-3, 9) for _ in range(rng.randint(0, 6))]
            else:
                result[name] = rng.randint(-3, 9)
        return result

    def row(self, indent: int, text: str) -> None:
        self.rows.append("\t" * indent + text)

    def block(self, indent: int, statements: int, depth: int, loops: int) -> None:
        for _ in range(statements):
            self.statement(indent, depth, loops)

    def statement(self, indent: int, depth: int, loops: int) -> None:
        rng = self.rng
        kinds = ["integer"] * 4 + ["boolean"] * 2 + ["append"] * 2 + ["pop", "if", "if", "loop"]
        kinds += ["data"] * self.data_loops + ["comment"] * self.comments
        kind = rng.choice(kinds)
        if kind in ("if", "loop", "data") and depth < self.depth:
            getattr(self, f"{kind}_statement")(indent, depth, loops)
        elif kind == "comment":
            self.row(indent, "#" * rng.randint(1, 5))
        elif kind == "boolean":
            target = rng.choice(self.booleans)
            self.row(indent, f"{target} = {self.test()}")
            self.known.add(target)
        elif kind == "append":
            self.row(indent, f"{rng.choice(self.lists)}.append({self.operand()})")
        elif kind == "pop":
            self.row(indent, f"{rng.choice(self.lists)}.pop()")
        else:
            expression = self.expression()
            target = rng.choice(self.locals)
            self.row(indent, f"{target} = {expression}")
            self.known.add(target)

    def variable(self) -> str:
        """An integer variable that is bound on some path, or carelessly any that is assigned."""
        known = [name for name in self.locals if name in self.known]
        return self.rng.choice(known)

    def operand(self) -> str:
        rng = self.rng
        return self.variable() if rng.random() < 0.6 else str(rng.randint(0, self.literal))

    def expression(self) -> str:
        rng = self.rng
        kinds = ["operand", "sum", "sum", "item", "len"]
        kinds += ["product"] * self.multiplication + ["variable"] * self.variable_index
        kind = rng.choice(kinds)
        if kind == "sum":
            return f"{self.variable()} {rng.choice('+-')} {rng.randint(1, self.addend)}"
        if kind == "item":
            return f"{rng.choice(self.lists)}[{rng.randint(0, min(3, self.literal))}]"
        if kind == "len":
            return f"len({rng.choice(self.lists)})"
        if kind == "product":
            return f"{self.variable()} * {self.operand()}"
        if kind == "variable":
            return f"{rng.choice(self.lists)}[{self.variable()}]"
        return self.operand()

    def test(self) -> str:
        return f"{self.variable()} {self.rng.choice(['==', '!='])} {self.operand()}"

    def condition(self) -> str:
        known = [name for name in self.booleans if name in self.known]
        return self.rng.choice(known) if known else ""

    def if_statement(self, indent: int, depth: int, loops: int) -> None:
        rng = self.rng
        condition = self.condition()
        if not condition:
            condition = self.booleans[0]
            self.row(indent, f"{condition} = {self.test()}")
            self.known.add(condition)
        before = set(self.known)
        self.row(indent, f"if {condition}:")
        self.filled(indent + 1, depth + 1, loops)
        if rng.random() >= self.careless:
            self.known = set(before)
        if self.else_blocks and rng.random() < 0.5:
            self.row(indent, "else:")
            self.filled(indent + 1, depth + 1, loops)
            if rng.random() >= self.careless:
                self.known = before

    def filled(self, indent: int, depth: int, loops: int) -> None:
        """A block with at least one statement that is executed."""
        start = len(self.rows)
        while all(row.lstrip("\t").startswith("#") for row in self.rows[start:]):
            self.block(indent, self.rng.randint(1, 3), depth, loops)

    def loop_statement(self, indent: int, depth: int, loops: int) -> None:
        rng = self.rng
        counter = "cnt" if loops == 0 else f"cnt_{loops + 1}"
        condition = rng.choice(self.booleans)
        test = f"{condition} = {counter} != {rng.randint(0, self.trips)}"
        self.row(indent, f"{counter} = 0")
        self.row(indent, test)
        self.row(indent, f"while {condition}:")
        self.known.add(condition)
        before = set(self.known)
        self.block(indent + 1, rng.randint(0, 3), depth + 1, loops + 1)
        if rng.random() >= self.careless:
            self.known = before
        self.row(indent + 1, f"{counter} = {counter} + 1")
        self.row(indent + 1, test)

    def data_statement(self, indent: int, depth: int, loops: int) -> None:
        rng = self.rng
        condition = rng.choice(self.booleans)
        test = f"{condition} = {self.test()}"
        self.row(indent, test)
        self.row(indent, f"while {condition}:")
        self.known.add(condition)
        before = set(self.known)
        self.block(indent + 1, rng.randint(0, 3), depth + 1, loops)
        if rng.random() >= self.careless:
            self.known = before
        self.row(indent + 1, test)


def random_source(seed: int) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The source, the inputs and the options of a program; every other one has richer options."""
    rng = random.Random(seed)
    options: dict[str, Any] = {}
    if seed % 2:
        options = {
            "depth": rng.randint(1, 4),
            "else_blocks": rng.random() < 0.5,
            "data_loops": rng.random() < 0.5,
            "addend": rng.choice([1, 3, 12]),
            "literal": rng.choice([9, 25]),
            "multiplication": rng.random() < 0.5,
            "variable_index": rng.random() < 0.5,
            "comments": rng.random() < 0.3,
        }
    writer = RandomSource(rng, **options)
    source = writer.source(rng.randint(1, 14))
    return source, writer.inputs(), writer.options
