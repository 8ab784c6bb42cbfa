"""The feed-forward: every variable is updated as the program's step updates it.

The paths of a variable's diagram cut the listed states into cells with one result each; `cells`
decides each cell for all of its states. Slots of heads are cleared: by a head of the next layer, by
units that subtract what stands there, or by both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from weft.compiler.proof.cells import (
    Cells,
    Column,
    Network,
    exact_column,
    network_of,
    prove_cells,
)
from weft.compiler.proof.clearing import is_cleared
from weft.compiler.proof.findings import Unproved
from weft.compiler.proof.invariant import Invariant, listed_mask
from weft.compiler.proof.stream_checks import encode, rounded
from weft.language.diagrams import Put
from weft.language.expressions import reads
from weft.language.ranges import UNDEFINED, Number
from weft.models.config import TransformerConfig
from weft.models.slots import Layout
from weft.proofs.rounding import LONGEST, NOTHING, PRECISIONS, Array

STATES_TO_RUN = 64
"""Of a cell in doubt, how many states are run."""


@dataclass(frozen=True)
class FeedForwardChecks:
    """The feed-forward of a layer, with the invariant that it is proved under.

    Attributes:
        invariant: the listed values.
        layout: where variables stand.
        config: the model's config.
        weights: of every affine map, in float64.
        biases: the same.
        clears: dimensions that heads of this layer clear.
        cleared: dimensions that heads of the next layer clear.
        written: a bound on what any layer adds to each dimension, its units clipped.
        rounds: whether mixtures in slots of heads round; an assumption if not.
    """

    invariant: Invariant
    layout: Layout
    config: TransformerConfig
    weights: list[Array]
    biases: list[Array]
    clears: frozenset[int]
    cleared: frozenset[int]
    written: Array
    rounds: bool = True

    def check(self) -> int:
        """All updates are right, and all heads' slots are cleared; returns how many cells."""
        for head in self.invariant.heads:
            self.check_cleared(head.name)
        return sum(self.check_update(name) for name in self.invariant.diagrams)

    # Heads' slots

    def check_cleared(self, name: str) -> None:
        """What a head wrote is gone before it writes again."""
        slot = self.layout[name]
        dimensions = range(slot.start, slot.start + slot.size)
        by_heads = [dimension in self.cleared for dimension in dimensions]
        if any(by_heads) and not all(by_heads):
            raise Unproved(f"only a part of the head '{name}' is cleared")
        if all(by_heads):
            if slot.kind == "number" or not self._writes(dimensions):
                return
        elif self.rounds and self.invariant.can_mix(name):
            raise Unproved(f"the head '{name}' can leave a mixture that is not cleared exactly")
        (low, high), slack = self._span(name), self._leftover_slack(name)
        # Rounding is monotonic, so x + (y - x) has the sign of y.
        span = (low - slack if low < 0 else 0.0, high + slack if high > 0 else 0.0)
        for dimension in dimensions:
            if not is_cleared(self.weights, self.biases, dimension, span):
                raise Unproved(f"the slot of the head '{name}' is not cleared exactly")

    def _writes(self, dimensions: range) -> bool:
        places = list(dimensions)
        return bool(self.weights[-1][places].any() or self.biases[-1][places].any())

    def _span(self, name: str) -> tuple[float, float]:
        """The least and the greatest entry of a head's slot that was zero before."""
        means = self.invariant.means.get(name)
        if means is None:
            return 0.0, 1.0
        return min(0.0, float(means.low.min())), max(0.0, float(means.high.max()))

    # Updates

    def check_update(self, name: str) -> int:
        """A variable's slot after the step is what the program says; returns how many cells."""
        slot = self.layout[name]
        final = self.invariant.program.updates.values[name]
        names = {self.invariant.owner(other) for other in reads(final)} | {name}
        dimensions = list(range(slot.start, slot.start + slot.size))
        network = self.network(dimensions, names, np.stack(list(self._targets(name).values())))
        outcome = prove_cells(network, self._cells(name, network))
        if outcome.doubt is not None:
            masks = dict(zip((c.name for c in network.columns), outcome.doubt, strict=True))
            raise Unproved(
                f"the bounds on the update of '{name}' do not decide it{_shown(self, masks)}",
                variable=name,
                states=tuple(self._states(masks)),
            )
        return outcome.cells

    def network(self, dimensions: list[int], names: set[str], held: Array) -> Network:
        """The units that these entries depend on, and the variables that those read.

        `held` is what the entries hold before, for each value (values, entries).
        """
        kept = [np.asarray(dimensions)]
        for weight in reversed(self.weights):
            kept.append(np.flatnonzero((weight[kept[-1]] != 0).any(0)))
        inputs = set(kept.pop().tolist())
        kept.reverse()
        read = [
            name
            for name in self.invariant.names
            if name in names or inputs & set(range(*self.layout[name].dimensions.indices(1 << 30)))
        ]
        first = self.weights[0][kept[0]]
        return network_of(
            tuple(self._column(name, first) for name in read),
            tuple(
                weight[np.ix_(after, before)]
                for weight, before, after in zip(self.weights[1:], kept, kept[1:], strict=False)
            ),
            tuple(bias[units] for bias, units in zip(self.biases, kept, strict=True)),
            clipped=self.config.activation == "clipped",
            precision=PRECISIONS[self.config.dtype],
            held=held,
        )

    def _column(self, name: str, first: Array) -> Column:
        """What each value of a variable, and an undefined head, adds to the first layer."""
        variable = self.invariant.program.variables[name]
        weights = first[:, self.layout[name].dimensions]
        values = encode(variable)
        if not variable.is_head:
            return exact_column(name, weights, rounded(values, self.config.dtype))
        undefined = np.zeros((len(weights), 1))
        if name in self.invariant.means:
            low, high = self._number_bounds(name)
            ends = np.stack([weights * low, weights * high])
            least, most = np.hstack([ends.min(0), undefined]), np.hstack([ends.max(0), undefined])
            inexact = np.arange(len(values) + 1) < len(values)
            size = np.abs(ends).max((0, 2), initial=0)
            return Column(name, least, most, inexact, size, np.full(len(weights), NOTHING))
        column = exact_column(name, weights, np.vstack([values, np.zeros_like(values[:1])]))
        if not self.invariant.can_mix(name):
            return column
        listed = column.low[:, self.invariant.codes(name)]
        slack = 1 + self._mixture_slack(name) if self.rounds else 1.0
        least, most = column.low.copy(), column.high.copy()
        least[:, -1] = slack * np.minimum(listed.min(-1, initial=0), 0)
        most[:, -1] = slack * np.maximum(listed.max(-1, initial=0), 0)
        inexact = (np.arange(len(values) + 1) == len(values)) & self.rounds
        return replace(column, low=least, high=most, inexact=inexact, size=slack * column.size)

    def _mixture_slack(self, name: str) -> float:
        """By how much rounding can let the weights of a mixture add up to more than 1."""
        count = self.invariant.most_selected(self.invariant.program.heads[name]) or LONGEST
        precision = PRECISIONS[self.config.dtype]
        sums = (min(count, LONGEST) + 4) * 2.0**-precision.softmax_bits * 1.01
        stored = 4 * precision.roundoff if self.config.dtype == "bfloat16" else 0.0
        return sums + stored  # bfloat16 rounds weights and results, and adds up in float32

    def _number_bounds(self, name: str) -> tuple[Array, Array]:
        """Where the numbers of each bucket lie in the stream (1 v); 0 if a bucket cannot occur."""
        means = self.invariant.means[name]
        buckets = len(self.invariant.program.variables[name])
        low, high = np.zeros((1, buckets)), np.zeros((1, buckets))
        slack = self._leftover_slack(name)
        low[0, means.codes], high[0, means.codes] = means.low - slack, means.high + slack
        return low, high

    def _leftover_slack(self, name: str) -> float:
        """How far x + (y - x) can be from the number y, if a head clears x from its slot."""
        place = self.layout[name].start
        if name not in self.invariant.means or place not in self.clears:
            return 0.0
        written = float(self.written[place])
        if written and self.config.activation != "clipped":
            raise Unproved(f"with plain ReLUs, what is added to '{name}' is not bounded")
        low, high = self._span(name)
        return 4 * PRECISIONS[self.config.dtype].roundoff * (2 * max(-low, high) + written)

    def _cells(self, name: str, network: Network) -> Cells:
        """A cell for every path of the variable's diagram, for every listed old value."""
        place = {column.name: number for number, column in enumerate(network.columns)}
        full = [listed_mask(self.invariant, column.name) for column in network.columns]
        masks: list[list[Array]] = [[] for _ in full]
        known: dict[tuple[str, tuple[Any, ...]], Array] = {}
        least, most = [], []
        targets = self._targets(name)
        slacks = {value: self._ulp_slack(name, row) for value, row in targets.items()}
        for guard, old, result in self._paths(name):
            cell = list(full)
            for tested, values in (*guard, (name, (old,))):
                if (tested, values) not in known:
                    known[tested, values] = self._mask(self.invariant.owner(tested), values)
                number = place[self.invariant.owner(tested)]
                cell[number] = cell[number] & known[tested, values]
            if all(mask.any() for mask in cell):
                for mine, mask in zip(masks, cell, strict=True):
                    mine.append(mask)
                after = result.value if isinstance(result, Put) else old
                added = self._difference(name, targets[after], targets[old], slacks[after])
                least.append(added - slacks[after])
                most.append(added + slacks[after])
        if not least:
            nothing = np.zeros((0, self.layout[name].size))
            return Cells(tuple(mask[None][:0] for mask in full), nothing, nothing)
        return Cells(tuple(np.stack(mask) for mask in masks), np.stack(least), np.stack(most))

    def _difference(self, name: str, after: Array, old: Array, slack: Array) -> Array:
        """What is to be added to a slot, in float64; `Unproved` if that rounds too much."""
        added: Array = after - old
        if not isinstance(self.invariant.program.variables[name].range, Number):
            return added
        for one, other, result, allowed in zip(after, old, added, slack, strict=True):
            exact = Fraction(float(one)) - Fraction(float(other))
            if abs(Fraction(float(result)) - exact) > Fraction(float(allowed)) / 4:
                raise Unproved(f"the numbers of '{name}' are too far apart to be compared exactly")
        return added

    def _targets(self, name: str) -> dict[Any, Array]:
        """What the slot of a variable holds for each of its values."""
        variable = self.invariant.program.variables[name]
        rows = rounded(encode(variable), self.config.dtype)
        return {value: rows[code] for value, code in variable.range.codes.items()}

    def _ulp_slack(self, name: str, after: Array) -> Array:
        """How far what is added may be off if the sum still rounds to the new number."""
        if not isinstance(self.invariant.program.variables[name].range, Number):
            return np.zeros_like(after)
        exponent = np.frexp(np.abs(after))[1]
        spacing = 2.0 ** (exponent - 1 - PRECISIONS[self.config.dtype].bits)  # of the lower side
        return np.where(after == 0, 0.0, 0.24 * spacing)

    def _paths(self, name: str) -> Iterator[tuple[Any, Any, Any]]:
        diagram = self.invariant.diagrams[name]
        for old in self.invariant.variables[name].range.values:
            for guard, result in diagram.ways_from(old):
                yield guard, old, result

    def _mask(self, name: str, values: tuple[Any, ...]) -> Array:
        variable = self.invariant.program.variables[name]
        mask = np.zeros(len(variable) + variable.is_head, bool)
        for value in values:
            mask[-1 if value is UNDEFINED else variable.range.codes[value]] = True
        return mask

    def _states(self, masks: Mapping[str, Array]) -> Iterator[dict[str, Any]]:
        """Some states of a cell, as codes; None for an undefined head."""
        rng = np.random.default_rng(0)
        for number in range(STATES_TO_RUN):
            state: dict[str, Any] = {}
            for name, mask in masks.items():
                codes = np.flatnonzero(mask)
                code = int(codes[0] if number == 0 else rng.choice(codes))
                defined = code < len(self.invariant.program.variables[name])
                state[name] = code if defined else None
            yield state


def _shown(feed_forward: FeedForwardChecks, masks: Mapping[str, Array]) -> str:
    """A cell in words, if it is small."""
    shown = []
    for name, mask in masks.items():
        values = (*feed_forward.invariant.program.variables[name].range.values, UNDEFINED)
        allowed = [values[code] for code in np.flatnonzero(mask)]
        if len(allowed) == 1:
            shown.append(f"{name} = {allowed[0]}")
    return f" (where {', '.join(shown[:6])})" if shown else ""
