"""Packed documents never influence each other, by every implementation of every mechanism.

`test_transformer.py` compares packed with unpacked logits for all pairs of mechanisms, by the dense
formulas and by PyTorch's kernels. Here one document is changed, padding too, and the logits of all
others must stay what they were, bit for bit: by the formulas, by Triton's kernels (in its
interpreter, or on a GPU) and by FlexAttention.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import mechanisms
from kernel_device import DEVICE, ON_GPU, needs_triton
from weft.models import Transformer
from weft.models.bias import ScoreBias
from weft.models.context import make_context, uses_flex_attention
from weft.models.kernels.flex import block_masks, flex_softmax

STUDIED: list[dict[str, Any]] = [
    *(
        {"position": name}
        for name in (
            "none", "rotary", "alibi", "nape", "t5", "fire", "distance", "sinusoidal", "learned",
        )
    ),
    *(
        {"attention": name}
        for name in ("forgetting", "path", "stick-breaking", "entmax", "log-scaled")
    ),
    {"attention": "swan", "position": "rotary"},
    {"attention": "swan", "position": "alibi"},
    {"attention": "entmax", "position": "nape"},
    {"attention": "forgetting", "position": "nape"},
    {"canon": "ABCD"},
    {"canon": "ABCD", "position": "nape", "activation": "swiglu"},
    {"canon": "ABCD", "attention": "path"},
    {"loops": 2},
    {"loops": 2, "inject": True, "position": "nape", "canon": "AC"},
]  # fmt: skip
"""The mechanisms that packed rows are trained with."""
INTERPRETED: list[dict[str, Any]] = [
    {"position": "nape"},
    {"position": "t5"},
    {"attention": "forgetting", "position": "nape"},
    {"attention": "path"},
    {"attention": "stick-breaking"},
    {"attention": "entmax", "position": "nape"},
    {"attention": "swan", "position": "alibi"},
    {"canon": "ABCD"},
]
"""Those with a Triton kernel; the interpreter takes about a second for each."""
LENGTH = 38


def named(changes: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in changes.items())


def documents_of(length: int) -> Tensor:
    """Borders off the tiles' own; one row ends in padding, and its first document is one token."""
    places = torch.arange(length)
    first = (places >= 7).long() + (places >= 18) + (places >= 19)
    second = (places >= 1).long() + (places >= length // 2)
    second[length - 5 :] = -1
    return torch.stack([first, second + 4 * (second >= 0)]).to(DEVICE)


def changed(tokens: Tensor, documents: Tensor, number: int) -> Tensor:
    return torch.where(documents == number, (tokens + 1) % mechanisms.VOCABULARY, tokens)


def assert_separate(model: Transformer, backend: str, length: int = LENGTH) -> None:
    """Change one document at a time, and compare with the formula once."""
    tokens, documents = mechanisms.tokens(2, length).to(DEVICE), documents_of(length)
    with torch.no_grad():
        before = model(tokens, documents=documents, backend=backend).logits
        dense = model(tokens, documents=documents, backend="dense").logits
        inside = documents >= 0
        worst = 2e-4 * float(dense.abs().max().clamp(min=1))
        assert float((before - dense)[inside].abs().max()) < worst
        for number in (1, 4, -1) if ON_GPU or backend != "triton" else (1,):
            given = changed(tokens, documents, number)
            after = model(given, documents=documents, backend=backend).logits
            other = documents != number
            assert torch.equal(after[other], before[other])
            assert not torch.equal(after[~other], before[~other])


def made(changes: dict[str, Any]) -> Transformer:
    sizes = {"width": 32, "heads": 2, "hidden": (16,), "dtype": "float32", "window": 9}
    return mechanisms.model(seed=5, **{**sizes, **changes}).to(DEVICE)


@pytest.mark.parametrize("backend", ["dense", "auto"])
@pytest.mark.parametrize("changes", STUDIED, ids=named)
def test_a_document_does_not_change_the_others(changes: dict[str, Any], backend: str) -> None:
    assert_separate(made(changes), backend)


@pytest.mark.gpu
@pytest.mark.parametrize("changes", INTERPRETED, ids=named)
def test_nor_does_it_by_the_kernels(changes: dict[str, Any]) -> None:
    needs_triton()
    model = made({"layers": 1, **changes})
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.5)
    assert_separate(model, "triton")


@pytest.mark.needs_gpu
@pytest.mark.parametrize("changes", STUDIED, ids=named)
def test_nor_does_it_on_a_gpu_in_long_rows(changes: dict[str, Any]) -> None:
    model = made({**changes, "positions": 300})
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.5)
    assert_separate(model, "auto", length=300)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("window", [None, 20])
@pytest.mark.parametrize("sloped", [False, True])
def test_flex_attention_keeps_documents_apart(
    window: int | None, sloped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not compiled, which computes the same on a CPU."""
    from torch.nn.attention.flex_attention import flex_attention

    from weft.models.kernels import flex

    monkeypatch.setattr(flex, "_compiled", lambda: flex_attention)
    length = 150
    documents = documents_of(length)
    tokens = torch.zeros(2, length, dtype=torch.long, device=DEVICE)
    context = make_context(mechanisms.config(), tokens, documents=documents, backend="dense")
    context.blocks.update(block_masks(context, {window}))
    slopes = torch.tensor([0.5, 0.0], device=DEVICE)
    bias = ScoreBias(slopes=slopes) if sloped else None
    query, key, value = torch.randn(3, 2, 2, length, 16, device=DEVICE)
    mixed = flex_softmax(query, key, value, 0.25, bias, context, window)
    scores = query @ key.transpose(-1, -2) * 0.25
    if bias is not None:
        added = bias.dense(context, torch.float32)
        assert added is not None
        scores = scores + added
    visible = context.visible(window)
    assert visible is not None
    expected = scores.masked_fill(~visible, -torch.inf).softmax(-1) @ value
    torch.testing.assert_close(mixed, expected, rtol=1e-4, atol=1e-5)
    other = documents != 1
    key, value = (torch.where(other[:, None, :, None], part, -part) for part in (key, value))
    after = flex_softmax(query, key, value, 0.25, bias, context, window)
    assert torch.equal(after.movedim(1, 2)[other], mixed.movedim(1, 2)[other])


def test_block_masks_are_made_only_where_a_kernel_needs_them() -> None:
    """Those of a packed batch are made in every step; Triton's kernel for slopes needs none."""
    tokens, documents = mechanisms.tokens(2, LENGTH), documents_of(LENGTH).cpu()

    def used(given: Tensor | None = documents, **changes: Any) -> bool:
        config = mechanisms.config(**changes)
        context = make_context(config, tokens, documents=given, backend="dense")
        return uses_flex_attention(config, context)

    assert used(position="none")
    assert used(attention="swan")
    assert used(position="nape", kind="encoder")
    assert used(position="randomised+alibi")
    assert used(given=None, position="alibi")  # one mask for all steps
    assert not used(position="nape")
    assert not used(given=None, position="none")
