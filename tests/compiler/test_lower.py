"""Updates are lowered to cubes or thresholds, whichever needs fewer units."""

from __future__ import annotations

import pytest

import weft
from weft.compiler.check import check

TABLE = ((0, 1, 2), (2, 2, 0), (0, 0, 0))


class Sums(weft.Program):
    """A bit of a number by its place, which changes seven times along a sum and is two cubes."""

    tokens, layers = 8, 1
    left = weft.var(2, token=lambda t: t >> 2 & 1)
    cell = weft.var(2, token=lambda t: t >> 1 & 1)
    right = weft.var(2, token=lambda t: t & 1)
    output = cell

    def step(z):
        z.cell = 110 >> (4 * z.left + 2 * z.cell + z.right) & 1


class Tables(weft.Program):
    """A comparison of an entry of a table, which holds in one place."""

    tokens, layers = 9, 1
    row = weft.var(3, token=lambda t: t // 3)
    column = weft.var(3, token=lambda t: t % 3)
    found = weft.var(2)
    output = found

    def step(z):
        if TABLE[z.row][z.column] == 1:
            z.found = 1


@pytest.mark.parametrize(("program", "most"), [(Sums, 3), (Tables, 1)])
def test_cubes_are_taken_where_they_are_fewer_than_thresholds(program, most) -> None:
    compiled = weft.compile(program())
    assert compiled.hidden_units <= most
    assert check(compiled, samples=20, max_length=5).difference is None
