"""Small random programs that run without errors in a memory, for samples of the trace machine.

The sampler of the task steers sizes and is fast; this one fits programs to any memory, however
small, by drawing until one runs.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from weft.errors import WeftError
from weft.programs.ptg.memory import Memory
from weft.ptg.interpreter import run
from weft.ptg.language import (
    BOOLEANS,
    INTEGERS,
    LISTS,
    Append,
    Assign,
    Compare,
    Comparison,
    CountedLoop,
    DataLoop,
    If,
    Item,
    Length,
    Limits,
    Pop,
    Program,
    Statement,
    Sum,
    Value,
)
from weft.ptg.lines import TRACED, lines_of

ATTEMPTS = 200
STEPS = 60
"""The longest trace."""


def random_run(
    rng: random.Random, memory: Memory, lines: int, steps: int = STEPS
) -> tuple[Program, dict[str, Value]]:
    """A program of at most so many executed lines, with inputs on which it runs."""
    limits = Limits(steps=steps, list_length=memory.capacity, value=max(9, memory.values))
    for _ in range(ATTEMPTS):
        program, inputs = _Draw(rng, memory, lines).run()
        executed = sum(line.kind in TRACED for line in lines_of(program))
        if executed > lines:
            continue
        try:
            run(program, inputs, limits)
        except WeftError:
            continue
        return program, inputs
    return Program((), ()), {}


class _Draw:
    """One program; all its variables are parameters."""

    def __init__(self, rng: random.Random, memory: Memory, lines: int) -> None:
        self.rng, self.memory, self.left = rng, memory, lines - 1
        self.integers = INTEGERS[: memory.integers]
        self.booleans = BOOLEANS[: memory.booleans]
        self.lists = LISTS[: memory.lists]

    def run(self) -> tuple[Program, dict[str, Value]]:
        rng, memory = self.rng, self.memory
        digits = range(min(9, memory.values) + 1)
        inputs: dict[str, Value] = {name: rng.choice(digits) for name in self.integers}
        inputs.update((name, rng.random() < 0.5) for name in self.booleans)
        for name in self.lists:
            inputs[name] = tuple(rng.choices(digits, k=rng.randint(0, memory.capacity)))
        wanted = rng.randint(0, self.left)
        self.left = wanted
        body = []
        while self.left > 0:
            body.append(self.statement())
        return Program(tuple(inputs), tuple(body)), inputs

    def statement(self) -> Statement:
        """A statement; blocks need room and a Boolean."""
        room = self.left if self.booleans else 0
        if room >= 6 and self.memory.counters and self.rng.random() < 0.3:
            self.left -= 5
            trips = self.rng.randint(0, min(4, self.memory.constants))
            return CountedLoop(self.boolean(), trips, self.body())
        if room >= 5 and self.integers and self.rng.random() < 0.1:
            self.left -= 3
            comparison = self.comparison()
            return DataLoop(self.boolean(), comparison, self.body())
        if room >= 2 and self.rng.random() < 0.3:
            self.left -= 1
            condition, body = self.boolean(), self.body()
            return If(condition, body, self.body() if self.left and self.rng.random() < 0.3 else ())
        return self.simple()

    def body(self) -> tuple[Statement, ...]:
        """One to three simple statements."""
        count = self.rng.randint(1, max(1, min(3, self.left)))
        return tuple(self.simple() for _ in range(count))

    def simple(self) -> Statement:
        """An assignment, a comparison or a change of a list."""
        self.left -= 1
        rng, kinds = self.rng, list[Callable[[], Statement]]()
        if self.integers:
            kinds += [lambda: Assign(rng.choice(self.integers), self.expression())] * 2
        if self.integers and self.booleans:
            kinds.append(lambda: Compare(self.boolean(), self.comparison()))
        if self.lists:
            kinds.append(lambda: Append(rng.choice(self.lists), self.operand()))
            kinds.append(lambda: Pop(rng.choice(self.lists)))
        return rng.choice(kinds)()

    def expression(self) -> int | str | Sum | Item | Length:
        """What is assigned to an integer."""
        rng = self.rng
        kind = rng.randrange(4 if self.lists else 2)
        if kind == 0:
            return self.operand()
        if kind == 1:
            return Sum(rng.choice(self.integers), "+" if rng.random() < 0.5 else "-", 1)
        name = rng.choice(self.lists)
        return Length(name) if kind == 2 else Item(name, rng.randrange(self.memory.capacity))

    def comparison(self) -> Comparison:
        """A comparison of an integer variable."""
        operator = "==" if self.rng.random() < 0.5 else "!="
        return Comparison(self.rng.choice(self.integers), operator, self.operand())  # type: ignore[arg-type]

    def operand(self) -> int | str:
        """A variable or a number."""
        if self.integers and self.rng.random() < 0.5:
            return self.rng.choice(self.integers)
        return self.rng.randint(0, self.memory.constants)

    def boolean(self) -> str:
        """A Boolean variable."""
        return self.rng.choice(self.booleans)
