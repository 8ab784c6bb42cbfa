"""Invariants of every mechanism: no token attends to the future, other documents, or padding."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor

import mechanisms
from weft.models import Transformer

PAIRS = mechanisms.allowed()
BLOCKS: list[dict[str, Any]] = [
    *({"canon": place} for place in ("A", "B", "C", "D", "ABCD")),
    {"canon": "ABCD", "attention": "path", "activation": "swiglu"},
    {"norm": "post"},
    {"norm": "none", "layers": 1, "loops": 2},
    {"loops": 2, "inject": True, "canon": "AD"},
    {"offsets": 2},
    {"offsets": 2, "sink": True},
    {"position": "t5", "heads": 3, "key_width": 4},
]
JOINED = ("abacus+fire", "learned+rotary", "randomised+rotary", "randomised+alibi")
"""Encodings whose parts are tested with every attention; joined, most pairs are left to the slow
tests."""
ALL = [
    *(
        pytest.param(
            {"position": position, "attention": attention},
            marks=[pytest.mark.slow] * (position in JOINED and attention != "softmax"),
        )
        for position, attention in PAIRS
    ),
    *BLOCKS,
]
ENCODERS: list[dict[str, Any]] = [
    {"position": position, "attention": attention, "kind": "encoder"}
    for position in ("none", "learned", "rotary", "alibi", "t5", "fire", "randomised+rotary")
    for attention in ("softmax", "entmax", "swan", "log-scaled")
]
EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-12}


def named(changes: dict[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in changes.items())


def test_the_table_is_complete() -> None:
    """Stick-breaking takes none of 7 encodings with a bias; PaTH neither these nor rotations."""
    assert len(PAIRS) == len(mechanisms.ENCODINGS) * 7 - 7 - 10


@pytest.mark.parametrize("changes", ALL, ids=named)
def test_a_token_changes_nothing_before_it(changes: dict[str, Any]) -> None:
    model = mechanisms.model(seed=1, **changes)
    tokens = mechanisms.tokens(1, 8)
    before = model(tokens).logits
    for changed in (0, 3, 7):
        other = tokens.clone()
        other[0, changed] = (tokens[0, changed] + 1) % mechanisms.VOCABULARY
        after = model(other).logits
        torch.testing.assert_close(after[:, :changed], before[:, :changed], **EXACT)
        assert not torch.allclose(after[:, changed], before[:, changed])


@pytest.mark.parametrize("changes", ALL, ids=named)
def test_a_prefix_is_as_if_nothing_followed(changes: dict[str, Any]) -> None:
    if "randomised" in changes.get("position", ""):
        pytest.skip("they are spread over the whole")
    model = mechanisms.model(seed=1, **changes)
    tokens = mechanisms.tokens(2, 9)
    whole = model(tokens).logits
    for length in (1, 2, 5):
        torch.testing.assert_close(model(tokens[:, :length]).logits, whole[:, :length], **EXACT)


@pytest.mark.parametrize("backend", ["dense", "auto"])
@pytest.mark.parametrize("changes", ALL, ids=named)
def test_documents_in_a_row_are_as_if_alone(changes: dict[str, Any], backend: str) -> None:
    """Of different lengths in the two rows; gradients of one do not reach the other."""
    model = mechanisms.model(seed=1, **changes)
    tokens = mechanisms.tokens(2, 9)
    documents = torch.tensor([[4, 4, 4, 4, 7, 7, 7, 7, 7], [0, 0, 1, 1, 1, 1, 1, 1, 2]])
    together = model(tokens, documents=documents, backend=backend).logits
    for row, cuts in enumerate([(0, 4, 9), (0, 2, 8, 9)]):
        for start, end in pairwise(cuts):
            alone = model(tokens[row : row + 1, start:end], backend=backend).logits[0]
            torch.testing.assert_close(together[row, start:end], alone, **EXACT)


@pytest.mark.parametrize("changes", ALL + ENCODERS, ids=named)
def test_padding_does_not_matter(changes: dict[str, Any]) -> None:
    """Neither what stands there, nor how much of it; a sequence may be empty."""
    model = mechanisms.model(seed=1, **changes)
    tokens, lengths = mechanisms.tokens(4, 9), torch.tensor([9, 4, 1, 0])
    for backend in ("dense", "auto"):
        found = model(tokens, lengths, backend=backend).logits
        assert bool(found.isfinite().all())
        for row, length in enumerate(lengths.tolist()[:3]):
            alone = model(tokens[row : row + 1, :length], backend=backend).logits[0]
            torch.testing.assert_close(found[row, :length], alone, **EXACT)


@pytest.mark.parametrize("changes", ALL, ids=named)
def test_padding_may_be_a_document_of_its_own(changes: dict[str, Any]) -> None:
    """And leaves no trace in gradients, which stay finite."""
    model = mechanisms.model(seed=1, **changes)
    tokens, lengths = mechanisms.tokens(2, 9), torch.tensor([6, 4])
    documents = torch.tensor([[0, 0, 0, 1, 1, 1, -1, -1, -1], [0, 0, 0, 0, -1, -1, -1, -1, -1]])
    for backend in ("dense", "auto"):
        model.zero_grad()
        found = model(tokens, lengths, documents=documents, backend=backend).logits
        assert bool(found.isfinite().all())
        inside = torch.arange(9) < lengths[:, None]
        found[inside].square().sum().backward()
        padded = _gradients(model)
        model.zero_grad()
        alone = [(0, 0, 3), (0, 3, 6), (1, 0, 4)]
        rows = [model(tokens[r : r + 1, a:b]).logits.square().sum() for r, a, b in alone]
        sum(rows[1:], rows[0]).backward()
        for one, other in zip(padded, _gradients(model), strict=True):
            assert _difference(one, other) < 1e-12


def _difference(one: Tensor, other: Tensor) -> float:
    """The largest, as a share of the largest value."""
    return float((one - other).abs().max() / other.abs().max().clamp(min=1))


def _gradients(model: Transformer) -> list[Tensor]:
    return [w.grad.clone() for w in model.parameters() if w.grad is not None]


FAST_TOLERANCE = 5e-5
"""In float32, on a CPU: the largest difference as a share of the largest value."""


@pytest.mark.parametrize("changes", ALL + ENCODERS, ids=named)
def test_the_fast_path_computes_the_formula_in_float32(changes: dict[str, Any]) -> None:
    """Values and gradients; with lengths and documents, and without."""
    model = mechanisms.model(seed=2, **{**changes, "dtype": "float32"})
    tokens, lengths = mechanisms.tokens(2, 20), torch.tensor([20, 11])
    documents = torch.arange(20).div(8, rounding_mode="floor").expand(2, 20)
    aim = torch.randn(2, 20, mechanisms.VOCABULARY, generator=torch.manual_seed(0))
    aim[1, 11:] = 0.0
    for given in ({}, {"lengths": lengths}, {"documents": documents}):
        found = []
        for backend in ("dense", "auto"):
            model.zero_grad()
            logits = model(tokens, backend=backend, **given).logits
            (logits * aim).sum().backward()
            found.append([(logits * aim).detach(), *_gradients(model)])
        for dense, fast in zip(*found, strict=True):
            assert _difference(fast, dense) < FAST_TOLERANCE


@pytest.mark.parametrize("changes", ALL, ids=named)
def test_bfloat16_is_the_formula_to_two_digits(changes: dict[str, Any]) -> None:
    exact = mechanisms.model(seed=3, **{**changes, "layers": 1})
    rough = mechanisms.model(seed=3, **{**changes, "layers": 1, "dtype": "bfloat16"})
    tokens = mechanisms.tokens(2, 20)
    with torch.no_grad():
        expected, found = exact(tokens).logits, rough(tokens).logits
    assert found.dtype == torch.bfloat16
    assert float((found - expected).norm() / expected.norm()) < 0.05


@pytest.mark.parametrize("changes", ALL, ids=named)
def test_every_mechanism_trains_in_autocast(changes: dict[str, Any]) -> None:
    """The stream is kept in bfloat16, and every weight has a finite gradient."""
    model = mechanisms.model(**{**changes, "dtype": "float32"})
    given = mechanisms.tokens(2, 12)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(given)
    assert out.stream.dtype == torch.bfloat16
    out.logits.float().square().sum().backward()
    gradients = [weight.grad for weight in model.parameters() if weight.requires_grad]
    assert all(g is None or bool(g.isfinite().all()) for g in gradients)
    assert sum(g is not None for g in gradients) > len(gradients) // 2
