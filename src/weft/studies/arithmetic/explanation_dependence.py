"""Which digits of the operands does each digit of the output depend on: single-digit interventions.

One digit of one operand is replaced by another one and everything else is kept. The dependency of
output digit k on that digit is the share of questions on which output digit k changes. A digit that
a function does not use has dependency 0 throughout; the units of a sum have dependency 1 on the
units of both operands, and digit k depends on digit j < k as often as a carry runs from j to k.

Questions are uniform over operands that all have one length. The leading digit is replaced by
another one that is not 0, so that lengths stay the same (in base 2, it is replaced by 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weft.studies.arithmetic.explanation_hypotheses import Answer, take
from weft.tasks.arithmetic.digits import random_digits
from weft.tasks.arithmetic.notation import Numbers
from weft.tasks.arrays import Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
USED = 0.02
"""A digit counts as used if changing it changes more than this share of the outputs."""


@dataclass(frozen=True, eq=False)
class Interventions:
    """Questions, and the same with one digit changed.

    Attributes:
        operands: the digits of each operand (b l each): first `count` questions as they were drawn,
            then as many for every digit of the first operand, units first, then of the next one.
        count: how many questions were drawn.
    """

    operands: Sequence[Ints]
    count: int

    @property
    def changed(self) -> int:
        """The number of digits that are changed."""
        return len(self.operands) * int(self.operands[0].shape[1])


@dataclass(frozen=True, eq=False)
class Dependence:
    """Dependency of the output's digits on the operands' digits.

    Attributes:
        length: the number of digits of every operand.
        names: of the operands.
        changed: output digit (units first), input digit: the share of questions on which the output
            digit changes. Input digits are those of the first operand, units first, then of the
            next. Not a number where no pair of outputs could be compared.
        output: input digit: the share on which anything in the output changes.
        counts: input digit: how many pairs of outputs were compared; outputs that are no number
            are left out.
    """

    length: int
    names: tuple[str, ...]
    changed: Floats
    output: Floats
    counts: Ints

    @property
    def used(self) -> dict[str, list[int]]:
        """Of each operand, the places that are used, 1 for units."""
        used = (np.nan_to_num(self.output) > USED).reshape(len(self.names), self.length)
        return {
            name: (np.flatnonzero(row) + 1).tolist()
            for name, row in zip(self.names, used, strict=True)
        }

    def distance(self, other: Dependence) -> float:
        """The mean absolute difference between two matrices of the same questions."""
        height = max(len(self.changed), len(other.changed))
        mine, its = (_heightened(each.changed, height) for each in (self, other))
        known = ~np.isnan(mine) & ~np.isnan(its)
        return float(np.abs(mine - its)[known].mean()) if known.any() else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "length": self.length,
            "operands": self.names,
            "changed": [[_value(each) for each in row] for row in self.changed],
            "output": [_value(each) for each in self.output],
            "pairs": self.counts.tolist(),
            "used": self.used,
        }


def interventions(
    rng: np.random.Generator, *, count: int, length: int, operands: int, base: int
) -> Interventions:
    """Questions whose operands all have one length, and the same with every digit changed once."""
    lengths = np.full(count, length)
    drawn = [random_digits(rng, lengths, length, base) for _ in range(operands)]
    parts = [[each] for each in drawn]
    for place in range(operands * length):
        which, at = divmod(place, length)
        for index, digits in enumerate(drawn):
            changed = digits
            if index == which:
                changed = digits.copy()
                leading = at == length - 1 and length > 1 and base > 2
                changed[:, at] = _other(rng, digits[:, at], base, least=int(leading))
            parts[index].append(changed)
    return Interventions([np.concatenate(each) for each in parts], count)


def _other(rng: np.random.Generator, digits: Ints, base: int, least: int) -> Ints:
    """For each digit (b) another one, uniform among those from `least` on."""
    size = base - least
    return least + (digits - least + rng.integers(1, size, len(digits))) % size


def dependence(changes: Interventions, outputs: Numbers) -> Dependence:
    """The dependency matrix of the outputs on the questions of some interventions."""
    count, total = changes.count, changes.changed
    before = take(outputs, slice(0, count))
    width = outputs.digits.shape[1]
    changed = np.full((width, total), np.nan)
    output = np.full(total, np.nan)
    counts = np.zeros(total, dtype=np.int64)
    for place in range(total):
        after = take(outputs, slice((place + 1) * count, (place + 2) * count))
        both = before.well_formed & after.well_formed
        counts[place] = both.sum()
        if not counts[place]:
            continue
        differs = (before.digits != after.digits)[both]
        signs = (before.negative != after.negative)[both]
        changed[:, place] = differs.mean(axis=0)
        output[place] = (differs.any(axis=1) | signs).mean()
    names = tuple("abc"[: len(changes.operands)])
    return Dependence(changes.operands[0].shape[1], names, changed, output, counts)


def dependence_of(answer: Answer, changes: Interventions) -> Dependence:
    """The dependency matrix of a function.

    Example:
        >>> import numpy as np
        >>> from weft.studies.arithmetic.explanation_dependence import dependence_of, interventions
        >>> from weft.studies.arithmetic.explanation_hypotheses import operation
        >>> from weft.tasks.arithmetic import Addition
        >>> rng = np.random.default_rng(0)
        >>> changes = interventions(rng, count=500, length=3, operands=2, base=10)
        >>> dependence_of(operation(Addition(), digits=2), changes).used
        {'a': [1, 2], 'b': [1, 2]}
    """
    return dependence(changes, answer(changes.operands))


def draw_dependence(
    pairs: Sequence[tuple[Dependence, Dependence]], *, trained: int, hypothesis: str
) -> Figure:
    """Dependency matrices of a model, and beside each that of the hypothesis.

    Args:
        pairs: for each length, the matrices of the model and of the hypothesis.
        trained: the number of digits in training, which a line marks.
        hypothesis: the name of the hypothesis.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure as NewFigure

    from weft.studies.plotting import SHADES, style

    heights = [max(len(each.changed) for each in pair) for pair in pairs]
    inches = [max(1.0, 0.2 * height) for height in heights]
    columns = max(pair[0].changed.shape[1] for pair in pairs)
    with style():
        size = (max(6.0, 0.4 * columns + 2.2), sum(inches) + 0.55 * len(pairs) + 0.6)
        figure = NewFigure(figsize=size, layout="constrained")
        grid = figure.subplots(len(pairs), 2, squeeze=False, height_ratios=inches)
        shades = ListedColormap(SHADES)
        for row, pair in enumerate(pairs):
            for column, each in enumerate(pair):
                panel = grid[row, column]
                values = _heightened(each.changed, heights[row])
                image = panel.pcolormesh(values, cmap=shades, vmin=0, vmax=1)
                _label(panel, each, trained)
                if column == 0:
                    panel.set_ylabel(f"digit of output\n({each.length}-digit operands)")
        for panel, title in zip(grid[0], ("model", hypothesis), strict=True):
            panel.set_title("\n".join(wrap(title, 34)))
        figure.supxlabel("digit that is replaced (1: units)", fontsize=10)
        bar = figure.colorbar(image, ax=grid, shrink=0.8, pad=0.02)
        bar.set_ticks([0, 0.5, 1], labels=["0", "50", "100"])
        bar.set_label("output digit changes\n(% of questions)")
        bar.outline.set_visible(False)
    return figure


def _label(panel: Any, each: Dependence, trained: int) -> None:
    """Ticks of a matrix: places from the units on, with lines between operands and at `trained`."""
    height, width = panel.collections[0].get_array().shape
    step = 1 if width <= 10 else 2 if width <= 24 else 4
    panel.grid(visible=False)
    places = [at for at in range(width) if at % each.length % step == 0]
    names = [f"{each.names[at // each.length]}{at % each.length + 1}" for at in places]
    panel.set_xticks([at + 0.5 for at in places], names)
    rows = range(0, height, 1 if height <= 6 else 2)
    panel.set_yticks([at + 0.5 for at in rows], [str(at + 1) for at in rows])
    for index in range(len(each.names)):
        start = index * each.length
        if index:
            panel.axvline(start, color="black", linewidth=1.0)
        if trained < each.length:
            at = start + trained
            panel.axvline(at, color="#D55E00", linewidth=1.2, linestyle=(0, (3, 1.5)))


def _heightened(values: Floats, height: int) -> Floats:
    """A matrix with rows of zeros up to a height."""
    return np.pad(values, ((0, height - len(values)), (0, 0)))


def _value(share: float) -> float | None:
    return None if np.isnan(share) else float(share)
