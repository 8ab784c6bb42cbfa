"""Slots: values and dimensions of the stream translate into each other."""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import weft
import weft.compiler.proof
import weft.crasp.proof
from weft.errors import WeftError
from weft.language.program import as_program
from weft.models.slots import (
    UNDEFINED_CODE,
    Layout,
    Slot,
    decode,
    encode,
    encodings,
    layout_from_list,
    make_layout,
    margin,
    nearest,
    read_stream,
    round_stream,
)

COLOUR = Slot("colour", "categorical", 0, 3)
LEVEL = Slot("level", "number", 3, 1, values=(-1.0, 0.5, 4.0))
BAG = Slot("bag", "set", 4, 2, values=(frozenset(), frozenset({1}), frozenset({0, 1})))
FETCHED = Slot("fetched", "categorical", 6, 2, is_head=True)
HOLDS = Slot("holds", "boolean", 8, 1)
LAYOUT = Layout((COLOUR, LEVEL, BAG, FETCHED, HOLDS), heads=(("fetched",),))
TABLES: dict[str, list[list[float]]] = {
    "colour": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "level": [[-1], [0.5], [4]],
    "bag": [[0, 0], [0, 1], [1, 1]],
    "fetched": [[1, 0], [0, 1]],
    "holds": [[0], [1]],
}
"""The encodings of all values, written down by hand."""


class Shades(weft.Program):
    tokens = [0, 1]
    shade = weft.var(3)
    mean = weft.number([0.0, 0.5, 2.0])
    left = weft.relative(shade, -1)
    again = weft.relative(shade, -1)
    output = shade

    def step(z: Any) -> None:
        z.shade = z.left if z.shade == 0 else z.again


@pytest.mark.parametrize("slot", list(LAYOUT.values()), ids=lambda slot: slot.name)
def test_values_are_encoded_in_their_dimensions(slot: Slot) -> None:
    table = TABLES[slot.name]
    assert encodings(slot).tolist() == table
    for code, row in enumerate(table):
        dense = np.zeros(LAYOUT.width)
        for dimension, amount in encode(slot, code).items():
            dense[dimension] = amount
        assert dense[slot.dimensions].tolist() == row
        assert np.delete(dense, range(slot.start, slot.start + slot.size)).tolist() == [0.0] * (
            LAYOUT.width - slot.size
        )


@pytest.mark.parametrize("slot", list(LAYOUT.values()), ids=lambda slot: slot.name)
def test_decoding_undoes_encoding(slot: Slot) -> None:
    stream = torch.zeros(len(TABLES[slot.name]), LAYOUT.width)
    stream[:, slot.dimensions] = torch.tensor(TABLES[slot.name])
    assert decode(stream, slot).tolist() == list(range(len(stream)))


@pytest.mark.parametrize(
    ("slot", "held", "code"),
    [
        (COLOUR, [0, 0, 0], UNDEFINED_CODE),
        (COLOUR, [1, 1, 0], UNDEFINED_CODE),
        (COLOUR, [0.2, 0.8, 0.1], 1),
        (COLOUR, [0.3, 0.8, 0.1], UNDEFINED_CODE),
        (COLOUR, [0.0, 0.7, 0.1], UNDEFINED_CODE),
        (LEVEL, [-9], 0),
        (LEVEL, [-0.26], 0),
        (LEVEL, [-0.24], 1),
        (LEVEL, [2.24], 1),
        (LEVEL, [2.26], 2),
        (BAG, [0.4, 0.6], 1),
        (BAG, [0.6, 0.4], UNDEFINED_CODE),
    ],
)
def test_what_is_between_values(slot: Slot, held: list[float], code: int) -> None:
    stream = torch.zeros(LAYOUT.width)
    stream[slot.dimensions] = torch.tensor(held)
    assert int(decode(stream, slot)) == code


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_nearest_encoding_has_the_smallest_distance(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    for slot in LAYOUT.values():
        held = torch.from_numpy(rng.normal(0.4, 1.0, (40, slot.size))).to(dtype)
        chosen = nearest(held, slot)
        assert chosen.dtype == dtype
        for given, found in zip(held.tolist(), chosen.tolist(), strict=True):
            distances = [
                sum((a - b) ** 2 for a, b in zip(row, given, strict=True))
                for row in TABLES[slot.name]
            ]
            assert found == TABLES[slot.name][distances.index(min(distances))]


def test_a_stream_is_rounded_variable_by_variable_without_heads() -> None:
    held = torch.tensor([[0.1, 0.6, 0.5, 3.1, 0.1, 0.8, 0.0, 1.0, 0.7]])
    rounded = round_stream(held, LAYOUT)
    assert rounded.tolist() == [[0, 1, 0, 4.0, 0, 1, 0, 0, 1]]
    assert torch.equal(round_stream(rounded, LAYOUT), rounded)


def test_streams_are_read_as_values() -> None:
    stream = torch.tensor([[[0, 0, 1, 0.25, 1, 1, 0, 0.0, 1], [1, 0, 0, 4, 0, 0, 0, 1, 0.5]]])
    assert read_stream(stream, LAYOUT) == {
        "colour": [[2, 0]],
        "level": [[0.25, 4.0]],
        "bag": [[frozenset({0, 1}), frozenset()]],
        "fetched": [[None, 1]],
        "holds": [[1, None]],
    }


def test_variables_lie_side_by_side_and_aliases_share() -> None:
    program = as_program(Shades)
    layout = make_layout(program.variables.values(), {"again": "left"})
    starts = {name: (slot.start, slot.size, slot.is_head) for name, slot in layout.items()}
    assert starts == {
        "shade": (0, 3, False),
        "mean": (3, 1, False),
        "left": (4, 3, True),
        "again": (4, 3, True),
    }
    assert layout.width == 7
    assert layout["mean"].values == (0.0, 0.5, 2.0)


def test_layouts_survive_json() -> None:
    assert list(layout_from_list(LAYOUT.as_list()).values()) == list(LAYOUT.values())
    assert LAYOUT.heads == (("fetched",),)
    assert Layout((COLOUR,)).heads == ()


def test_an_unknown_variable_comes_with_a_suggestion() -> None:
    with pytest.raises(WeftError, match=r"no variable 'color'\. Did you mean 'colour'"):
        LAYOUT["color"]


@pytest.mark.parametrize("verifier", [weft.compiler.proof, weft.crasp.proof])
def test_the_verifier_encodes_values_itself(verifier: ModuleType) -> None:
    """It imports the dataclasses alone: a mistake in `encode` must not prove itself right."""
    folder = Path(str(verifier.__file__)).parent
    imported: set[str] = set()
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "weft.models.slots":
                imported |= {name.name for name in node.names}
    assert imported == {"Layout", "Slot"}


def test_counts_are_read_by_position() -> None:
    """At position i, the dimension holds C / (i + 1); counts may be negative."""
    slot = Slot("count", "count", 1, 1)
    counts = torch.tensor([[0, 1, -1, 3], [2, 0, 5, -4]])
    stream = torch.zeros(2, 4, 2)
    stream[..., 1] = counts / torch.arange(1, 5)
    assert torch.equal(decode(stream, slot), counts)
    assert read_stream(stream, Layout((slot,))) == {"count": counts.tolist()}
    assert torch.equal(nearest(stream[..., 1:], slot), stream[..., 1:])
    assert torch.allclose(margin(stream, slot), 0.5 / torch.arange(1, 5).double().expand(2, 4))
    stream[0, 3, 1] += 0.1  # 3.4 in place of 3
    assert float(margin(stream, slot)[0, 3]) == pytest.approx(0.1 / 4)


def test_booleans_have_a_margin() -> None:
    assert margin(torch.tensor([0.0, 1.0, 0.75])[:, None].expand(3, 9), HOLDS).tolist() == [
        0.5, 0.5, 0.25,
    ]  # fmt: skip
