"""Limit transformers, the object of the theory of length generalisation, and how to run them.

A limit transformer (Huang et al. 2025, section 3) has no longest input. Its heads score a key j for
a query i by

    a_ij = (K y_j) · (Q y_i) + phi(j, i)

and attend by softmax of log N · a_ij over j <= i, N the number of tokens. Its position vectors are
periodic, p_i = p_(i + Delta) (PERIODIC); phi(j, i) depends on i - j alone and is zero for
i - j > tau (LOCAL). Here both hold by construction: positions are sums of rows of tables, one table
per period, and phi is a table by offset. Feed-forwards have Heaviside units, [x > 0], and ReLU
units.

`run` computes in float64. Scores, and the exponentials of their differences to the largest score,
are rounded to `precision` fractional bits; scores that are lower by `gap` then have weight exactly
0 in inputs of any length.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

Matrix = NDArray[np.float64]

PRECISION = 24
"""Fractional bits of scores and exponentials."""


def gap(precision: int = PRECISION) -> float:
    """A difference of scores at which weights round to 0: N ** -gap < 2 ** -(precision + 1)."""
    return precision + 2.0


@dataclass(frozen=True, eq=False)
class LimitHead:
    """A head.

    Attributes:
        name: what it does.
        query: projection of the stream to queries.
        key: projection to keys.
        value: projection to values.
        output: projection of mixed values back to the stream.
        phi: by offset i - j, what is added to scores; zero for all other offsets.
    """

    name: str
    query: Float[Matrix, "d k"]
    key: Float[Matrix, "d k"]
    value: Float[Matrix, "d v"]
    output: Float[Matrix, "v d"]
    phi: Mapping[int, float]

    @property
    def range(self) -> int:
        """The largest offset at which phi is not zero; 0 if there is none."""
        return max((offset for offset, score in self.phi.items() if score), default=0)


@dataclass(frozen=True, eq=False)
class HiddenUnits:
    """A hidden layer of a feed-forward.

    Attributes:
        weights: on what is below.
        biases: constant summands.
        heaviside: whether each unit is [x > 0]; the others are max(x, 0).
        names: what each unit computes.
    """

    weights: Float[Matrix, "units below"]
    biases: Float[Matrix, " units"]
    heaviside: Bool[NDArray[np.bool_], " units"]
    names: tuple[str, ...]

    def __call__(self, below: Float[Matrix, "length below"]) -> Float[Matrix, "length units"]:
        x = below @ self.weights.T + self.biases
        return np.where(self.heaviside, (x > 0).astype(float), np.maximum(x, 0.0))


@dataclass(frozen=True, eq=False)
class LimitLayer:
    """A layer: heads, then a feed-forward of one or two hidden layers.

    Attributes:
        heads: the heads.
        hidden: the hidden layers.
        output: projection of the last hidden layer to the stream.
        bias: what is added to the stream whatever the units give.
    """

    heads: tuple[LimitHead, ...]
    hidden: tuple[HiddenUnits, ...]
    output: Float[Matrix, "d units"]
    bias: Float[Matrix, " d"]


@dataclass(frozen=True, eq=False)
class LimitTransformer:
    """A transformer for inputs of any length.

    Attributes:
        tokens: the symbols; the begin symbol is one more token, behind them.
        classes: the names of the outputs.
        dimensions: the names of the stream's dimensions.
        kinds: whether each is a Boolean or a count.
        embedding: a row per token.
        positions: tables with a row per residue of the position, for one period each; they add up.
        layers: the layers.
        unembedding: the outputs, as linear functions of the last stream.
        one: the dimension that holds 1 / (i + 1); None if there is none.
        precision: see the module.
    """

    tokens: tuple[str, ...]
    classes: tuple[str, ...]
    dimensions: tuple[str, ...]
    kinds: tuple[Literal["boolean", "count"], ...]
    embedding: Float[Matrix, "tokens d"]
    positions: tuple[Float[Matrix, "period d"], ...]
    layers: tuple[LimitLayer, ...]
    unembedding: Float[Matrix, "outputs d"]
    one: int | None = None
    precision: int = PRECISION

    @property
    def period(self) -> int:
        """Delta: position vectors repeat after this many positions."""
        return math.lcm(*map(len, self.positions))

    @property
    def range(self) -> int:
        """tau: phi is zero beyond this offset."""
        return max((head.range for layer in self.layers for head in layer.heads), default=0)

    def run(
        self, word: Sequence[str], *, precision: int | None = None
    ) -> Float[Matrix, "length d"]:
        """The last stream of a word, for the begin symbol and each position.

        Args:
            word: the symbols.
            precision: fractional bits of scores and exponentials; as constructed by default.

        Example:
            >>> from weft.crasp import Comparison, Counting, CraspProgram, Line, Symbol
            >>> from weft.crasp.limit.construct import limit_transformer
            >>> ones = Comparison(">=", Counting(Symbol("1")), Counting(Symbol("0")))
            >>> model = limit_transformer(CraspProgram(("0", "1"), (Line("enough", ones),)))
            >>> model.value(model.run("1001"), "enough")
            array([1., 1., 1., 0., 1.])
        """
        bits = self.precision if precision is None else precision
        numbers = [len(self.tokens), *(self.tokens.index(symbol) for symbol in word)]
        stream: Matrix = self.embedding[numbers] + self.position_rows(len(numbers))
        for layer in self.layers:
            stream = stream + sum(
                (_attend(head, stream, bits) for head in layer.heads), np.zeros_like(stream)
            )
            hidden = stream
            for units in layer.hidden:
                hidden = units(hidden)
            stream = stream + hidden @ layer.output.T + layer.bias
        return stream

    def position_rows(self, count: int) -> Float[Matrix, "count d"]:
        """The position vectors of the first positions."""
        rows = np.zeros((count, len(self.dimensions)))
        for table in self.positions:
            rows += table[np.arange(count) % len(table)]
        return rows

    def value(self, stream: Float[Matrix, "length d"], name: str) -> Float[Matrix, " length"]:
        """One dimension of a stream, by its name."""
        column: Matrix = stream[:, self.dimensions.index(name)]
        return column

    def outputs(self, stream: Float[Matrix, "length d"]) -> Float[Matrix, "length outputs"]:
        """The scores of the classes."""
        scores: Matrix = stream @ self.unembedding.T
        return scores


def _attend(head: LimitHead, stream: Matrix, bits: int) -> Matrix:
    """What a head adds to the stream."""
    length = len(stream)
    scores = (stream @ head.query) @ (stream @ head.key).T
    for offset, added in head.phi.items():
        if offset < length:
            queries = np.arange(offset, length)
            scores[queries, queries - offset] += added
    visible = np.tri(length, dtype=bool)
    scores = np.where(visible, _rounded(scores, bits), -np.inf)
    below = scores - scores.max(axis=1, keepdims=True)
    powers = _rounded(np.exp(math.log(length) * below), bits) if length > 1 else np.ones((1, 1))
    weights = powers / powers.sum(axis=1, keepdims=True)
    added_: Matrix = weights @ (stream @ head.value) @ head.output
    return added_


def _rounded(numbers: Any, bits: int) -> Any:
    """Rounded to a number of fractional bits."""
    return np.round(numbers * 2.0**bits) / 2.0**bits
