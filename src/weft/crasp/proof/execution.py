"""Symbolic execution: what every dimension of the stream holds, layer by layer, from the weights.

Dimensions are looked at only if something reads them. Of a head or a unit that is not understood,
what it writes is unknown, which matters only if it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from weft.crasp.proof.heads import (
    Attends,
    Embeddings,
    NotUnderstood,
    Uniform,
    attends_to,
    head_weights,
    stored,
)
from weft.crasp.proof.nodes import Numbers
from weft.crasp.proof.values import Arithmetic, Known, Unknown, Value
from weft.models.config import TransformerConfig
from weft.proofs.rounding import Array


class Execution:
    """The stream of a model, as far as it has been executed."""

    def __init__(
        self,
        tensors: Mapping[str, Array],
        config: TransformerConfig,
        embeddings: Embeddings,
        arithmetic: Arithmetic,
    ) -> None:
        self.tensors, self.config = tensors, config
        self.embeddings, self.arithmetic = embeddings, arithmetic
        self.stream: dict[int, Value] = {}
        self.written: set[int] = set()

    def run(self) -> None:
        """Execute all layers."""
        for number in range(self.config.layers):
            self._attend(number)
            self._feed_forward(number)

    def value(self, dimension: int) -> Value:
        """What a dimension holds now."""
        if dimension not in self.stream:
            self.stream[dimension] = self._embedded(dimension)
        return self.stream[dimension]

    def logits(self) -> list[Value]:
        """The outputs."""
        return [
            self.arithmetic.linear((float(row[d]), self.value(d)) for d in _places(row))
            for row in self.tensors["unembedding"]
        ]

    def _embedded(self, dimension: int) -> Known:
        """What tokens and positions put into a dimension."""
        given, make = self.embeddings, self.arithmetic.diagrams
        positions = np.zeros(given.count)
        if given.positions is not None:
            positions = given.positions[: given.count, dimension]
        distinct, places = np.unique(positions, return_inverse=True)
        diagrams = []
        for added in distinct:
            values = given.symbols[:, dimension]
            if given.positions is not None:
                values = stored(values + added, given.dtype)
            diagrams.append(make.by_symbol([Fraction(value) for value in values.tolist()]))
        roots = np.array(diagrams, np.int64)[places.reshape(-1)]
        first = float(given.begin[dimension])
        if given.positions is not None:
            first = float(stored(np.array([first + positions[0]]), given.dtype)[0])
        roots[0] = make.leaf(Fraction(first))
        return Known(make.function(roots), self.arithmetic.exact)

    # Layers

    def _attend(self, layer: int) -> None:
        added: dict[int, list[tuple[float, Value]]] = {}
        values = self.tensors[f"layers.{layer}.attention.value"]
        outputs = self.tensors[f"layers.{layer}.attention.output"]
        for head, (value, output) in enumerate(zip(values, outputs, strict=True)):
            used = np.flatnonzero((value != 0).any(0) & (output != 0).any(1))
            attends = self._attends(layer, head) if len(used) else None
            for channel in used.tolist():
                assert attends is not None
                mixed = self._mixed(attends, value[:, channel])
                for dimension in _places(output[channel]):
                    weight = float(output[channel, dimension])
                    added.setdefault(dimension, []).append((weight, mixed))
        self._write(added, {})

    def _attends(self, layer: int, head: int) -> Attends | Unknown:
        weights = head_weights(self.tensors, self.config, layer, head)
        try:
            return attends_to(weights, self.embeddings, frozenset(self.written))
        except NotUnderstood as error:
            return Unknown(f"head {head} of layer {layer} is not understood: {error}")

    def _mixed(self, attends: Attends | Unknown, column: Numbers) -> Value:
        if isinstance(attends, Unknown):
            return attends
        terms = ((float(column[d]), self.value(d)) for d in _places(column))
        projected = self.arithmetic.linear(terms)
        if isinstance(attends, Uniform):
            return self.arithmetic.mean(projected)
        return self.arithmetic.fetched(projected, attends.sources)

    def _feed_forward(self, layer: int) -> None:
        prefix, depth = f"layers.{layer}.feed_forward", len(self.config.hidden)
        weights = [self.tensors[f"{prefix}.weights.{place}"] for place in range(depth + 1)]
        biases = [self.tensors[f"{prefix}.biases.{place}"] for place in range(depth + 1)]
        units: dict[tuple[int, int], Value] = {}
        arithmetic, clipped = self.arithmetic, self.config.activation == "clipped"

        def unit(place: int, number: int) -> Value:
            """A unit of a hidden layer, counted from 1; layer 0 is the stream."""
            if place == 0:
                return self.value(number)
            if (place, number) not in units:
                row = weights[place - 1][number]
                terms = [(float(row[k]), unit(place - 1, k)) for k in _places(row)]
                total = arithmetic.linear(terms, float(biases[place - 1][number]))
                units[place, number] = arithmetic.activate(total, clipped)
            return units[place, number]

        added = {
            dimension: [(float(row[k]), unit(depth, k)) for k in _places(row)]
            for dimension, row in enumerate(weights[-1])
            if row.any()
        }
        self._write(added, {d: float(biases[-1][d]) for d in _places(biases[-1])})

    def _write(
        self, added: Mapping[int, list[tuple[float, Value]]], biases: Mapping[int, float]
    ) -> None:
        results = {
            dimension: self.arithmetic.linear(
                [(1.0, self.value(dimension)), *added.get(dimension, [])],
                biases.get(dimension, 0.0),
            )
            for dimension in {*added, *biases}
        }
        self.stream.update(results)
        self.written |= set(results)


def _places(row: Numbers) -> list[int]:
    places: list[int] = np.flatnonzero(row).tolist()
    return places
