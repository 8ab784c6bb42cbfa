"""The minimal program as a `Program`: some of the rules, and initialisers that know only what was
seen in training (ALTA paper, appendix C.2).

    "We restrict the variable initialization functions of the minimal program to output default
    values for variables outside of this minimal set of observed token IDs and positions."

If no rule holds, a variable keeps its value, so the program answers every input, right or wrong. If
two rules hold and disagree, the step fails. Heads are cleared after every layer, as always.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.language.program import Program, Variable
from weft.language.ranges import Number, Range, Subset, Value
from weft.language.rules import Rule, RuleSet
from weft.language.stream import Stream


@dataclass(frozen=True)
class OnlySeen:
    """An initialiser that returns a default for what was not seen in training."""

    initialise: Callable[[Any], Any]
    seen: Container[Any]
    default: Value

    def __call__(self, given: Any) -> Any:
        return self.initialise(given) if given in self.seen else self.default


def default_value(range_: Range) -> Value:
    """The initial value for an unseen token or position: 0 as in ALTA, or what is nearest to it."""
    if isinstance(range_, Number):
        return range_.nearest(0.0)
    if isinstance(range_, Subset):
        return frozenset() if frozenset() in range_.codes else range_.values[0]
    return range_.values[0]


class MinimalProgram(Program):
    """A program with only some of its rules; `restrict` makes it."""

    original: Program

    @property
    def name(self) -> str:
        """The name of the original program, prefixed with `Minimal`."""
        return f"Minimal{self.original.name}"

    def encode(self, text: str) -> Sequence[Any]:
        return self.original.encode(text)

    def decode(self, stream: Stream) -> Any:
        return self.original.decode(stream)

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        return self.original.sample(rng, length)

    def task(self, tokens: Sequence[Any]) -> Any:
        return self.original.task(tokens)

    @property
    def has_task(self) -> bool:
        """Whether the original program says what it should compute."""
        return self.original.has_task


ATTRIBUTES = ("tokens", "positions", "causal", "stop", "layers", "max_layers")
"""Attributes copied from the original program."""


def restrict(
    original: Program, rules: Iterable[Rule], tokens: Container[int], positions: int
) -> MinimalProgram:
    """The program with these rules, which has seen these tokens and this many positions."""
    numbers = original.vocabulary.numbers
    seen = {name for name, number in numbers.items() if number in tokens} if numbers else tokens
    variables = {
        name: _restricted(variable, seen, range(positions))
        for name, variable in original.variables.items()
    }
    program: MinimalProgram = object.__new__(MinimalProgram)
    given = {word: getattr(original, word) for word in ATTRIBUTES} | {
        "original": original,
        "step_function": None,
        "listed_rules": RuleSet(variables, rules, partial=True),
        "definition": replace(original.definition, variables=variables),
    }
    for word, value in given.items():
        object.__setattr__(program, word, value)
    return program


def _restricted(variable: Variable, tokens: Container[Any], positions: Container[int]) -> Variable:
    default = default_value(variable.range)
    if variable.token is not None:
        return replace(variable, token=OnlySeen(variable.token, tokens, default))
    if variable.position is not None:
        return replace(variable, position=OnlySeen(variable.position, positions, default))
    return variable
