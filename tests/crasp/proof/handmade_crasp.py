"""A C-RASP model that was constructed by hand, in two forms, for the verifier to look at."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from weft.crasp import (
    And,
    Comparison,
    Conditional,
    Counting,
    CraspProgram,
    Exists,
    Integer,
    Line,
    Name,
    Not,
    Periodic,
    Position,
    Previous,
    Symbol,
)
from weft.models.slots import Layout, Slot
from weft.models.transformer import Transformer
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import (
    AttentionMatrices,
    FeedForwardMatrices,
    LayerMatrices,
    Matrix,
    no_heads,
    stack_heads,
)

A, B = Symbol("a"), Symbol("b")

PROGRAM = CraspProgram(
    ("a", "b"),
    (
        Line("more", Comparison(">", Counting(A), Counting(B))),
        Line("before", Previous(Name("more"))),
        Line("odd", Position(Periodic(2, (1,)))),
        Line("n", Conditional(Name("more"), Counting(A), Integer(0))),
        Line("m", Counting(Name("more"))),
        Line("ever", Exists(Name("more"))),
        Line("accept", And((Name("ever"), Not(Name("before"))))),
    ),
    name="ahead",
)

NAMES = (
    "constant", "begin", "Q_a", "Q_b", "one", "share_a", "share_b",
    "more", "before", "odd", "n", "m", "ever", "accept",
)  # fmt: skip
PLACE = {name: place for place, name in enumerate(NAMES)}
COUNTS = ("one", "share_a", "share_b", "n", "m")
MARGIN = {"float32": 128.0, "float64": 800.0, "bfloat16": 128.0}


def row(weights: dict[str, float], width: int) -> Matrix:
    result = np.zeros(width)
    for name, weight in weights.items():
        result[PLACE[name]] = weight
    return result


def head(pairs: dict[str, str], width: int, **others: Any) -> AttentionMatrices:
    """A head that writes one dimension to another; uniform unless it has scores."""
    value, output = np.zeros((1, width, len(pairs))), np.zeros((1, len(pairs), width))
    for channel, (source, target) in enumerate(pairs.items()):
        value[0, PLACE[source], channel] = output[0, channel, PLACE[target]] = 1
    zero = np.zeros((1, width, 1))
    given = {"query": zero, "key": zero, **others}
    return AttentionMatrices(value=value, output=output, **given)


def units(given: list[tuple[dict[str, float], float, str]], width: int) -> FeedForwardMatrices:
    first = np.stack([row(weights, width) for weights, _, _ in given])
    last = np.stack([row({into: 1.0}, width) for _, _, into in given], 1)
    biases = np.array([bias for _, bias, _ in given])
    return FeedForwardMatrices((first, last), (biases, np.zeros(width)))


def previous(
    form: Literal["offsets", "absolute"], longest: int, width: int, dtype: str
) -> AttentionMatrices:
    margin = MARGIN[dtype]
    if form == "offsets":
        query, key = row({"constant": margin}, width), row({"begin": 1.0}, width)
        bias = np.array([[0, 2 * margin, 0, 0, 0]])
        return head(
            {"more": "before"}, width, query=query[None, :, None], key=key[None, :, None], bias=bias
        )
    places = len(NAMES) + np.arange(longest + 1)
    query = np.zeros((1, width, longest + 1))
    key = np.zeros((1, width, longest + 1))
    query[0, places[1:], np.arange(longest)] = 2 * margin  # position i asks for i - 1
    query[0, places[0], 0] = 2 * margin
    key[0, places, np.arange(longest + 1)] = 1
    return head({"more": "before"}, width, query=query, key=key)


def ahead(
    longest: int = 20,
    *,
    form: Literal["offsets", "absolute"] = "offsets",
    dtype: str = "float32",
    slope: float | None = None,
    max_length: int | None = None,
) -> Transformer:
    """A model of `PROGRAM`.

    Args:
        longest: the longest word that it is made for.
        form: whether the local head goes by biases or by positions.
        dtype: its number format.
        slope: the slope of its comparisons; a good one by default.
        max_length: what the config says; as it was made by default.
    """
    steep = slope or float(2 ** np.ceil(np.log2(2 * (longest + 1))))
    positions = (max_length or longest + 1) + 3
    width = len(NAMES) + (longest + 1 if form == "absolute" else 0)
    table = np.zeros((positions, width))
    table[1::2, PLACE["odd"]] = 1
    if form == "absolute":
        table[np.arange(longest + 1), len(NAMES) + np.arange(longest + 1)] = 1
    embedding = np.stack(
        [
            row({"constant": 1, "Q_a": 1}, width),
            row({"constant": 1, "Q_b": 1}, width),
            row({"constant": 1, "begin": 1}, width),
        ]
    )
    unembedding = np.stack([row({"constant": 1, "accept": -1}, width), row({"accept": 1}, width)])
    counted = {"m": steep, "one": -steep / 2}
    first = LayerMatrices(
        head({"Q_a": "share_a", "Q_b": "share_b", "begin": "one"}, width),
        units([({"share_a": steep, "share_b": -steep, "one": -steep / 2}, 0.5, "more")], width),
    )
    second = LayerMatrices(
        stack_heads(
            [head({"more": "m"}, width), previous(form, longest, width, dtype)], no_heads(width)
        ),
        units(
            [
                (counted, 0.5, "ever"),
                ({**counted, "before": -2 * steep}, 0.5, "accept"),
                ({"share_a": 1.0, "more": 1.0}, -1.0, "n"),
            ],
            width,
        ),
    )
    kinds: dict[str, Any] = {name: "count" if name in COUNTS else "boolean" for name in NAMES}
    layout = Layout(tuple(Slot(name, kinds[name], PLACE[name], 1) for name in NAMES))
    return emit(
        [first, second],
        EmbeddingTables(embedding, unembedding, table),
        causal=True,
        dtype=dtype,
        layout=layout,
        max_length=max_length or longest + 1,
    )
