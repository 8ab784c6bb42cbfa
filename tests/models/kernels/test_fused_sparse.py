"""Stick-breaking, entmax and PaTH in Triton against their formulas in float64.

Without a GPU the kernels run in Triton's interpreter; with one, compiled.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize, softplus

from kernel_device import DEVICE, HALF, ON_GPU, needs_triton
from weft.models.attentions.path import path_scores
from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext
from weft.models.kernels import entmax_attention, path_attention, stick_breaking_attention

pytestmark = pytest.mark.gpu

CASES = [
    ((1, 16, 16), 0.3, torch.float32),
    ((33, 16, 32), 2.0, torch.float32),
    ((50, 20, 16), 0.3, torch.float32),
    ((33, 16, 16), 1.0, HALF),
]
"""Length, width, width of values; strength of scores; precision."""

if ON_GPU:
    SIZES = [(96, 32, 16), (129, 32, 32), (200, 64, 64), (1000, 64, 32), (300, 128, 128)]
    CASES += list(product(SIZES, (0.3, 2.0), (torch.float32, torch.bfloat16)))
WORST = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}


@pytest.fixture(autouse=True)
def _triton() -> None:
    needs_triton()


def stick_breaking(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """One key after the other, from the right."""
    scores = torch.einsum("bhik,bhjk->bhij", q, k) * q.shape[-1] ** -0.5
    seen = seen & ~torch.eye(q.shape[2], dtype=torch.bool, device=q.device)
    left = torch.zeros_like(scores[..., 0])
    found = torch.zeros_like(v)
    for j in reversed(range(q.shape[2])):
        weight = (scores[..., j] - softplus(scores[..., j]) + left).exp()
        here = seen.expand(scores.shape)[..., j]
        found = found + torch.where(here, weight, 0.0)[..., None] * v[:, :, j, None]
        left = left - torch.where(here, softplus(scores[..., j]), 0.0)
    return found


def entmax(q: Tensor, k: Tensor, v: Tensor, seen: Tensor, bias: Tensor | float = 0.0) -> Tensor:
    """The threshold by bisection, and once more from the support, for gradients."""
    scores = torch.einsum("bhik,bhjk->bhij", q, k) * q.shape[-1] ** -0.5 + bias
    x = scores.masked_fill(~seen, -1e30) / 2
    high = x.detach().amax(-1, keepdim=True)
    low = high - 1
    for _ in range(60):
        middle = (low + high) / 2
        below = (x.detach() - middle).clamp(min=0).square().sum(-1, keepdim=True) < 1
        low, high = torch.where(below, low, middle), torch.where(below, middle, high)
    inside = (x.detach() > low).double()
    count = inside.sum(-1, keepdim=True)
    mean = (x * inside).sum(-1, keepdim=True) / count
    spread = ((x - mean).square() * inside).sum(-1, keepdim=True)
    tau = mean - ((1 - spread) / count).clamp(min=0).sqrt()
    return torch.einsum("bhij,bhjd->bhid", (x - tau).square() * inside, v)


def path(q: Tensor, k: Tensor, v: Tensor, axes: Tensor, beta: Tensor, seen: Tensor) -> Tensor:
    """The closed form."""
    scores = path_scores(q, k, axes, beta) * q.shape[-1] ** -0.5
    return scores.masked_fill(~seen, float("-inf")).softmax(-1) @ v


DOCUMENTS = 70 if ON_GPU else 50
"""The length of texts with documents: several tiles, the last of them partly filled."""


def drawn(
    length: int, width: int, values: int, strength: float = 1.0, batch: int = 2
) -> list[Tensor]:
    """q, k, v and a gradient in float64; values are a view of a projection, as in a model."""
    seeds = torch.Generator().manual_seed(length + width)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=seeds, dtype=torch.float64).to(DEVICE)

    q, k = (draw(batch, 2, length, width) * strength for _ in range(2))
    v = draw(batch, length, 2, values).transpose(1, 2)
    return [q, k, v, draw(batch, 2, length, values)]


def batch_of(length: int) -> int:
    """One text in the interpreter if it has several tiles; shorter ones and documents have two."""
    return 2 if ON_GPU or length < 33 else 1


def texts(length: int) -> tuple[Tensor, Tensor]:
    """Documents of two sequences, and padding that spares every first token of one."""
    seeds = torch.Generator().manual_seed(length)
    documents = torch.randint(0, 4, (2, length), generator=seeds).sort(1).values
    valid = torch.rand(2, length, generator=seeds) > 0.1
    valid[:, 0] = True
    valid[:, 1:] |= documents[:, 1:] != documents[:, :-1]
    return documents.to(DEVICE), valid.to(DEVICE)


def context_of(length: int, **more: Any) -> AttentionContext:
    places = torch.arange(length, device=DEVICE)
    more.setdefault("positions", places)
    more.setdefault("key_positions", more["positions"])
    return AttentionContext(**{"causal": True, "backend": "triton", **more})


def agree(kernel: Any, formula: Any, inputs: list[Tensor], d_out: Tensor, dtype: Any) -> None:
    """Compare what is found and all gradients; `inputs` beyond the third are float32 at least."""
    kinds = [dtype] * 3 + [torch.float32] * (len(inputs) - 3)
    rounded = [one.to(kind) for one, kind in zip(inputs, kinds, strict=True)]
    exact = [one.double().requires_grad_() for one in rounded]
    expected = formula(*exact)
    expected.backward(d_out.to(dtype).double())
    quick = [one.detach().requires_grad_() for one in rounded]
    found = kernel(*quick)
    assert found is not None
    found.backward(d_out.to(dtype))
    pairs = [(found, expected), *((a.grad, b.grad) for a, b in zip(quick, exact, strict=True))]
    for number, (one, other) in enumerate(pairs):
        assert one is not None
        assert other is not None
        error = (one.detach().double() - other.detach()).norm() / other.detach().norm().clamp(min=1)
        assert float(error) < WORST[dtype], number


def causal(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool, device=DEVICE).tril()


@pytest.mark.parametrize(("size", "strength", "dtype"), CASES)
def test_stick_breaking_is_its_formula(
    size: tuple[int, int, int], strength: float, dtype: torch.dtype
) -> None:
    context = context_of(size[0])
    *inputs, d_out = drawn(*size, strength, batch=batch_of(size[0]))
    agree(
        lambda q, k, v: stick_breaking_attention(q, k, v, q.shape[-1] ** -0.5, context),
        lambda q, k, v: stick_breaking(q, k, v, causal(size[0])),
        inputs, d_out, dtype,
    )  # fmt: skip


def test_sticks_that_last_are_broken_to_the_end() -> None:
    """No key is left out if little is taken at each, or nearly nothing; after one that takes all,
    the rest are.
    """
    *inputs, d_out = drawn(80, 16, 16, 0.5, batch=2)
    inputs[0][..., 0], inputs[1][..., 0] = 4.0, -6.0
    inputs[1][1, 0, :, 0] = -2.8
    inputs[1][:, 1, ::20, 0] = 60.0
    agree(
        lambda q, k, v: stick_breaking_attention(q, k, v, 0.25, context_of(80)),
        lambda q, k, v: stick_breaking(q, k, v, causal(80)),
        inputs, d_out, torch.float32,
    )  # fmt: skip


def test_stick_breaking_stays_in_its_document() -> None:
    documents, valid = texts(DOCUMENTS)
    context = context_of(DOCUMENTS, documents=documents, valid=valid)
    *inputs, d_out = drawn(DOCUMENTS, 16, 16, 0.5)
    agree(
        lambda q, k, v: stick_breaking_attention(q, k, v, 0.25, context),
        lambda q, k, v: stick_breaking(q, k, v, context.visible()),
        inputs, d_out, torch.float32,
    )  # fmt: skip


@pytest.mark.parametrize(("size", "strength", "dtype"), CASES)
def test_entmax_is_its_formula(
    size: tuple[int, int, int], strength: float, dtype: torch.dtype
) -> None:
    context = context_of(size[0])
    *inputs, d_out = drawn(*size, strength, batch=batch_of(size[0]))
    agree(
        lambda q, k, v: entmax_attention(q, k, v, 1.5, q.shape[-1] ** -0.5, None, context),
        lambda q, k, v: entmax(q, k, v, causal(size[0])),
        inputs, d_out, dtype,
    )  # fmt: skip


@pytest.mark.parametrize("far", [False, True])
def test_entmax_takes_slopes_and_documents(far: bool) -> None:
    documents, valid = texts(DOCUMENTS)
    slopes = torch.tensor([0.5, 0.0], dtype=torch.float64, device=DEVICE)
    positions = torch.arange(DOCUMENTS, device=DEVICE)
    if far:
        positions = torch.stack([positions * 3, positions.square()])
    context = context_of(DOCUMENTS, documents=documents, valid=valid, positions=positions)
    bias = ScoreBias(slopes=slopes)
    *inputs, d_out = drawn(DOCUMENTS, 16, 16)
    agree(
        lambda q, k, v: entmax_attention(q, k, v, 1.5, 0.25, bias, context),
        lambda q, k, v: entmax(q, k, v, context.visible(), bias.dense(context, torch.float64)),
        inputs, d_out, torch.float32,
    )  # fmt: skip


@pytest.mark.parametrize(("size", "dtype"), dict.fromkeys((size, kind) for size, _, kind in CASES))
def test_path_is_its_formula(size: tuple[int, int, int], dtype: torch.dtype) -> None:
    length, width, _ = size
    if dtype == torch.float32 and width > 64:
        pytest.skip("too wide for float32")
    context = context_of(length)
    batch = batch_of(length)
    *inputs, d_out = drawn(*size, batch=batch)
    axes = normalize(torch.randn(batch, 2, length, width, dtype=torch.float64), dim=-1).to(DEVICE)
    beta = 2 * torch.rand(batch, 2, length, dtype=torch.float64).to(DEVICE)
    agree(
        lambda q, k, v, w, b: path_attention(q, k, v, w, b, q.shape[-1] ** -0.5, context),
        lambda q, k, v, w, b: path(q, k, v, w, b, causal(length)),
        [*inputs, axes, beta], d_out, dtype,
    )  # fmt: skip


def test_chunks_of_path_are_the_same_without_a_kernel() -> None:
    """As for float32 on a GPU; results and gradients."""
    from weft.models.kernels.triton_path import CHUNK, _chunked
    from weft.models.kernels.triton_path_chunks import path_chunks

    query, key = (one.to(HALF if ON_GPU else torch.float32) for one in drawn(2 * CHUNK, 16, 16)[:2])
    axes = normalize(torch.randn(2, 2, 2 * CHUNK, 16), dim=-1).to(DEVICE)
    beta = 2 * torch.rand(2, 2, 2 * CHUNK).to(DEVICE)
    results = []
    for made in (lambda *given: path_chunks(*given, CHUNK), _chunked):
        leaves = [one.clone().requires_grad_() for one in (query, key, axes, beta)]
        found = made(*leaves)
        wanted = [torch.arange(one.numel(), device=DEVICE).sin().view_as(one) for one in found]
        torch.autograd.backward(found, [d.to(one) for d, one in zip(wanted, found, strict=True)])
        results.append([*(one.detach() for one in found), *(leaf.grad for leaf in leaves)])
    for one, other in zip(*results, strict=True):
        distance = (one.double() - other.double()).norm() / other.double().norm()
        assert float(distance) < (2e-2 if ON_GPU else 1e-4)


def test_path_stays_in_its_document() -> None:
    documents, valid = texts(DOCUMENTS)
    context = context_of(DOCUMENTS, documents=documents, valid=valid)
    *inputs, d_out = drawn(DOCUMENTS, 16, 16)
    axes = normalize(torch.randn(2, 2, DOCUMENTS, 16, dtype=torch.float64), dim=-1).to(DEVICE)
    beta = 2 * torch.rand(2, 2, DOCUMENTS, dtype=torch.float64).to(DEVICE)
    agree(
        lambda q, k, v, w, b: path_attention(q, k, v, w, b, 0.25, context),
        lambda q, k, v, w, b: path(q, k, v, w, b, context.visible()),
        [*inputs, axes, beta], d_out, torch.float32,
    )  # fmt: skip


@pytest.mark.parametrize("in_order", [False, True])
def test_keys_before_the_first_are_seen_by_nobody(in_order: bool) -> None:
    """And for documents that follow each other, no stretch of keys is read in vain."""
    from weft.models.kernels.triton_tiles import GRAIN, first_keys

    seeds = torch.Generator().manual_seed(0)
    numbers = torch.randint(0, 6, (40, 5 * GRAIN // 2), generator=seeds, dtype=torch.int32)
    numbers[::2] = numbers[::2, :1] + torch.arange(numbers.shape[1]) // (GRAIN * 3 // 2)
    numbers = numbers.sort(1).values if in_order else numbers
    first = first_keys(numbers, numbers)
    seen = (numbers[:, :, None] == numbers[:, None, :]).int().argmax(-1)
    assert (first <= seen).all()
    stretches = seen.split(GRAIN, 1)
    least = torch.cat([one.amin(1, keepdim=True).expand_as(one) for one in stretches], 1)
    if in_order:
        assert (first == least // GRAIN * GRAIN).all()


def test_what_has_no_kernel_is_left_to_the_formula() -> None:
    q, k, v = (one.float() for one in drawn(20, 16, 16)[:3])
    context = context_of(20)
    learned = torch.ones(2, device=DEVICE, requires_grad=True)
    assert stick_breaking_attention(q.double(), k.double(), v.double(), 1.0, context) is None
    assert stick_breaking_attention(q, k, v, 1.0, context_of(20, causal=False)) is None
    assert (
        stick_breaking_attention(q[:, :, -1:], k, v, 1.0, context_of(20, positions=q[0, 0, -1:, 0]))
        is None
    )
    assert entmax_attention(q, k, v, 2.0, 1.0, None, context) is None
    assert entmax_attention(q, k, v, 1.5, 1.0, ScoreBias(slopes=learned), context) is None
    assert entmax_attention(q, k, v, 1.5, 1.0, ScoreBias(pairs=q[:, :, :, :1]), context) is None
    if not ON_GPU:
        assert stick_breaking_attention(q, k, v, 1.0, context_of(20, backend="auto")) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stick-breaking", "entmax", "path"])
def test_kernels_can_be_compiled_into_a_model(name: str) -> None:
    *inputs, d_out = (one.float() for one in drawn(33, 16, 16))
    context = context_of(33)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        found = {
            "stick-breaking": lambda: stick_breaking_attention(q, k, v, 0.25, context),
            "entmax": lambda: entmax_attention(q, k, v, 1.5, 0.25, None, context),
            "path": lambda: path_attention(
                q, k, v, normalize(k, dim=-1), q[..., 0].sigmoid() * 2, 0.25, context
            ),
        }[name]()
        assert found is not None
        return found * 2

    results = []
    for run in (attend, torch.compile(attend, backend="inductor" if ON_GPU else "aot_eager")):
        leaves = [one.clone().requires_grad_() for one in inputs]
        found = run(*leaves)
        found.backward(d_out)
        results.append([found.detach(), *(leaf.grad for leaf in leaves)])
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
