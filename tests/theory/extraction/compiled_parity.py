"""Rules as comparable keys, and parity's states and weights, for tests of extraction."""

from __future__ import annotations

from collections import Counter
from typing import Any

import weft
from weft.interpreter.inputs import valid_inputs
from weft.interpreter.states import StateSet, states_of
from weft.models.feed_forward import FeedForward

Key = tuple[frozenset[Any], str, Any]


def keys(rules: Any) -> Counter[Key]:
    return Counter((frozenset(r.antecedent), r.variable, r.new) for r in rules)


def parity_states() -> tuple[weft.Program, StateSet]:
    program = weft.program("parity")
    return program, states_of(program, valid_inputs(program, 100, 12))


def arrays(feed_forward: FeedForward) -> list[Any]:
    return [p.detach().double().numpy() for p in (*feed_forward.weights, *feed_forward.biases)]
