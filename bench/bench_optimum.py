"""The optimum check on addition: all rules, and the ones that fire, over 5,000 sums."""

from __future__ import annotations

import weft
from measure import Figure, seconds
from weft.interpreter.inputs import valid_inputs
from weft.interpreter.states import states_of
from weft.theory.optimum.coordinatewise import check_rules, is_strict_coordinate_optimum
from weft.theory.optimum.derivatives import Penalty, count_kinks, derivatives
from weft.theory.optimum.reconstruction import Construction, construct

INPUTS = 5_000


def figures() -> list[Figure]:
    program = weft.program("addition")
    inputs = valid_inputs(program, INPUTS, max_length=19)
    checked = seconds(lambda: is_strict_coordinate_optimum(weft.program("addition"), inputs), 1)
    states = states_of(program, inputs)
    units = construct(program.variables, program.rules)
    fires = count_kinks(units, states).fires.tolist()
    fired = tuple(r for r, often in zip(units.rules, fires, strict=True) if often)
    assert check_rules(fired, states, Penalty(0.5))
    every = Construction(program.variables, units.rules)
    dense = seconds(lambda: derivatives(every, states, Penalty(0.5)), 1)
    return [
        Figure("addition, 5,000 inputs: optimum checked in", checked, "s", most=20),
        Figure("all derivatives of its 3 million parameters in", dense, "s", most=20),
        Figure("distinct states of these", len(states)),
        Figure("rules that fire, of 16,420", len(fired)),
    ]
