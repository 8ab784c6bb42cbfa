"""Attention with a bias on keys against its formula in float64.

Without a GPU the kernels run in Triton's interpreter; with one, compiled.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from kernel_device import DEVICE, ON_GPU, needs_triton
from weft.models.bias import ScoreBias
from weft.models.context import AttentionContext
from weft.models.kernels import forgetting_attention

pytestmark = pytest.mark.gpu


@pytest.fixture
def kernel():
    """The kernel, interpreted without a GPU."""
    needs_triton()
    from weft.models.kernels.triton_softmax import biased_attention

    return biased_attention


def formula(
    q: Tensor, k: Tensor, v: Tensor, scale: float, c: Tensor | None, slopes: Tensor | None,
    window: int | None = None, documents: Tensor | None = None, table: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Softmax over what is seen, written out."""
    places = torch.arange(q.shape[2], device=q.device)
    back = places[:, None] - places[None, :]
    scores = torch.einsum("bhik,bhjk->bhij", q, k) * scale
    if c is not None:
        scores = scores + c[..., :, None] - c[..., None, :]
    if slopes is not None:
        scores = scores - slopes.to(scores)[:, None, None] * back
    if table is not None:
        scores = scores + table[:, back.clamp(0, table.shape[1] - 1)]
    seen = (back >= 0) & (back < (window or len(places)))
    if documents is not None:
        seen = seen & (documents[:, None, :, None] == documents[:, None, None, :])
    scores = scores.masked_fill(~seen, -1e300)
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return torch.einsum("bhij,bhjd->bhid", powers / powers.sum(-1, keepdim=True), v)


def inputs(
    length: int,
    width: int,
    values: int,
    gate: float = 3.0,
    dtype: torch.dtype = torch.float32,
    batch: int = 2,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """q, k, v, c and a gradient; what heads read is a view of a projection, as in a model."""
    seeds = torch.Generator().manual_seed(length + width)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=seeds)

    q, k = (drawn(batch, length, 2, width).to(DEVICE, dtype).transpose(1, 2) for _ in range(2))
    v, grad = (drawn(batch, length, 2, values).to(DEVICE, dtype).transpose(1, 2) for _ in range(2))
    c = logsigmoid(drawn(batch, 2, length) + gate).cumsum(-1).to(DEVICE)
    return q, k, v, c, grad


def error(found: Tensor, expected: Tensor) -> float:
    found, expected = found.detach().double(), expected.detach()
    return float((found - expected).norm() / expected.norm())


def compare(
    kernel, tensors, slopes=None, window=None, documents=None, tolerance=1e-5, table=None
) -> None:
    """The kernel's output and all gradients beside the formula's."""
    *given, grad = (*tensors[:-1], table, tensors[-1])
    scale = given[0].shape[-1] ** -0.5
    mine = [None if x is None else x.clone().requires_grad_() for x in given]
    exact = [None if x is None else x.double().requires_grad_() for x in given]
    q, k, v, c, t = mine
    found = kernel(
        q, k, v, scale, sums=c, slopes=slopes, window=window, documents=documents, table=t
    )
    expected = formula(*exact[:3], scale, exact[3], slopes, window, documents, exact[4])
    found.backward(grad)
    expected.backward(grad.double())
    assert error(found, expected) < tolerance
    for one, other in zip(mine, exact, strict=True):
        if one is not None:
            assert error(one.grad, other.grad) < tolerance


SLOPES = torch.tensor([0.7, 0.0], device=DEVICE)


@pytest.fixture(params=[False, True], ids=["any order", "deterministic"])
def _order(request) -> Iterator[None]:
    torch.use_deterministic_algorithms(request.param)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("_order")
def test_fading_with_a_length_that_fills_no_block(kernel) -> None:
    compare(kernel, inputs(129 if ON_GPU else 70, 32, 16, batch=2 if ON_GPU else 1))


@pytest.mark.usefixtures("_order")
def test_fading_with_slopes_and_a_length_of_whole_blocks(kernel) -> None:
    compare(kernel, inputs(128, 16, 16, batch=1), SLOPES)


def test_slopes_alone(kernel) -> None:
    q, k, v, _, grad = inputs(50, 16, 32)
    compare(kernel, (q, k, v, None, grad), SLOPES)


def drawn_table(distances: int) -> Tensor:
    return torch.randn(2, distances, generator=torch.Generator().manual_seed(1)).to(DEVICE)


TABLES = [(40, 129), (75, 33), (70, 3)]
if ON_GPU:
    TABLES += [(150, 33), (128, 129), (200, 3)]


@pytest.mark.usefixtures("_order")
@pytest.mark.parametrize(("length", "distances"), TABLES)
def test_a_table_of_distances(kernel, length: int, distances: int) -> None:
    q, k, v, _, grad = inputs(length, 16, 16, batch=2 if ON_GPU else 1)
    compare(kernel, (q, k, v, None, grad), table=drawn_table(distances))


def test_a_table_with_documents_slopes_and_fading(kernel) -> None:
    length = 130 if ON_GPU else 70
    documents = (torch.arange(length, device=DEVICE) // 28)[None]
    tensors = inputs(length, 16, 16, batch=1)
    compare(kernel, tensors, SLOPES, documents=documents, table=drawn_table(20))


@pytest.mark.parametrize("window", [2, 20, 500])
def test_a_window(kernel, window: int) -> None:
    compare(kernel, inputs(90 if ON_GPU else 70, 16, 16, batch=1), window=window)


@pytest.mark.usefixtures("_order")
def test_documents_of_any_length(kernel) -> None:
    length = 150 if ON_GPU else 75
    begins = torch.rand(2, length, generator=torch.Generator().manual_seed(0)) < 0.06
    compare(kernel, inputs(length, 16, 16), documents=begins.cumsum(-1).to(DEVICE))


@pytest.mark.usefixtures("_order")
def test_documents_within_a_window(kernel) -> None:
    length = 130 if ON_GPU else 90
    documents = (torch.arange(length, device=DEVICE) // 60)[None]
    compare(kernel, inputs(length, 16, 16, batch=1), SLOPES, window=25, documents=documents)


def test_gates_that_forget_nearly_all(kernel) -> None:
    """c falls by a thousand within a few blocks; what counts is differences of neighbours."""
    tensors = inputs(200 if ON_GPU else 100, 16, 16, gate=-6.0, batch=1)
    compare(kernel, tensors, tolerance=2e-5)


def test_widths_that_are_no_powers_of_two(kernel) -> None:
    compare(kernel, inputs(40, 12, 20))


def test_half_precision(kernel) -> None:
    length, batch = (130, 2) if ON_GPU else (40, 1)
    compare(kernel, inputs(length, 32, 32, dtype=torch.float16, batch=batch), tolerance=2e-3)


@pytest.mark.usefixtures("_order")
def test_gates_in_half_precision_are_told_no_remainders(kernel) -> None:
    """What rounding leaves of rows that sum to 0 would add up in the gradients of gates."""
    *tensors, grad = inputs(128, 32, 32, dtype=torch.float16, batch=1)
    mine = [x.clone().requires_grad_() for x in tensors]
    exact = [x.double().requires_grad_() for x in tensors]
    kernel(*mine[:3], 0.2, sums=mine[3]).backward(grad)
    formula(*exact[:3], 0.2, exact[3], None).backward(grad.double())
    of_sums, right = mine[3].grad.double(), exact[3].grad
    assert float(of_sums.sum(-1).abs().max() / right.abs().max()) < 1e-5
    of_gates = [x.flip(-1).cumsum(-1) for x in (of_sums, right)]
    assert error(*of_gates) < (2e-3 if ON_GPU else 4e-4)


def test_a_row_that_sees_nothing_is_zero(kernel) -> None:
    """The first keys are padding, so the first queries see nothing; no gradient is NaN."""
    q, k, v, c, grad = (x.clone().requires_grad_() for x in inputs(70, 16, 16))
    hidden = c.masked_fill(torch.arange(70, device=DEVICE) < 40, float("inf"))
    found = kernel(q, k, v, 0.25, sums=hidden)
    found.backward(grad.detach())
    assert not found[:, :, :40].any()
    late = formula(*(x[:, :, 40:].double() for x in (q, k, v)), 0.25, c[..., 40:].double(), None)
    assert error(found[:, :, 40:], late) < 1e-5
    assert all(x.grad.isfinite().all() for x in (q, k, v, c))
    assert not k.grad[:, :, :40].any()


def context(length: int, **more) -> AttentionContext:
    places = torch.arange(length, device=DEVICE)
    return AttentionContext(positions=places, key_positions=places, causal=True, **more)


@pytest.mark.parametrize("padded", [False, True])
def test_a_layer_takes_it_with_slopes_and_padding(kernel, padded: bool) -> None:
    q, k, v, c, _ = inputs(80, 16, 16)
    lengths = torch.tensor([[80], [50]], device=DEVICE)
    valid = torch.arange(80, device=DEVICE) < lengths if padded else None
    there = context(80, valid=valid, backend="triton")
    found = forgetting_attention(q, k, v, c, 0.25, ScoreBias(slopes=SLOPES), there)
    expected = formula(q.double(), k.double(), v.double(), 0.25, c.double(), SLOPES)
    assert found is not None
    for row, length in enumerate((80, 50 if padded else 80)):
        assert error(found[row, :, :length], expected[row, :, :length]) < 1e-5


def test_it_compiles_into_one_graph(kernel) -> None:
    q, k, v, c, grad = inputs(20, 16, 16, batch=1)
    whole = torch.compile(kernel, fullgraph=True, backend="aot_eager")
    compare(lambda *a, **more: whole(*a, **more), (q, k, v, c, grad), SLOPES)


def test_on_a_cpu_it_is_written_out_and_trains() -> None:
    q, k, v, c, grad = (x.cpu().double() for x in inputs(60, 16, 16))
    mine, exact = ([x.clone().requires_grad_() for x in (q, k, v, c)] for _ in range(2))
    places = torch.arange(60)
    there = AttentionContext(positions=places, key_positions=places, causal=True)
    slopes = SLOPES.cpu()
    found = forgetting_attention(*mine, 0.25, ScoreBias(slopes=slopes), there)
    expected = formula(*exact[:3], 0.25, exact[3], slopes)
    assert found is not None
    found.backward(grad)
    expected.backward(grad)
    assert error(found, expected) < 1e-7  # slopes are float32
    assert all(error(a.grad, b.grad) < 1e-7 for a, b in zip(mine, exact, strict=True))


def test_on_a_cpu_a_new_token_sees_all_before() -> None:
    q, k, v, c, _ = (x.cpu() for x in inputs(30, 16, 16))
    places = torch.arange(30)
    there = AttentionContext(positions=places[-1:], key_positions=places, causal=True)
    found = forgetting_attention(q[:, :, -1:], k, v, c, 0.25, None, there)
    expected = formula(q.double(), k.double(), v.double(), 0.25, c.double(), None)
    assert found is not None
    assert error(found, expected[:, :, -1:]) < 1e-5


def test_sums_that_are_no_float32_have_no_kernel_on_a_cpu_in_half_precision() -> None:
    q, k, v, c, _ = inputs(20, 16, 16, dtype=torch.bfloat16)
    there = AttentionContext(torch.arange(20), torch.arange(20), causal=True)
    assert forgetting_attention(q.cpu(), k.cpu(), v.cpu(), c.cpu(), 0.25, None, there) is None
