"""What a program uses while it runs over some inputs (ALTA paper, appendix C.2).

    D   the assignments at the input of the feed-forward, of every layer and position of every input

A rule of a variable reads few of the others, so D is projected, for each variable that the step
writes, on the variables that its update reads: millions of assignments become a few thousand rows.
They determine which rules fired; the inputs determine which tokens and positions occurred.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.inputs import Inputs, read_inputs
from weft.interpreter.states import StateCounter, StateSet, layer_states
from weft.language.expressions import reads
from weft.language.program import Program, token_numbers

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Used:
    """What a program used over some inputs.

    Attributes:
        inputs: their tokens.
        layers: how many layers each of them ran.
        tokens: the numbers of the tokens that occurred.
        positions: how many positions the longest input has.
        states: for each variable that the step writes, the states of what its update reads.
        heads: for each head, the codes that its output had, undefined excluded.
    """

    program: Program
    inputs: tuple[tuple[Any, ...], ...]
    layers: tuple[int, ...]
    tokens: frozenset[int]
    positions: int
    states: Mapping[str, StateSet]
    heads: Mapping[str, frozenset[int]]


def read_by(program: Program, target: str) -> tuple[str, ...]:
    """A variable that the step writes, and the others that its update reads."""
    others = (name for name in reads(program.updates.values[target]) if name != target)
    return (target, *others)


def observe(program: Program, inputs: Inputs, *, layers: int | None = None) -> Used:
    """Run a program over inputs and record what it uses.

    Example:
        >>> import weft
        >>> used = observe(weft.program("parity"), ["1", "10", "111"])
        >>> used.positions, len(used.states["done"])
        (4, 4)
        >>> next(iter(used.states["done"]))
        {'done': 0, 'done_left': 0}
    """
    tokens = read_inputs(program, inputs)
    counter = StateCounter(program)
    ran = np.zeros(len(tokens), np.int64)
    for layer in layer_states(program, tokens, layers):
        ran[layer.inputs] += 1  # once per layer, however many positions the input has
        counter.add(layer)
    states = counter.states()
    return Used(
        program,
        tuple(map(tuple, tokens)),
        tuple(ran.tolist()),
        frozenset(number for each in tokens for number in token_numbers(program, each)),
        max(map(len, tokens), default=0),
        {name: states.project(read_by(program, name)) for name in program.updates.written},
        {
            name: frozenset(np.unique(states.column(name)).tolist())
            - {len(program.variables[name])}
            for name in program.heads
        },
    )
