"""From a C-RASP program to its limit transformer: program -> normal form -> schedule -> matrices.

The limit transformer computes the program on words of any length (Huang et al. 2025, theorem 9):

- A uniform head averages what is counted over the begin symbol and all positions so far, which
  gives C(i) / (i + 1). The begin symbol is never counted: the value of a function there is the same
  for all words, and is subtracted.
- The head of offset d scores 2 for position i - d and 1 for the begin symbol, where its values are
  0. So it reads position i - d, or 0 if there is none.
- A comparison C >= c is the Heaviside unit [C(i) / (i + 1) - (c - 1/2) one(i) > 0]. Its argument is
  at least 1 / (2 (i + 1)) away from 0. Literals that fail are subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.crasp.limit.glue import (
    Circuit,
    Conjunction,
    FirstUnit,
    Gate,
    SecondUnit,
    Unit,
    Vote,
    glue,
)
from weft.crasp.limit.normal_form import Linear, NormalForm, Residue, Shifted, normal_form
from weft.crasp.limit.schedule import LayerPlan, Schedule, schedule
from weft.crasp.limit.streams import Affine, Stream
from weft.crasp.limit.transformer import (
    HiddenUnits,
    LimitHead,
    LimitLayer,
    LimitTransformer,
    gap,
)
from weft.crasp.program import CraspProgram
from weft.errors import WeftError

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Construction:
    """A limit transformer, with what it was constructed from.

    Attributes:
        form: the program's normal form.
        schedule: which layer computes what.
        circuits: the units of each layer.
        stream: the dimensions.
        limit: the limit transformer.
    """

    form: NormalForm
    schedule: Schedule
    circuits: tuple[Circuit, ...]
    stream: Stream
    limit: LimitTransformer


def limit_transformer(program: CraspProgram) -> LimitTransformer:
    """The limit transformer of a program."""
    return construct(program).limit


def construct(program: CraspProgram) -> Construction:
    """The limit transformer of a program, with the stages between."""
    form = normal_form(program)
    try:
        plans = schedule(form)
        circuits = tuple(_circuit(form, plan) for plan in plans.layers)
    except WeftError as error:
        raise WeftError(error.what, subject=program.name, remedy=error.remedy) from None
    stream = Stream(plans, circuits)
    limit = _Builder(plans, circuits, stream).limit()
    return Construction(form, plans, circuits, stream, limit)


def _circuit(form: NormalForm, plan: LayerPlan) -> Circuit:
    """The units of a layer's feed-forward."""
    return glue(
        form.diagrams,
        len(form.program.alphabet),
        {("bit", computed.node): computed.inputs for computed in plan.booleans},
        [(("line", gated.line), gated.guard, gated.linear) for gated in plan.gated],
    )


class _Builder:
    """The matrices of a limit transformer."""

    def __init__(self, plans: Schedule, circuits: tuple[Circuit, ...], stream: Stream) -> None:
        self.plans, self.circuits, self.stream = plans, circuits, stream
        self.form, self.program = plans.form, plans.form.program
        self.width = len(stream.dimensions)

    def limit(self) -> LimitTransformer:
        outputs, classes = self._unembedding()
        return LimitTransformer(
            tokens=self.program.alphabet,
            classes=classes,
            dimensions=tuple(dimension.name for dimension in self.stream.dimensions),
            kinds=tuple(dimension.kind for dimension in self.stream.dimensions),
            embedding=self._embedding(),
            positions=self._positions(),
            layers=tuple(
                self._layer(number, plan, circuit)
                for number, (plan, circuit) in enumerate(
                    zip(self.plans.layers, self.circuits, strict=True), 1
                )
            ),
            unembedding=outputs,
            one=self.stream.place("one") if self.stream.has("one") else None,
        )

    # Embedding and output

    def _embedding(self) -> Matrix:
        table = np.zeros((len(self.program.alphabet) + 1, self.width))
        stream, diagrams = self.stream, self.form.diagrams
        table[:, stream.place("constant")] = 1.0
        table[-1, stream.place("begin")] = 1.0
        for place in range(1, len(self.program.alphabet) + 1):
            table[place - 1, stream.place(("symbol", place))] = 1.0
        for name in self.plans.embedded:
            node = self.form.booleans[name]
            if not self._is_positional(node):
                column = stream.place(("bit", node))
                for number in range(len(table)):
                    value = (number + 1) % len(table)  # the begin symbol is token 0 of functions
                    table[number, column] = diagrams.evaluate_single(node, value)
        return table

    def _is_positional(self, node: int) -> bool:
        return any(isinstance(v, Residue) for v in self.form.diagrams.support(node))

    def _positions(self) -> tuple[Matrix, ...]:
        """A table per period."""
        stream, diagrams = self.stream, self.form.diagrams
        tables: dict[int, Matrix] = {}

        def column(period: int, dimension: int) -> Matrix:
            table: Matrix = tables.setdefault(period, np.zeros((period, self.width)))
            return table[:, dimension]

        for variable in stream.residues:
            for values in stream.classes(variable)[1:]:
                column(variable.period, stream.place((variable, values)))[list(values)] = 1.0
        for name in self.plans.embedded:
            node = self.form.booleans[name]
            if self._is_positional(node):
                (variable,) = diagrams.support(node)
                written = column(variable.period, stream.place(("bit", node)))
                for residue in range(variable.period):
                    written[residue] = diagrams.evaluate_single(node, residue)
        return tuple(tables.values())

    def _unembedding(self) -> tuple[Matrix, tuple[str, ...]]:
        constant = self.stream.place("constant")
        if self.program.next_symbols:
            table = np.zeros((len(self.program.alphabet) + 1, self.width))
            for number, symbol in enumerate(self.program.alphabet):
                if symbol in self.program.next_symbols:
                    line = self.program.next_symbols[symbol]
                    table[number, self.stream.lines[line]] = 1.0
            table[-1, constant] = 0.5
            return table, (*self.program.alphabet, "stop")
        table = np.zeros((2, self.width))
        accept = self.stream.lines[self.program.accepting]
        table[0, constant] += 1.0
        table[0, accept] -= 1.0
        table[1, accept] += 1.0
        return table, ("reject", "accept")

    # Layers

    def _layer(self, number: int, plan: LayerPlan, circuit: Circuit) -> LimitLayer:
        heads = [self._counting_head(number, plan)]
        heads += [self._local_head(offset, plan) for offset in plan.reads]
        hidden, output, bias = self._feed_forward(circuit)
        return LimitLayer(tuple(head for head in heads if head is not None), hidden, output, bias)

    def _counting_head(self, number: int, plan: LayerPlan) -> LimitHead | None:
        """The uniform head, which averages everything that is counted."""
        values: list[Affine] = []
        outputs: list[dict[int, float]] = []
        names: list[str] = []
        for counting in plan.countings:
            written = self._written(counting)
            if written:
                values.append(self.stream.counted_value(self.form.bodies[counting]))
                outputs.append(written)
                names.append(self.form.counted(counting))
        if number == 1:
            written = self._written(None)
            if written:
                values.append(Affine({self.stream.place("begin"): 1.0}))
                outputs.append(written)
                names.append("one")
        if not values:
            return None
        nothing = np.zeros((self.width, 1))
        value, output = self._projections(values, outputs)
        return LimitHead(f"mean of {', '.join(names)}", nothing, nothing, value, output, {})

    def _written(self, counting: int | None) -> dict[int, float]:
        """Where a counting is written, with what coefficient; None is for `one`."""
        written: dict[int, float] = {}
        key = "one" if counting is None else ("counting", counting)
        if self.stream.has(key):
            written[self.stream.place(key)] = 1.0
        for name, summands in self.form.counts.items():
            if self.stream.has(("line", name)):
                for summand in summands:
                    if summand.guard == self.form.diagrams.true:
                        coefficient = _coefficient(summand.linear, counting)
                        if coefficient:
                            written[self.stream.place(("line", name))] = float(coefficient)
        return written

    def _local_head(self, offset: int, plan: LayerPlan) -> LimitHead:
        """The head that reads position i - offset."""
        values: list[Affine] = []
        outputs: list[dict[int, float]] = []
        for variable in plan.reads[offset]:
            if isinstance(variable, Shifted):
                values.append(self.stream.counted_value(variable.node))
                outputs.append({self.stream.place(variable): 1.0})
            else:
                for group in self.stream.classes(variable)[1:]:
                    values.append(self.stream.symbols(group))
                    outputs.append({self.stream.place((variable, group)): 1.0})
        query, key = np.zeros((self.width, 1)), np.zeros((self.width, 1))
        query[self.stream.place("constant")] = gap()
        key[self.stream.place("begin")] = 1.0
        value, output = self._projections(values, outputs)
        return LimitHead(f"position i - {offset}", query, key, value, output, {offset: 2 * gap()})

    def _projections(
        self, values: list[Affine], outputs: list[dict[int, float]]
    ) -> tuple[Matrix, Matrix]:
        value = np.zeros((self.width, len(values)))
        output = np.zeros((len(values), self.width))
        for place, (read, written) in enumerate(zip(values, outputs, strict=True)):
            for dimension, weight in read.weights.items():
                value[dimension, place] = weight
            for dimension, weight in written.items():
                output[place, dimension] = weight
        return value, output

    # Feed-forwards

    def _feed_forward(self, circuit: Circuit) -> tuple[tuple[HiddenUnits, ...], Matrix, Matrix]:
        first = list(circuit.first)
        names = [self._name(unit) for unit in first]
        hidden = [self._hidden([self._first(unit) for unit in first], self.width, names)]
        last: list[Unit] = [*first]
        if circuit.second:
            below = {unit: place for place, unit in enumerate(first)}
            last = [*circuit.second]
            rows = [self._second(unit, below) for unit in circuit.second]
            hidden.append(self._hidden(rows, len(first), ["" for _ in last]))
        output, bias = np.zeros((self.width, len(last))), np.zeros(self.width)
        places = {unit: place for place, unit in enumerate(last)}
        for target, sums in circuit.writes.items():
            dimension = self.stream.place(target)
            for total in sums:
                bias[dimension] += total.constant
                for unit, weight in total.terms:
                    output[dimension, places[unit]] += weight
        return tuple(hidden), output, bias

    def _hidden(self, rows: list[tuple[Affine, bool]], below: int, names: list[str]) -> HiddenUnits:
        weights, biases = np.zeros((len(rows), below)), np.zeros(len(rows))
        for number, (total, _) in enumerate(rows):
            for place, weight in total.weights.items():
                weights[number, place] = weight
            biases[number] = total.constant
        heaviside = np.array([is_step for _, is_step in rows], dtype=bool)
        return HiddenUnits(weights, biases, heaviside, tuple(names))

    def _first(self, unit: FirstUnit) -> tuple[Affine, bool]:
        """What a unit computes before its activation, and whether that is Heaviside's."""
        total = Affine()
        if isinstance(unit, Vote):
            total.constant = unit.bias - 0.5
            for (variable, values), weight in unit.weights:
                total.add(self.stream.literal(variable, values), weight)
            return total, True
        times = 1.0
        if isinstance(unit, Gate):
            total.add(self.stream.linear_value(unit.linear), 1 / unit.scale)
        elif unit.form is None:
            total.constant = 0.5
        else:
            sign = -1.0 if unit.below else 1.0
            total.add(self.stream.form_value(unit.form), sign)
            total.add(Affine({self.stream.place("one"): 0.5 - unit.cut}), sign)
            times = _above(unit)
        for variable, values in unit.literals:
            total.add(self.stream.literal(variable, values), times)
            total.constant -= times
        return total, not isinstance(unit, Gate)

    def _second(self, unit: SecondUnit, places: dict[FirstUnit, int]) -> tuple[Affine, bool]:
        total = Affine({places[first]: float(weight) for first, weight in unit.inputs})
        total.constant = unit.bias - (0.0 if unit.gate else 0.5)
        return total, not unit.gate

    def _name(self, unit: FirstUnit) -> str:
        if isinstance(unit, Conjunction) and unit.form is not None:
            form = self.form.describe_linear(Linear(unit.form.terms))
            return f"{form} {'<' if unit.below else '>='} {unit.cut}"
        return ""


def _coefficient(linear: Linear, counting: int | None) -> int:
    return linear.constant if counting is None else linear.countings.get(counting, 0)


def _above(unit: Conjunction) -> float:
    """A power of two that is at least 1 above anything that a comparison's difference can be."""
    assert unit.form is not None
    sign = -1 if unit.below else 1
    largest = sum(max(0, sign * coefficient) for _, coefficient in unit.form.terms)
    largest = max(largest, sign * (1 - unit.cut), 0) + 1
    return float(1 << (largest - 1).bit_length())
