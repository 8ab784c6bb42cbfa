"""The LayerNorm construction of Yang and Chiang (2024), "Counting like transformers".

Where the limit-transformer construction compares counts by steep units, this one lets LayerNorm
divide by 1/(i + 1), so it needs no slope that grows with the length. Layers are post-norm:

    y = LayerNorm(x + attention(x))        x' = LayerNorm(y + feed_forward(y))

Everything is held twice, as (v, -v), so that the mean is 0 and LayerNorm only divides. Before a
layer, Booleans are ±1 and all other dimensions 0.

1. A uniform head writes the linear forms of counts that are compared, divided by i + 1, and
   `one` = 1/(i + 1). LayerNorm then multiplies all by the same number, which changes no comparison.
2. The feed-forward has two hidden layers of ReLUs and no bias that matters to it: `one` takes the
   place of constants. The first layer clips what is compared, and the Booleans, to multiples of
   `one`. The second combines them, and clips again, which removes the rounding errors of the first.
   Forms and `one` are cancelled; every Boolean is now ±`one` times the same number.
3. LayerNorm divides that number out: Booleans are ±1 again.

Counts do not survive step 2. A count that is compared in several layers is counted in each of them,
and only Boolean lines can be read from the last stream. There are no positions, so programs with
periodic or local predicates are refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from weft.crasp.construction import CompiledCrasp, text_format, too_long, vocabulary
from weft.crasp.limit.construct import Construction
from weft.crasp.limit.intervals import Node
from weft.crasp.limit.normal_form import Form, Linear, NormalForm, TokenAt, values_of
from weft.errors import WeftError
from weft.models.slots import Layout, Slot
from weft.models.transformer import Transformer
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import AttentionMatrices, FeedForwardMatrices, LayerMatrices
from weft.weights.precision import FORMATS, Format

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

AMPLIFICATION = 16
"""Booleans enter LayerNorm at this many times `one` (n + 1) / 2, far above its epsilon of 1e-5."""


class CompiledLayerNorm(CompiledCrasp):
    """A program as a Transformer of the LayerNorm construction.

    The slot of a Boolean line holds 1 or -1; the dimension after it is the negative.
    """

    @property
    def lines(self) -> tuple[str, ...]:
        """The Boolean lines: counts do not survive a layer."""
        return tuple(name for name, kind in self.program.kinds.items() if kind == "Boolean")

    @property
    def heads(self) -> int:
        """One head per layer."""
        return self.model.config.layers

    @property
    def units(self) -> int:
        """The number of hidden units that do something, in all layers."""
        weights = (w for name, w in self.model.named_parameters() if "feed_forward.weights" in name)
        return sum(int(w.any(1).sum()) for w in weights if w.shape[0] != self.model.config.width)

    def explain(self) -> list[str]:
        """What each layer computes, line by line."""
        return _Construction(self.construction.form, self.max_length).explain()


def compile_layernorm(
    construction: Construction, max_length: int, format_: Format
) -> CompiledLayerNorm:
    """Compile a program without predicates; `compile_crasp(program, form="layernorm")` calls this.

    Args:
        construction: the stages of the program, of which the normal form is used.
        max_length: the longest word.
        format_: `float32` or `float64`.

    Example:
        >>> from weft.crasp import library
        >>> from weft.crasp.construction import compile_crasp
        >>> compiled = compile_crasp(library.load("dyck-1"), form="layernorm")
        >>> compiled.model.answer("(())"), compiled.model.config.norm
        ('accept', 'post')
    """
    began = time.perf_counter()
    program = construction.form.program
    if format_.name == "bfloat16":
        raise WeftError(
            "the LayerNorm construction needs more digits than bfloat16 has",
            subject=program.name,
            remedy="Use float32 or float64",
        )
    parts = _Construction(construction.form, max_length)
    longest = parts.longest(format_)
    if max_length > longest:
        enough = [name for name, other in FORMATS.items() if parts.longest(other) >= max_length]
        raise too_long(program, max_length, longest, format_, enough)
    model = parts.emit(format_.name)
    seconds = time.perf_counter() - began
    return CompiledLayerNorm(
        program, model, construction, "layernorm", max_length, longest, 0.0, seconds
    )


class _Construction:
    """The dimensions, and the layers over them."""

    def __init__(self, form: NormalForm, max_length: int) -> None:
        self.form = form
        self.max_length = max_length
        self.scale = float(AMPLIFICATION * (max_length + 1))
        self.alphabet = form.program.alphabet
        nodes = dict.fromkeys([*form.bodies, *form.booleans.values()])
        self.depth = max(1, *(form.layer(node) for node in nodes))
        self.by_layer: list[list[Node]] = [
            [node for node in nodes if form.layer(node) == layer] for layer in range(self.depth + 1)
        ]
        self.symbols = {token: 2 * token for token in range(len(self.alphabet) + 1)}
        self.true = 2 * len(self.symbols)
        end = self.true + 2
        self.functions: dict[Node, int] = {}
        for node in nodes:
            self.functions[node] = end
            end += 2
        self.one = end
        self.forms: dict[tuple[int, Form], int] = {}
        for layer in range(1, self.depth + 1):
            for variable in self._forms(layer):
                self.forms[layer, variable] = end = end + 2
        self.width = end + 2

    def _forms(self, layer: int) -> list[Form]:
        """The forms of counts that a layer compares."""
        used = {
            variable: None
            for node in self.by_layer[layer]
            for variable in sorted(self.form.diagrams.support(node), key=lambda v: str(v.key))
            if isinstance(variable, Form)
        }
        return list(used)

    def live(self, layer: int) -> list[int]:
        """The dimensions of Booleans before a layer, from 1 on."""
        known = [node for nodes in self.by_layer[:layer] for node in nodes]
        return [*self.symbols.values(), self.true, *(self.functions[node] for node in known)]

    def longest(self, format_: Format) -> int:
        """The largest length at which a number format tells all counts apart."""
        return int(1 / (64 * self.largest_form * format_.roundoff))

    @property
    def largest_form(self) -> int:
        """A bound on the coefficients of a comparison, added up."""
        cuts = [
            abs(cut)
            for nodes in self.by_layer
            for node in nodes
            for variable, tested in self.form.diagrams.cuts(node).items()
            for cut in tested
            if isinstance(variable, Form)
        ]
        sums = (sum(abs(c) for _, c in variable.terms) for _, variable in self.forms)
        return 1 + max(sums, default=0) + max(cuts, default=0)

    def explain(self) -> list[str]:
        """What each layer computes, line by line."""
        lines = []
        for number in range(1, self.depth + 1):
            forms = [
                self.form.describe_linear(Linear(variable.terms))
                for layer, variable in self.forms
                if layer == number
            ]
            lines.append(f"layer {number}, head: mean of {', '.join([*forms, 'one'])}")
            names = [self.form.describe(node) for node in self.by_layer[number]]
            lines.append(f"layer {number}, units: {', '.join(names) or 'nothing new'}")
        return lines

    def emit(self, dtype: str) -> Transformer:
        """The model."""
        layers = [self._layer(number) for number in range(1, self.depth + 1)]
        program = self.form.program
        slots = [
            Slot(name, "number", self.functions[node], 1, values=(-1.0, 1.0))
            for name, node in self.form.booleans.items()
        ]
        names = tuple(f"layer {number + 1}: means" for number in range(self.depth))
        return emit(
            layers,
            EmbeddingTables(self._embedding(), self._unembedding()),
            causal=True,
            activation="relu",
            dtype=dtype,
            max_length=self.max_length + 1,
            layout=Layout(tuple(slots), (names,)),
            vocabulary=vocabulary(program),
            text=text_format(program, self.max_length),
            norm="post",
            norm_type="layer",
        )

    def _layer(self, number: int) -> LayerMatrices:
        after = len(self.live(number + 1))
        gain = np.full(self.width, np.sqrt(2 * after / self.width))
        others = {
            "norms.0.gain": np.ones(self.width),
            "norms.0.bias": np.zeros(self.width),
            "norms.1.gain": gain,
            "norms.1.bias": np.zeros(self.width),
        }
        return LayerMatrices(self._attention(number), self._feed_forward(number), others)

    # Tables

    def _embedding(self) -> Matrix:
        """Symbols, and the functions of symbols; the last row is that of the begin symbol."""
        table = np.zeros((len(self.symbols), self.width))
        for symbol in self.symbols:
            row = table[symbol - 1]  # in normal form, 0 is the begin symbol
            _put(row, self.true, 1.0)
            for other, dimension in self.symbols.items():
                _put(row, dimension, 1.0 if other == symbol else -1.0)
            for node in self.by_layer[0]:
                value = partial(_constant, symbol)
                _put(row, self.functions[node], self.form.diagrams.evaluate(node, value) * 2.0 - 1)
        return table

    def _unembedding(self) -> Matrix:
        """Reject and accept; or the symbols that may follow, and `stop`, whose logit is 0."""
        program = self.form.program
        if not program.next_symbols:
            accept = self.functions[self.form.booleans[program.accepting]]
            table = np.zeros((2, self.width))
            table[0, accept + 1] = table[1, accept] = 1.0
            return table
        table = np.zeros((len(self.alphabet) + 1, self.width))
        for place, symbol in enumerate(self.alphabet):
            if symbol in program.next_symbols:
                node = self.form.booleans[program.next_symbols[symbol]]
                table[place, self.functions[node]] = 1.0
            else:
                table[place, self.true + 1] = 1.0
        return table

    # Layers

    def _attention(self, number: int) -> AttentionMatrices:
        """A uniform head: `one`, and the forms that this layer compares, each with its negative.

        The mean of a Boolean ±1 is 2 (C + b)/(i + 1) - 1, where b is its value at the begin symbol.
        """
        written = [self.one, *(d for (layer, _), d in self.forms.items() if layer == number)]
        value = np.zeros((1, self.width, len(written)))
        one = np.zeros(self.width)
        one[self.symbols[0]] = one[self.true] = 0.5
        value[0, :, 0] = one
        for (layer, variable), dimension in self.forms.items():
            if layer != number:
                continue
            column = value[0, :, written.index(dimension)]
            for counting, coefficient in variable.terms:
                body = self.form.bodies[counting]
                column[self.functions[body]] += coefficient / 2
                column[self.true] += coefficient / 2
                if self.form.at_begin(body):
                    column -= coefficient * one
        output = np.zeros((1, len(written), self.width))
        for place, dimension in enumerate(written):
            _put(output[0, place], dimension, 1.0)
        empty = np.zeros((1, self.width, 1))
        return AttentionMatrices(empty, empty, value, output)

    def _feed_forward(self, number: int) -> FeedForwardMatrices:
        """Two hidden layers of ReLUs; see the module's description."""
        first, second = _Units(), _Units()
        one = _entry(self.one)
        unit = first.relu(one)  # `one`, as a unit
        reached: dict[tuple[Form, int], _Linear] = {}
        for node in self.by_layer[number]:
            for variable, cuts in self.form.diagrams.cuts(node).items():
                for cut in cuts if isinstance(variable, Form) else ():
                    middle = _entry(self.forms[number, variable]) - one * (cut - 0.5)
                    steps = first.relu(middle + one / 4) - first.relu(middle - one / 4)
                    reached[variable, cut] = steps * 2
        known = {
            dimension: first.relu(_entry(dimension) + one / 2)
            - first.relu(_entry(dimension) - one / 2)
            for dimension in self.live(number)
        }

        def sharpened(value: _Linear) -> _Linear:
            """0 or `one`, for a value within a quarter of either."""
            return (second.relu(value - unit / 4) - second.relu(value - unit * 0.75)) * 2

        results = {dimension: sharpened(value) for dimension, value in known.items()}
        for node in self.by_layer[number]:
            cases = _Linear()
            for path in self.form.diagrams.paths(node):
                literals = [
                    self._literal(node, variable, numbers, reached, known, unit)
                    for variable, numbers in path.items()
                ]
                meeting = sum(literals, unit * (1 - len(literals)))
                cases += sharpened(meeting)
            results[self.functions[node]] = cases
        written = {
            dimension: (value - second.relu(unit) / 2) * self.scale
            for dimension, value in results.items()
        }
        forms = [d for (layer, _), d in self.forms.items() if layer == number]
        for dimension in (*known, self.one, *forms):  # cancel what the stream held
            entry = _entry(dimension)
            held = second.relu(first.relu(entry)) - second.relu(first.relu(entry * -1))
            written[dimension] = written.get(dimension, _Linear()) - held
        output = np.zeros((self.width, len(second)))
        for dimension, value in written.items():
            for place, weight in value.items():
                _put(output[:, place], dimension, weight)
        weights = first.matrix(self.width), second.matrix(len(first)), output
        return FeedForwardMatrices(weights, tuple(np.zeros(len(matrix)) for matrix in weights))

    def _literal(
        self,
        node: Node,
        variable: TokenAt | Form,
        numbers: frozenset[int],
        reached: Mapping[tuple[Form, int], _Linear],
        known: Mapping[int, _Linear],
        one: _Linear,
    ) -> _Linear:
        """`one` if a variable lies in one of these intervals, otherwise 0."""
        cuts = self.form.diagrams.cuts(node)[variable]
        if isinstance(variable, TokenAt):
            tokens = values_of(cuts, numbers, len(self.symbols))
            return sum((known[self.symbols[token]] for token in tokens), _Linear())
        total = _Linear()
        for interval in numbers:
            total += reached[variable, cuts[interval - 1]] if interval else one
            if interval < len(cuts):
                total -= reached[variable, cuts[interval]]
        return total


class _Linear(dict[int, float]):
    """A linear combination of dimensions of the stream, or of units of a hidden layer."""

    def __add__(self, other: _Linear) -> _Linear:
        total = _Linear(self)
        for place, weight in other.items():
            total[place] = total.get(place, 0.0) + weight
        return total

    def __sub__(self, other: _Linear) -> _Linear:
        return self + other * -1

    def __mul__(self, times: float) -> _Linear:
        return _Linear({place: times * weight for place, weight in self.items()})

    def __truediv__(self, by: float) -> _Linear:
        return self * (1 / by)


def _entry(dimension: int) -> _Linear:
    return _Linear({dimension: 1.0})


class _Units:
    """The units of a hidden layer, of which equal ones are shared."""

    def __init__(self) -> None:
        self._units: dict[tuple[tuple[int, float], ...], int] = {}

    def __len__(self) -> int:
        return len(self._units)

    def relu(self, value: _Linear) -> _Linear:
        """A unit, as the combination of itself alone."""
        key = tuple(sorted((place, weight) for place, weight in value.items() if weight))
        return _entry(self._units.setdefault(key, len(self._units)))

    def matrix(self, inputs: int) -> Matrix:
        """The weights of all units."""
        matrix = np.zeros((len(self._units), inputs))
        for weights, row in zip(self._units, matrix, strict=True):
            for place, weight in weights:
                row[place] = weight
        return matrix


def _constant(value: int, variable: object) -> int:
    return value


def _put(row: Vector, dimension: int, value: float) -> None:
    """Write a value, and its negative beside it."""
    row[dimension], row[dimension + 1] = value, -value
