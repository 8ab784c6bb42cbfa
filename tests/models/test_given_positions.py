"""Positions that are given in place of those of the tokens' order."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from weft.models import Transformer, initialise, preset

ENCODINGS = ["learned", "sinusoidal", "rotary", "alibi", "t5", "distance", "fire"]


def model(kind: str, position: str) -> Transformer:
    size = {"layers": 2, "width": 24, "heads": 3, "hidden": (32,), "positions": 32}
    settings = preset("nano", vocabulary=9, kind=kind, position=position, **size)
    made = initialise(Transformer(settings), seed=1).double().eval()
    for name, weight in made.named_parameters():
        if "position" in name:  # some tables start at zero
            torch.nn.init.normal_(weight, generator=torch.Generator().manual_seed(2))
    return made


def rows(*shape: int) -> Tensor:
    return torch.randint(1, 9, shape, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("position", ENCODINGS)
@torch.no_grad()
def test_the_usual_positions_change_nothing(position: str) -> None:
    made, tokens, source = model("encoder-decoder", position), rows(3, 5), rows(3, 7)
    lengths = torch.tensor([7, 4, 6])
    usual = made(tokens, source=source, source_lengths=lengths).logits
    given = made(
        tokens, source=source, source_lengths=lengths,
        positions=torch.arange(5).expand(3, 5), source_positions=torch.arange(7).expand(3, 7),
    ).logits  # fmt: skip
    torch.testing.assert_close(given, usual)


@pytest.mark.parametrize("position", ENCODINGS)
@torch.no_grad()
def test_in_an_encoder_swapped_positions_are_swapped_tokens(position: str) -> None:
    made, tokens, source = model("encoder-decoder", position), rows(3, 5), rows(3, 7)
    order = torch.tensor([0, 4, 2, 3, 1, 5, 6])
    swapped = made(tokens, source=source[:, order]).logits
    given = made(tokens, source=source, source_positions=order.expand(3, 7)).logits
    torch.testing.assert_close(given, swapped)
    assert (given - made(tokens, source=source).logits).abs().max() > 1e-6


@torch.no_grad()
def test_without_positional_encoding_nothing_depends_on_them() -> None:
    made, tokens = model("decoder", "none"), rows(2, 6)
    given = made(tokens, positions=torch.tensor([[3, 1, 4, 1, 5, 9]] * 2)).logits
    torch.testing.assert_close(given, made(tokens).logits)
