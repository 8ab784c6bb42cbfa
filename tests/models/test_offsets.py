"""Random offsets per example: contiguous, in range, of each its own, and covering the range."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import mechanisms
from reference_model import Reference
from weft.models.context import make_context

BATCHES = st.lists(st.integers(1, 12), min_size=1, max_size=6)


def positions_of(lengths: list[int], seed: int, **changes: object) -> Tensor:
    config = mechanisms.config(position="learned", example_offsets=True, **changes)
    torch.manual_seed(seed)
    tokens = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    return make_context(config, tokens, torch.tensor(lengths), training=True).positions


@settings(max_examples=60)
@given(BATCHES, st.integers(0, 8), st.integers(0, 5), st.integers(0, 1000))
def test_every_example_is_contiguous_and_in_range(
    lengths: list[int], more: int, most: int, seed: int
) -> None:
    limit = max(lengths) + more
    drawn = positions_of(lengths, seed, positions=limit, random_offset=most)
    for row, length in zip(drawn.tolist(), lengths, strict=True):
        start = row[0]
        assert row[:length] == list(range(start, start + length))
        assert 0 <= start <= limit - length
        assert start <= most or not most
        assert all(0 <= place < limit for place in row)  # padding too: there is a row for it


def test_offsets_are_uniform_and_differ_between_examples() -> None:
    """Of 0 .. 10 - 4, all seven occur about as often; one batch has many of them."""
    drawn = positions_of([4] * 7000, 0, positions=10)[:, 0].tolist()
    counts = Counter(drawn)
    assert set(counts) == set(range(7))
    chi2 = sum((n - 1000) ** 2 / 1000 for n in counts.values())
    assert chi2 < 22.5  # a thousandth of uniform samples are beyond
    mixed = positions_of([2] * 3000 + [9] * 3000, 1, positions=10)[:, 0]
    assert set(mixed[:3000].tolist()) == set(range(9))
    assert set(mixed[3000:].tolist()) == {0, 1}


def test_documents_of_a_row_have_an_offset_each() -> None:
    config = mechanisms.config(position="learned", example_offsets=True, positions=12)
    marks = torch.tensor([[0] * 3 + [1] * 5 + [2] * 2]).expand(300, 10)
    torch.manual_seed(0)
    drawn = make_context(config, torch.zeros_like(marks), None, marks, training=True).positions
    starts = []
    for cut, length in ((0, 3), (3, 5), (8, 2)):
        part = drawn[:, cut : cut + length]
        assert bool((part.diff(dim=-1) == 1).all())
        assert set(part[:, 0].tolist()) == set(range(12 - length + 1))
        starts.append(part[:, 0])
    assert not torch.equal(starts[0], starts[2])


@pytest.mark.parametrize("name", ["learned", "sinusoidal", "rotary", "learned+rotary"])
def test_models_compute_with_the_positions_that_were_drawn(name: str) -> None:
    """As the formula does with each example's positions; with 0, 1, 2, ... in evaluation."""
    model = mechanisms.model(seed=3, position=name, positions=15, example_offsets=True)
    tokens, lengths = mechanisms.tokens(4, 9), torch.tensor([9, 4, 6, 1])
    formula = Reference(model)

    def agree(found: Tensor, positions: list[list[int]]) -> None:
        for row, length, logits, places in zip(
            tokens.tolist(), lengths.tolist(), found.detach().numpy(), positions, strict=True
        ):
            expected = formula.logits(row[:length], positions=places[:length])
            np.testing.assert_allclose(logits[:length], expected, rtol=1e-10, atol=1e-11)

    agree(model(tokens, lengths).logits, [list(range(9))] * 4)
    model.train()
    torch.manual_seed(5)
    drawn = make_context(model.config, tokens, lengths, training=True).positions.tolist()
    for backend in ("dense", "auto"):
        torch.manual_seed(5)
        agree(model(tokens, lengths, backend=backend).logits, drawn)
    assert len({row[0] for row in drawn}) > 1


def test_an_encoder_masks_padding_and_a_decoder_needs_no_mask() -> None:
    """A decoder is given lengths for the offsets alone, and keeps its fast path."""
    tokens, lengths = mechanisms.tokens(2, 5), torch.tensor([5, 3])
    for kind, masked in (("encoder", True), ("decoder", False)):
        config = mechanisms.config(position="learned", example_offsets=True, kind=kind)
        context = make_context(config, tokens, lengths, training=True)
        assert (context.valid is not None) == masked


def test_abacus_moves_the_digits_of_each_example() -> None:
    from mechanisms import DIGITS

    model = mechanisms.model(seed=2, position="abacus", positions=12, example_offsets=True).train()
    row = torch.tensor([[DIGITS[0], DIGITS[1], 0, DIGITS[2]]] * 2)
    torch.manual_seed(1)
    offsets = make_context(model.config, row, training=True).positions[:, 0].tolist()
    assert offsets[0] != offsets[1]
    torch.manual_seed(1)
    found = model(row).logits.detach().numpy()
    for logits, offset in zip(found, offsets, strict=True):
        expected = Reference(model).logits(row[0].tolist(), digits=DIGITS, offset=offset)
        np.testing.assert_allclose(logits, expected, rtol=1e-11, atol=1e-12)


def test_source_and_target_of_an_encoder_decoder_are_moved_apart() -> None:
    model = mechanisms.model(
        position="learned", positions=30, kind="encoder-decoder", example_offsets=True
    ).train()
    tokens, source = mechanisms.tokens(2, 4), mechanisms.tokens(2, 5)
    torch.manual_seed(0)
    first = model(tokens, source=source).logits
    torch.manual_seed(0)
    assert torch.equal(model(tokens, source=source).logits, first)
    torch.manual_seed(1)
    assert not torch.allclose(model(tokens, source=source).logits, first)
