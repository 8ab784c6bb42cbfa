"""Weights compared unit by unit.

Hidden units have no order, so each compiled unit is matched with the trained one nearest to it, the
nearest pairs first, and what is left over counts in full. What makes no difference to what a unit
computes is none here:

- A ReLU's scale: units are matched at the level 1 that compiled ones have, and one that is left
  over counts at the scale at which it is smallest. So an idle unit is next to nothing.
- A bias that is spread over the values of a variable, one of which always holds: the least of their
  weights is 0, as in compiled units, and the rest is in the bias.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.theory.extraction.guards import Hidden
from weft.theory.optimum.reconstruction import Floats

if TYPE_CHECKING:
    from weft.models.slots import Layout


def apart(net: Hidden, best: Hidden, layout: Layout) -> tuple[float, float]:
    """The L1 and the L2 distance between the units of two feed-forwards."""
    trained, compiled, sizes = _rows(net, layout), _rows(best, layout), _sizes(net)
    mine, theirs = np.square(trained).sum(1), np.square(compiled).sum(1)
    between = np.maximum(mine[:, None] + theirs - 2 * trained @ compiled.T, 0.0)
    worth = between < sizes[1][:, None] + theirs  # otherwise each is nearer to nothing
    free, wanted = np.ones(len(trained), bool), np.ones(len(compiled), bool)
    l1 = squares = 0.0
    for pair in np.argsort(between, axis=None, kind="stable"):
        unit, rule = divmod(int(pair), len(compiled))
        if free[unit] and wanted[rule] and worth[unit, rule]:
            free[unit] = wanted[rule] = False
            difference = trained[unit] - compiled[rule]
            l1 += float(np.abs(difference).sum())
            squares += float(np.square(difference).sum())
    l1 += float(sizes[0][free].sum() + np.abs(compiled[wanted]).sum())
    squares += float(sizes[1][free].sum() + np.square(compiled[wanted]).sum())
    return l1, float(np.sqrt(squares))


def norms(net: Hidden) -> tuple[float, float]:
    """The L1 and the L2 norm of all units."""
    l1, squares = _sizes(net)
    return float(l1.sum()), float(np.sqrt(squares.sum()))


def _rows(net: Hidden, layout: Layout) -> Floats:
    """A row a unit: what it reads, its bias, what it writes; ReLUs at level 1."""
    reads, bias, scale = net.first.copy(), net.bias.copy(), np.ones(len(net.bias))
    for slot in layout.values():
        if not slot.is_head:  # exactly one of its dimensions is 1
            least = reads[:, slot.dimensions].min(1)
            reads[:, slot.dimensions] -= least[:, None]
            bias += least
    if not net.clipped:
        best = [reads[:, slot.dimensions].max(1) for slot in layout.values()]
        top = bias + np.sum(best, axis=0)
        scale = np.where(top > 0, np.maximum(top, 1e-12), 1.0)
    parts = (reads / scale[:, None], (bias / scale)[:, None], net.second.T * scale[:, None])
    return np.concatenate(parts, axis=1)


def _sizes(net: Hidden) -> tuple[Floats, Floats]:
    """Of each unit the sums of magnitudes and of squares; of ReLUs the least at any scale."""
    read = np.concatenate([net.first, net.bias[:, None]], axis=1)
    pairs = [(each(read).sum(1), each(net.second.T).sum(1)) for each in (np.abs, np.square)]
    if net.clipped:
        l1, squares = (a + b for a, b in pairs)
    else:  # of s a + b / s, and of s^2 a + b / s^2
        l1, squares = (2 * np.sqrt(a * b) for a, b in pairs)
    return l1, squares
