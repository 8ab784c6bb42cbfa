"""The matrices of a circuit compute what its units say, in every state.

The oracle evaluates units one by one, in whole numbers.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import weft
from weft.models.slots import encode, make_layout
from weft.weights.circuit import Circuit, Sum, Unit, form
from weft.weights.layers import FeedForwardMatrices, as_relu
from weft.weights.matrices import lay_out


class Three(weft.Program):
    """Three variables to read and to write."""

    tokens, layers = 2, 1
    a = weft.var(2, token=lambda t: t)
    b = weft.var(3)
    c = weft.var(4)
    output = a

    def step(z):
        z.a = z.a


VARIABLES = Three().variables
LAYOUT = make_layout(list(VARIABLES.values()), {})


def random_circuit(seed: int) -> Circuit:
    """Units of three levels, which read variables and units of all levels below."""
    rng = random.Random(seed)
    circuit = Circuit(VARIABLES)
    units: list[Unit] = []
    for _ in range(8):
        total = Sum(bias=rng.randint(-2, 2))
        for name in rng.sample(sorted(VARIABLES), rng.randint(1, 2)):
            weights = [rng.randint(-2, 2) for _ in range(len(VARIABLES[name]))]
            total = total.plus(Sum(((form({name: weights}), 1),)), rng.choice([1, -1, 2]))
        for below in rng.sample(units, min(len(units), rng.randint(0, 2))):
            total = total.plus(Sum(units=((below, rng.choice([1, -2])),)))
        units.append(circuit.unit(total))
    for unit in units[2:]:
        name = rng.choice(sorted(VARIABLES))
        circuit.write(unit, name, rng.randrange(len(VARIABLES[name])), rng.choice([1, -1]))
    return circuit


def value(unit: Unit, state: dict[str, int]) -> int:
    total = int(unit.bias)
    for one, times in unit.forms:
        total += times * sum(weights[state[name]] for name, weights in one.terms)
    total += sum(times * value(below, state) for below, times in unit.units)
    return min(max(total, 0), 1)


def computed(matrices: FeedForwardMatrices, stream: np.ndarray, clipped: bool) -> np.ndarray:
    for place, (weight, bias) in enumerate(zip(matrices.weights, matrices.biases, strict=True)):
        stream = weight @ stream + bias
        if place < len(matrices.weights) - 1:
            stream = np.clip(stream, 0, 1 if clipped else None)
    return stream


@pytest.mark.parametrize("seed", range(20))
def test_matrices_add_what_the_circuit_writes(seed: int) -> None:
    circuit = random_circuit(seed)
    matrices = lay_out(circuit, LAYOUT, LAYOUT.width)
    assert len(matrices.hidden) == max(unit.level for unit in circuit.used_units())
    for codes in itertools.product(*(range(len(v)) for v in VARIABLES.values())):
        state = dict(zip(VARIABLES, codes, strict=True))
        stream, expected = np.zeros(LAYOUT.width), np.zeros(LAYOUT.width)
        for name, code in state.items():
            for dimension, amount in encode(LAYOUT[name], code).items():
                stream[dimension] = amount
        for write in circuit.writes:
            assert write.code is not None
            for dimension, amount in encode(LAYOUT[write.variable], write.code).items():
                expected[dimension] += write.times * amount * value(write.unit, state)
        np.testing.assert_array_equal(computed(matrices, stream, clipped=True), expected)
        np.testing.assert_array_equal(computed(as_relu(matrices), stream, clipped=False), expected)
