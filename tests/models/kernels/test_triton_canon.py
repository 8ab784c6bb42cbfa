"""Canon's Triton kernel, interpreted or on a GPU, against the sum of shifted streams."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from kernel_device import DEVICE, ON_GPU, needs_triton
from weft.models.canon import causal_convolution
from weft.models.context import AttentionContext

pytestmark = pytest.mark.gpu
SIZES = [(1, 3), (7, 5), (65, 513), (130, 200)] if ON_GPU else [(1, 3), (8, 16), (9, 17), (21, 5)]


@pytest.fixture
def canon(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Tensor]:
    """The kernel; interpreted, with short strips of few channels."""
    needs_triton()
    from weft.models.kernels import triton_canon

    if not ON_GPU:
        monkeypatch.setattr(triton_canon, "TOKENS", 8)
        monkeypatch.setattr(triton_canon, "CHANNELS", 16)
    return triton_canon.canon


def plainly(stream: Tensor, taps: Tensor, documents: Tensor | None) -> Tensor:
    places = torch.arange(stream.shape[1], device=DEVICE)
    context = AttentionContext(positions=places, key_positions=places, documents=documents)
    return stream + causal_convolution(stream, taps, context, None, "A")


@pytest.mark.parametrize("with_documents", [False, True])
@pytest.mark.parametrize(("length", "width"), SIZES)
def test_values_and_gradients_are_those_of_the_formula(
    canon, length, width, with_documents
) -> None:
    torch.manual_seed(length)
    stream = torch.randn(2, length, width, device=DEVICE, requires_grad=True)
    taps = torch.randn(4, width, device=DEVICE, requires_grad=True)
    documents = torch.randint(4, (2, length), device=DEVICE).sort(1).values
    documents = documents if with_documents else None
    wanted = torch.randn_like(stream)
    found, right = canon(stream, taps, documents), plainly(stream, taps, documents)
    torch.testing.assert_close(found, right)
    for mine, theirs in zip(
        torch.autograd.grad(found, (stream, taps), wanted),
        torch.autograd.grad(right, (stream, taps), wanted),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)
