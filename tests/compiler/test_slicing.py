"""What cannot matter is left out: dead variables and heads; equal heads are merged."""

from __future__ import annotations

import weft
from weft.compiler.check import check


class Wasteful(weft.Program):
    """The left neighbour's bit, with variables and heads that nobody needs."""

    tokens = [0, 1]
    positions, layers = 6, 1
    bit = weft.var(2, token=lambda t: t)
    first = weft.var(2, position=lambda i: i == 0)
    unused = weft.var(5)
    left = weft.relative(bit, -1)
    again = weft.relative(bit, -1)
    idle = weft.relative(unused, 1)
    copied = weft.var(4)
    output = copied

    def step(z):
        if not z.first:
            z.copied = z.left + 2 * z.again
        z.unused = (z.unused + 1) % 5


def test_dead_variables_and_heads_are_left_out_and_equal_heads_merged() -> None:
    compiled = weft.compile(Wasteful())
    layout = compiled.model.layout
    assert not {"unused", "idle"} & set(layout)
    assert layout["again"].dimensions == layout["left"].dimensions
    assert check(compiled, samples=40, max_length=6).difference is None
    notes = dict(compiled.notes)
    assert "unused" in notes["dead variables"]
    assert "again into left" in notes["equal heads"]
