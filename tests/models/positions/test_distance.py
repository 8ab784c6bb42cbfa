"""The learned bias per exact distance: what it singles out, and how far its table is read."""

from __future__ import annotations

import numpy as np
import torch

import mechanisms
from reference_model import Reference
from weft.models import Transformer, generate, initialise
from weft.models.context import make_context


def test_a_head_can_single_out_one_distance() -> None:
    """With one large entry, every query attends to the token 7 back alone."""
    model = mechanisms.model(position="distance", layers=1, positions=32)
    weight = model.position.parts["distance"].weight
    with torch.no_grad():
        weight.zero_()
        weight[0, 7] = 1e4
    pattern = model.run_with_cache(mechanisms.tokens(1, 20))[1][
        "blocks.0.attn.hook_pattern"
    ].detach()
    for i in range(7, 20):
        assert float(pattern[0, 0, i, i - 7]) == 1.0
    assert float(pattern[0, 1, 19].amax()) < 1.0  # the other head is free to look elsewhere


def test_distances_beyond_the_table_share_its_last_entry() -> None:
    model = mechanisms.model(seed=2, position="distance", positions=5)
    table = model.position.parts["distance"].weight
    context = make_context(model.config, mechanisms.tokens(1, 12))
    bias = model.position.bias(context)
    assert bias is not None
    dense = bias.dense(context, torch.float64)
    assert dense is not None
    for i in range(12):
        for j in range(i + 1):
            expected = table[:, min(i - j, 4)]
            assert torch.equal(dense[:, i, j], expected)
    row = mechanisms.tokens(1, 12)
    expected = Reference(model).logits(row[0].tolist())
    np.testing.assert_allclose(model(row).logits[0].detach(), expected, rtol=1e-11, atol=1e-12)


def test_no_more_of_the_table_is_read_than_the_input_reaches() -> None:
    """Kernels are compiled for the size of a table: short inputs need few of them."""
    model = mechanisms.model(position="distance", positions=40)
    for length, read in ((1, 1), (2, 2), (3, 4), (9, 16), (33, 40), (60, 40)):
        bias = model.position.bias(make_context(model.config, mechanisms.tokens(1, length)))
        assert bias is not None
        assert bias.table is not None
        assert bias.table.shape == (2, read)


def test_an_encoder_tells_left_from_right() -> None:
    model = mechanisms.model(seed=1, position="distance", positions=6, kind="encoder")
    table = model.position.parts["distance"].weight
    assert table.shape == (2, 12)
    context = make_context(model.config, mechanisms.tokens(1, 9))
    bias = model.position.bias(context)
    assert bias is not None
    assert bias.pairs is not None
    assert torch.equal(bias.pairs[:, 5, 2], table[:, 3])
    assert torch.equal(bias.pairs[:, 2, 5], table[:, 6 + 3])
    assert torch.equal(bias.pairs[:, 0, 8], table[:, 6 + 5])
    assert torch.equal(bias.pairs[:, 4, 4], table[:, 0])


def test_generation_beyond_the_table_keeps_what_it_needs() -> None:
    model = mechanisms.model(seed=4, position="distance", positions=5)
    tokens = mechanisms.tokens(2, 4)
    assert torch.equal(generate(model, tokens, 8), generate(model, tokens, 8, cache=False))


def test_it_starts_as_no_bias() -> None:
    changes = {"positions": 9, "width": 12, "heads": 3}
    biased = initialise(Transformer(mechanisms.config(position="distance", **changes)), seed=1)
    plain = initialise(Transformer(mechanisms.config(position="none", **changes)), seed=1)
    row = mechanisms.tokens(1, 6)
    torch.testing.assert_close(biased(row).logits, plain(row).logits, rtol=0, atol=1e-12)
