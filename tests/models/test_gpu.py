"""On a GPU, fast paths agree with the formulas in float64: results and gradients.

Tolerances are relative, in norm: 1e-4 in float32 and 1e-1 in bfloat16, where everything rounds.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

import mechanisms
from kernel_device import DEVICE, ON_GPU
from weft.models import Transformer

VARIANTS: list[dict[str, Any]] = [
    *({"position": one, "attention": two} for one, two in mechanisms.allowed()),
    {"canon": "ABCD"},
    {"attention_biases": True, "norm_type": "layer", "position": "rotary"},
    {"canon": "ABCD", "activation": "swiglu", "attention": "path"},
]
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 1e-1}


@pytest.fixture(scope="module", autouse=True)
def _every_variant_is_compiled() -> Iterator[None]:
    """After 8 variants of a function, torch.compile would leave the rest uncompiled."""
    limits = {"recompile_limit": 1000, "accumulated_recompile_limit": 10000}
    with torch._dynamo.config.patch(**limits, fail_on_recompile_limit_hit=True):
        yield


def made(variant: dict[str, Any], dtype: torch.dtype) -> Transformer:
    """Heads of width 32: kernels start at 16."""
    name = str(dtype).removeprefix("torch.")
    wide = {"width": 64, "heads": 2, "hidden": (64,), "positions": 400, "window": 50}
    model = mechanisms.model(**{**wide, **variant, "dtype": "float64"})
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.25)
    copied = Transformer(mechanisms.config(**{**wide, **variant, "dtype": name}))
    copied.load_state_dict(
        {k: v.to(copied.state_dict()[k].dtype) for k, v in model.state_dict().items()}
    )
    return copied.cuda().eval()


def results(
    model: Transformer, tokens: Tensor, documents: Tensor | None, backend: str
) -> list[Tensor]:
    """Logits, and the gradients of all weights."""
    logits = model(tokens, documents=documents, backend=backend).logits
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    wanted = torch.sin(torch.arange(logits.numel(), device="cuda")).view_as(logits)
    found = torch.autograd.grad(logits, weights, wanted.to(logits.dtype), allow_unused=True)
    return [logits, *(g for g in found if g is not None)]


@pytest.mark.needs_gpu
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_fast_paths_agree_with_the_formulas(variant, dtype, packed) -> None:
    model = made(variant, dtype)
    exact = made(variant, torch.float64) if dtype == torch.float32 else None
    tokens = mechanisms.tokens(2, 200).cuda()
    documents = None
    if packed:
        documents = (torch.arange(200, device="cuda") // 70).expand(2, -1).contiguous()
    mine = results(model, tokens, documents, "auto")
    right = model.double() if exact is None else exact
    theirs = results(right, tokens, documents, "dense")
    scale = max(float(b.detach().norm()) for b in theirs[1:])
    for a, b in zip(mine, theirs, strict=True):
        distance = float((a.detach().double() - b.detach()).norm())
        assert distance <= TOLERANCE[dtype] * max(float(b.detach().norm()), 1e-1 * scale)


@pytest.mark.gpu
@pytest.mark.slow
@pytest.mark.skipif(not ON_GPU and shutil.which("g++") is None, reason="needs a GPU or a compiler")
@pytest.mark.parametrize(
    ("changes", "graphs"),
    [
        ({"kind": "encoder", "layers": 14}, 1),
        ({"kind": "encoder", "layers": 1, "loops": 14}, 1),
        ({"kind": "encoder-decoder", "layers": 3}, 2),
    ],
    ids=str,
)
def test_deep_models_and_encoders_are_compiled_once_for_all_layers(changes, graphs) -> None:
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    model = mechanisms.model(width=64, heads=2, position="t5", dtype="float32", **changes)
    model.to(DEVICE)
    tokens = mechanisms.tokens(2, 24).to(DEVICE)
    source = mechanisms.tokens(2, 12).to(DEVICE)
    given = {"source": source} if "decoder" in changes["kind"] else {}
    plain = model(tokens, **given).logits.detach()
    fused = model.compile_layers()(tokens, **given).logits.detach()
    assert counters["stats"]["unique_graphs"] == graphs
    assert float((fused - plain).norm() / plain.norm()) < 1e-4
