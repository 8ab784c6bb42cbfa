"""Sums of forms and units: their bounds, and that equal units are one."""

from __future__ import annotations

import weft
from weft.weights.circuit import Circuit, Sum, form


class Bits(weft.Program):
    """A variable with three values, and a head that may be undefined."""

    tokens, layers = 3, 1
    here = weft.var(3, token=lambda t: t)
    left = weft.relative(here, -1)
    output = here

    def step(z):
        z.here = z.here


VARIABLES = Bits().variables


def test_an_undefined_head_counts_as_nothing_in_bounds() -> None:
    assert form({"here": [2, 3, 4]}).bounds(VARIABLES) == (2, 4)
    assert form({"left": [2, 3, 4]}).bounds(VARIABLES) == (0, 4)
    assert form({"here": [2, 3, 4], "left": [-5, 1, 1]}).bounds(VARIABLES) == (-3, 5)


def test_variables_without_weight_are_left_out() -> None:
    assert form({"here": [0, 0, 0], "left": [0, 1, 0]}) == form({"left": [0, 1, 0]})


def test_sums_add_up_and_cancel() -> None:
    one, other = (
        Sum(((form({"here": [0, 1, 2]}), 1),), bias=1),
        Sum(((form({"left": [1, 0, 0]}), 2),)),
    )
    assert one.plus(other).plus(other, -1) == one
    assert one.scaled(3).shifted(-4).bias == -1
    (joined, _), *rest = one.plus(one).plus(other).joined().forms
    assert not rest
    assert joined == form({"here": [0, 2, 4], "left": [2, 0, 0]})
    assert one.plus(other).bounds(VARIABLES) == (1, 5)


def test_equal_units_are_one_and_unused_ones_are_left_out() -> None:
    circuit = Circuit(VARIABLES)
    atom = Sum(((form({"here": [0, 1, 0]}), 1),))
    first, again = circuit.unit(atom), circuit.unit(atom)
    assert first is again
    second = circuit.unit(Sum(units=((first, 1),)).shifted(1))
    circuit.unit(atom.shifted(-1))
    circuit.write(second, "here", 0)
    assert circuit.used_units() == [first, second]
    assert [unit.level for unit in circuit.used_units()] == [1, 2]
