"""Level 0 is the construction of the ALTA paper's appendix A.2, to the letter."""

from __future__ import annotations

import numpy as np

import paper_listings as listings
import weft

# Rows: rules 1 to 7. Columns: parity 0 1, parity_left 0 1, done 0 1, done_left 0 1.
FIRST = [
    [1, 0, 0, 1, 1, 0, 0, 1],
    [0, 1, 0, 1, 1, 0, 0, 1],
    [0, 0, 0, 0, 1, 0, 0, 1],
    [0, 0, 1, 0, 0, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 1, 0],
    [0, 0, 0, 0, 0, 0, 0, 1],
]
BIAS = [-3, -3, -1, 0, 0, 0, 0]
# Rows: the same dimensions. Columns: rules.
SECOND = [
    [-1, 1, 0, 0, 0, 0, 0],
    [1, -1, 0, 0, 0, 0, 0],
    [0, 0, 0, -1, 0, 0, 0],
    [0, 0, 0, 0, -1, 0, 0],
    [0, 0, -1, 0, 0, 0, 0],
    [0, 0, 1, 0, 0, 0, 0],
    [0, 0, 0, 0, 0, -1, 0],
    [0, 0, 0, 0, 0, 0, -1],
]
ORDER = ("parity", "parity_left", "done", "done_left")


def dimensions(model) -> list[int]:
    return [
        dimension
        for name in ORDER
        for dimension in range(model.layout[name].start, model.layout[name].start + 2)
    ]


def test_the_feed_forward_of_figure_2_is_the_one_printed_in_the_paper() -> None:
    model = weft.compile(listings.figure_2(), level=0).model
    layer = model.layers[0].feed_forward
    places = dimensions(model)
    np.testing.assert_array_equal(layer.weights[0][:, places], FIRST)
    np.testing.assert_array_equal(layer.biases[0], BIAS)
    np.testing.assert_array_equal(layer.weights[1][places], SECOND)
    others = [d for d in range(model.config.width) if d not in places]
    assert not layer.weights[0][:, others].any()
    assert not layer.weights[1][others].any()
    assert not layer.biases[1].any()


def test_the_heads_of_figure_2_are_the_ones_printed_in_the_paper() -> None:
    model = weft.compile(listings.figure_2(), level=0).model
    attention = model.layers[0].attention
    query, key = model.layout["idx_left"], model.layout["idx"]
    force = attention.query.max()
    for matrix, slot in ((attention.query[0], query), (attention.key[0], key)):
        expected = np.zeros(matrix.shape)
        expected[slot.dimensions] = float(force) * np.eye(slot.size)
        np.testing.assert_array_equal(matrix, expected)
    value, output = model.layout["parity"], model.layout["parity_left"]
    np.testing.assert_array_equal(attention.value[0][value.dimensions], np.eye(2, 2))
    np.testing.assert_array_equal(attention.output[0][:, output.dimensions], np.eye(2, 2))


def test_embeddings_are_the_ones_printed_in_the_paper() -> None:
    model = weft.compile(listings.figure_2(), level=0).model
    parity, index = model.layout["parity"], model.layout["idx"]
    np.testing.assert_array_equal(model.embedding[:, parity.dimensions], np.eye(2))
    np.testing.assert_array_equal(
        model.position.parts["learned"].table[:, index.dimensions], np.eye(listings.NUM_POS)
    )
