"""Which layer computes what.

The rule: everything is computed as early as possible.

- A function of the symbol alone or of the position alone is part of the embedding. Every other
  function is computed by the feed-forward of the first layer whose heads have brought what it
  depends on (`NormalForm.layer`). So the number of layers is the counting depth, plus one before
  the first counting of a function of symbol and position together, or of a local read; plus one for
  each local read of a function of counts.
- One uniform head per layer takes all countings whose bodies are ready; one head per offset takes
  the local reads.
- If a function depends on counts of several layers, the parts that depend on the earlier ones
  alone are computed in their own layer, as a bit. The bits of lines are used again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from weft.crasp.limit.intervals import Node
from weft.crasp.limit.normal_form import (
    Form,
    Guarded,
    Linear,
    NormalForm,
    Shifted,
    TokenAt,
    has_form,
    layer_of,
)

MAX_REUSED = 8
"""A function is written in terms of at most this many functions that are computed anyway."""


@dataclass(frozen=True)
class Bit:
    """A function that an earlier layer has computed, as a variable that is 0 or 1."""

    node: Node
    layer: int

    @property
    def level(self) -> int:
        """The first layer whose feed-forward can read it."""
        return self.layer + 1

    @property
    def key(self) -> tuple[Any, ...]:
        """Bits are tested after residues."""
        return (2, self.level, self.node, 0)


@dataclass(frozen=True)
class Computed:
    """A Boolean that a feed-forward computes.

    Attributes:
        node: the function.
        inputs: the same function in terms of what its layer reads.
    """

    node: Node
    inputs: Node


@dataclass(frozen=True)
class Gated:
    """A summand of a count line that a feed-forward adds: `linear` where the guard holds.

    Attributes:
        line: the count line.
        guard: the guard, in terms of what the layer reads.
        linear: what is added.
    """

    line: str
    guard: Node
    linear: Linear


@dataclass(frozen=True)
class LayerPlan:
    """What one layer computes.

    Attributes:
        countings: what its uniform head counts.
        reads: by offset, what the local heads read.
        booleans: what its feed-forward computes.
        gated: what it adds to count lines.
    """

    countings: tuple[int, ...]
    reads: dict[int, tuple[TokenAt | Shifted, ...]]
    booleans: tuple[Computed, ...]
    gated: tuple[Gated, ...]


@dataclass(frozen=True, eq=False)
class Schedule:
    """A program, layer by layer.

    Attributes:
        form: its normal form.
        embedded: the Boolean lines that are part of the embedding.
        layers: the layers in order.
    """

    form: NormalForm
    embedded: tuple[str, ...]
    layers: tuple[LayerPlan, ...]

    def functions(self) -> Iterable[Node]:
        """All functions that are read by heads or computed by feed-forwards."""
        form = self.form
        for plan in self.layers:
            yield from (computed.inputs for computed in plan.booleans)
            yield from (gated.guard for gated in plan.gated)
            yield from (form.bodies[k] for k in plan.countings if not form.level(k) - 1)


def schedule(form: NormalForm) -> Schedule:
    """Decide which layer computes what."""
    return _Scheduler(form).run()


class _Scheduler:
    def __init__(self, form: NormalForm) -> None:
        self.form, self.diagrams = form, form.diagrams
        self.computed: dict[Node, Node] = {}
        self.countings: set[int] = set()
        self.variables: set[Any] = set()

    def run(self) -> Schedule:
        form = self.form
        for node in form.booleans.values():
            self.need(node)
        gated: list[tuple[int, Gated]] = []
        for line, summands in form.counts.items():
            for summand in summands:
                self.need_countings(summand.linear.countings)
                if summand.guard != self.diagrams.true:
                    gated.append(self.gate(line, summand))
        levels = [form.level(counting) for counting in self.countings]
        layers = [self.layer(node) for node in self.computed]
        count = max([1, *levels, *layers, *(layer for layer, _ in gated)])
        embedded = tuple(name for name, node in form.booleans.items() if not self.layer(node))
        plans = tuple(self.plan(number, gated) for number in range(1, count + 1))
        return Schedule(form, embedded, plans)

    def layer(self, node: Node) -> int:
        return layer_of(self.diagrams, node)

    def plan(self, number: int, gated: list[tuple[int, Gated]]) -> LayerPlan:
        reads: dict[int, list[TokenAt | Shifted]] = {}
        for variable in sorted(self.variables, key=lambda v: v.key):
            if isinstance(variable, (TokenAt, Shifted)) and variable.offset:
                if variable.level == number:
                    reads.setdefault(variable.offset, []).append(variable)
        return LayerPlan(
            countings=tuple(sorted(k for k in self.countings if self.form.level(k) == number)),
            reads={offset: tuple(variables) for offset, variables in sorted(reads.items())},
            booleans=tuple(
                Computed(node, inputs)
                for node, inputs in self.computed.items()
                if self.layer(node) == number
            ),
            gated=tuple(summand for layer, summand in gated if layer == number),
        )

    def gate(self, line: str, summand: Guarded) -> tuple[int, Gated]:
        """A guarded summand, and the layer that adds it."""
        levels = [self.form.level(counting) for counting in summand.linear.countings]
        layer = max([1, self.layer(summand.guard), *levels])
        guard = self.staged(summand.guard, layer)
        self.need_inputs(guard)
        return layer, Gated(line, guard, summand.linear)

    # What is needed

    def need(self, node: Node) -> None:
        """A function must be in the stream."""
        if self.layer(node) and node not in self.computed:
            levels = [v.level for v in self.diagrams.support(node) if isinstance(v, Form)]
            inputs = self.staged(node, max(levels)) if levels else node
            self.need_inputs(inputs)
            self.computed[node] = inputs

    def need_inputs(self, inputs: Node) -> None:
        for variable in self.diagrams.support(inputs):
            self.variables.add(variable)
            if isinstance(variable, Form):
                self.need_countings(dict(variable.terms))
            elif isinstance(variable, (Shifted, Bit)):
                self.need(variable.node)

    def need_countings(self, countings: Iterable[int]) -> None:
        for counting in countings:
            if counting not in self.countings:
                self.countings.add(counting)
                self.need(self.form.bodies[counting])

    # Parts that are ready earlier

    def staged(self, node: Node, layer: int) -> Node:
        """A function with a bit for each part that depends on counts and is ready earlier."""
        done: dict[Node, Node] = {}

        def stage(at: Node) -> Node:
            if at not in done:
                step = self.diagrams.step(at)
                if step is None or not has_form(self.diagrams, at):
                    done[at] = at
                elif self.layer(at) < layer:
                    done[at] = self.as_bit(at, layer)
                else:
                    parts = tuple(stage(child) for child in step.children)
                    done[at] = self.diagrams.select(step.variable, step.cuts, parts)
            return done[at]

        return stage(node)

    def as_bit(self, node: Node, layer: int) -> Node:
        """A function of earlier layers, in terms of bits."""
        negated = self.diagrams.negate(node)
        if node not in self.computed and negated not in self.computed:
            known = self.in_known_bits(node, layer)
            if known is not None:
                return known
            self.need(node)
        if node in self.computed:
            return self.bit(node)
        return self.diagrams.negate(self.bit(negated))

    def bit(self, node: Node) -> Node:
        return self.diagrams.at_least(Bit(node, self.layer(node)), 1)

    def in_known_bits(self, node: Node, layer: int) -> Node | None:
        """A function as a conjunction or disjunction of functions that are computed anyway."""
        known = [n for n in self.computed if self.layer(n) < layer and has_form(self.diagrams, n)]
        for join, unit in (
            (self.diagrams.both, self.diagrams.true),
            (self.diagrams.either, self.diagrams.false),
        ):
            chosen: list[tuple[Node, Node]] = []  # a function, and how it is written in bits
            for other in known[: 4 * MAX_REUSED]:
                negated = self.diagrams.negate(other)
                if join(node, other) == node:
                    chosen.append((other, self.bit(other)))
                elif join(node, negated) == node:
                    chosen.append((negated, self.diagrams.negate(self.bit(other))))
            if len(chosen) > MAX_REUSED or join(*(f for f, _ in chosen)) != node:
                continue
            for candidate in list(chosen):  # leave out what the others imply
                rest = [pair for pair in chosen if pair != candidate]
                if rest and join(*(f for f, _ in rest)) == node:
                    chosen = rest
            return join(unit, *(bit for _, bit in chosen))
        return None
