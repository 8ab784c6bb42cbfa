"""Attention over few keys against its formula in float64.

Without a GPU the kernel runs in Triton's interpreter; with one, compiled.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from kernel_device import DEVICE, HALF, ON_GPU, needs_triton
from weft.models import Transformer, initialise, preset

pytestmark = pytest.mark.gpu
NEVER = -1e300


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The kernel; interpreted, with few programs to share the sequences of a batch."""
    needs_triton()
    from weft.models.kernels import triton_short

    if not ON_GPU:
        monkeypatch.setattr(triton_short, "PROGRAMS", 4)
    return triton_short.short_attention


def formula(
    q: Tensor, k: Tensor, v: Tensor, scale: float, bias: Tensor | None, valid: Tensor | None,
    causal: bool,
) -> Tensor:  # fmt: skip
    """Softmax over what is seen, written out; 0 where nothing is."""
    scores = torch.einsum("bhik,bhjk->bhij", q, k) * scale
    if bias is not None:
        scores = scores + bias
    seen = torch.ones_like(scores, dtype=torch.bool)
    if causal:
        seen = seen.tril(k.shape[2] - q.shape[2])
    if valid is not None:
        seen = seen & valid[:, None, None, :]
    scores = scores.masked_fill(~seen, NEVER)
    powers = (scores - scores.amax(-1, keepdim=True)).exp().masked_fill(~seen, 0.0)
    weights = powers / powers.sum(-1, keepdim=True).clamp(min=1e-300)
    return torch.einsum("bhij,bhjd->bhid", weights, v)


def error(found: Tensor, expected: Tensor) -> float:
    found, expected = found.detach().double(), expected.detach()
    return float((found - expected).norm() / expected.norm())


CASES: list[dict[str, Any]] = [
    {},
    {"causal": True},
    {"padded": True},
    {"bias": 3, "padded": True},
    {"bias": 4, "causal": True, "padded": True},
    {"queries": 5, "causal": True},
    {"queries": 30, "keys": 9, "padded": True, "values": 48},
    {"queries": 64, "keys": 64, "bias": 3},
    {"batch": 300 if ON_GPU else 7, "queries": 4, "keys": 4, "bias": 3},
]


HALF_CASES = (CASES[0], CASES[4], CASES[6])
"""Enough for half precision, which differs in the types of tiles only; a GPU takes all."""


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        pytest.param(
            case,
            dtype,
            marks=[pytest.mark.slow] * (dtype == HALF and not ON_GPU and case not in HALF_CASES),
            id=f"{case} {dtype}",
        )
        for case in CASES
        for dtype in (torch.float32, HALF)
    ],
)
def test_results_and_gradients(kernel: Any, case: dict[str, Any], dtype: torch.dtype) -> None:
    batch, heads = case.get("batch", 3), 2
    keys = case.get("keys", 21)
    queries = case.get("queries", keys)
    seeds = torch.Generator().manual_seed(queries + keys)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=seeds).to(DEVICE)

    q = drawn(batch, queries, heads, 32).to(dtype).transpose(1, 2)
    k = drawn(batch, keys, heads, 32).to(dtype).transpose(1, 2)
    v = drawn(batch, keys, heads, case.get("values", 32)).to(dtype).transpose(1, 2)
    grad = drawn(*q.shape[:3], v.shape[-1]).to(dtype)
    shapes = {3: (heads, queries, keys), 4: (batch, heads, queries, keys)}
    bias = drawn(*shapes[case["bias"]]) if "bias" in case else None
    valid, causal = None, case.get("causal", False)
    if case.get("padded"):
        lengths = torch.randint(0, keys + 1, (batch,), generator=seeds)  # nothing at all, too
        valid = (torch.arange(keys) < lengths[:, None]).to(DEVICE)
    given = [x for x in (q, k, v, bias) if x is not None]
    mine = [x.clone().requires_grad_() for x in given]
    exact = [x.double().requires_grad_() for x in given]
    found = kernel(
        *mine[:3], 32**-0.5, bias=mine[3] if bias is not None else None, valid=valid, causal=causal
    )
    expected = formula(*exact[:3], 32**-0.5, exact[3] if bias is not None else None, valid, causal)
    tolerance = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    assert found.dtype == dtype
    assert error(found, expected) < tolerance
    theirs = torch.autograd.grad(expected, exact, grad.double())
    for one, other in zip(torch.autograd.grad(found, mine, grad), theirs, strict=True):
        assert error(one, other) < tolerance


VARIANTS: list[dict[str, Any]] = [
    {"kind": "encoder", "position": "t5"},
    {"kind": "encoder", "position": "learned", "positions": 32},
    {"position": "nape"},
    {"kind": "encoder-decoder", "position": "t5"},
]


@pytest.mark.parametrize("changes", VARIANTS, ids=str)
def test_models_take_it_and_agree_with_the_formula(changes: dict[str, Any]) -> None:
    """Padded batches of a whole model: logits and all gradients, cross-attention included."""
    needs_triton()
    config = preset("nano", vocabulary=16, layers=2 if ON_GPU else 1, **changes)
    seeds = torch.manual_seed(0)
    tokens = torch.randint(16, (3, 12), generator=seeds).to(DEVICE)
    given: dict[str, Any] = {}
    if config.kind != "decoder":
        given["lengths"] = torch.tensor([12, 5, 9], device=DEVICE)
    if config.kind == "encoder-decoder":
        given = {
            "source": torch.randint(16, (3, 7), generator=seeds).to(DEVICE),
            "source_lengths": torch.tensor([7, 2, 4], device=DEVICE),
        }
    found = []
    for backend in ("dense", "auto" if ON_GPU else "triton"):
        model = initialise(Transformer(config), "fan-in").to(DEVICE)
        logits = model(tokens, **given, backend=backend).logits
        logits.square().sum().backward()
        found.append([logits, *(weight.grad for weight in model.parameters())])
    for mine, theirs in zip(*reversed(found), strict=True):
        assert (mine is None) == (theirs is None)
        if theirs is not None and float(theirs.detach().norm()) > 0:
            assert error(mine, theirs.double()) < 1e-4
