"""Library programs with inputs, and the rules that fire on them by the reference interpreter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft
from weft.interpreter.trace import read_state
from weft.language.rules import Rule
from weft.programs import LIBRARY

SMALL = (
    "parity", "parity-absolute", "parity-sum", "addition", "turing", "sort", "dyck",
    "tree-traversal", "histogram", "breadth-first", "induction-head", "anbn", "reverse-absolute",
)  # fmt: skip


def samples(name: str, count: int = 12, seed: int = 0) -> list[Sequence[Any]]:
    program, rng = weft.program(name), random.Random(seed)
    return [program.sample(rng, rng.randint(1, LIBRARY[name].longest)) for _ in range(count)]


def traced(program: weft.Program, tokens: Sequence[Any]) -> tuple[set[Rule], set[Rule]]:
    """The rules and resets that fire in a run of the reference interpreter, with single values."""
    rules, resets = set(), set()
    trace = weft.run(program, tokens, trace=True).trace
    assert trace is not None
    for layer in trace.layers:
        for position, fired in enumerate(layer.fired):
            state = read_state(program, layer.attended.at(position))
            for rule in fired:
                guard = tuple((name, (state[name],)) for name, _ in rule.guard)
                single = Rule(guard, rule.variable, rule.old, rule.new)
                (resets if rule.is_reset else rules).add(single)
    return rules, resets
