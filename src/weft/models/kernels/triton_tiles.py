"""Shared by the Triton kernels: tiles of tensors, masks, and tuning.

    b  sequences   h  heads   l  tokens   d  width of a head

Tensors are b h l d with any strides but the last, which is 1, so that views of a projection need no
copy. Documents and padding become two numbers per token, one as a query and one as a key: a query
attends to the keys with its number.

Triton has no types, hence the line below. On a machine without a GPU the kernels run in Triton's
interpreter if TRITON_INTERPRET=1.
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-def,untyped-decorator"
# mypy: allow-untyped-calls

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

NEVER = tl.constexpr(-1.0e30)
"""The score of masked pairs; finite, since differences of infinities are NaN."""

SHORT = 1024
"""Shorter lengths take the first config; only longer ones are worth tuning for."""

GRAIN = 64
"""Resolution of the first key that a query attends to."""


@triton.jit
def tile(base, strides, batch, head, rows, WIDTH: tl.constexpr):
    """Pointers to rows of a head, rows by WIDTH."""
    start = base + batch.to(tl.int64) * strides[0] + head.to(tl.int64) * strides[1]
    return start + rows[:, None] * strides[2] + tl.arange(0, WIDTH)[None, :]


@triton.jit
def read_tile(base, strides, batch, head, rows, length, WIDTH: tl.constexpr):
    """Rows of a head; 0 beyond the end."""
    inside = (rows < length)[:, None]
    return tl.load(tile(base, strides, batch, head, rows, WIDTH), mask=inside, other=0.0)


@triton.jit
def write_tile(base, strides, batch, head, rows, length, values, WIDTH: tl.constexpr):
    """Write rows of a head."""
    places = tile(base, strides, batch, head, rows, WIDTH)
    tl.store(places, values.to(base.dtype.element_ty), mask=(rows < length)[:, None])


def interpreting() -> bool:
    """Whether kernels run in Triton's interpreter."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def _index_by_tensors() -> None:
    """Let the interpreter's `range` take a tensor, which NumPy 2.4 does not convert."""
    from triton.runtime import interpreter

    patch = interpreter._patch_lang_tensor

    def patched(tensor: Any, scope: Any) -> None:
        patch(tensor, scope)
        scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

    interpreter._patch_lang_tensor = patched


if interpreting():
    _index_by_tensors()


def precision(dtype: torch.dtype) -> str:
    """The precision of float32 products: close to float32, on the tensor cores."""
    return "tf32x3" if dtype == torch.float32 else "tf32"


def part() -> Any:
    """The type that float32 is split into for exact products with zeros and ones."""
    return tl.float32 if interpreting() else tl.bfloat16


def tuned(
    choices: Sequence[tuple[int, int, int, int]],
    reset: Sequence[str] = (),
    wide: tuple[int, int, int, int] = (32, 32, 4, 2),
) -> Any:
    """A decorator that tunes over (queries, keys, warps, stages).

    Args:
        choices: the configs for long texts; short ones take the first.
        reset: accumulators to clear before every trial.
        wide: the config for float32, and for short texts with wide heads, which need more memory.
    """
    choices = ((32, 16, 4, 1),) if interpreting() else (*choices, wide)
    configs = [
        triton.Config({"QUERIES": m, "KEYS": n}, num_warps=warps, num_stages=stages)
        for m, n, warps, stages in choices
    ]
    return triton.autotune(
        configs,
        key=["WIDTH", "VALUES", "DOCUMENTS", "long"],
        reset_to_zero=list(reset),
        prune_configs_by={"early_config_prune": _worth_trying},
    )


def _worth_trying(configs: list[Any], named: dict[str, Any], **given: Any) -> list[Any]:
    roomy = max(given["WIDTH"], given["VALUES"]) <= 64
    if named["query"].dtype == torch.float32 or not (roomy or named["long"]):
        return configs[-1:]
    if not named["long"]:
        return configs[:1]
    return configs[:-1] if roomy else configs


def launched(query: Tensor, split: str = "QUERIES") -> Callable[[dict[str, int]], tuple[int, int]]:
    """A program per block of queries, or keys, of each head."""
    batch, heads, length, _ = query.shape
    return lambda meta: (triton.cdiv(length, meta[split]), batch * heads)


def sizes(query: Tensor) -> tuple[int, int, int]:
    """Heads, length, and whether the length is worth tuning for."""
    return query.shape[1], query.shape[2], int(query.shape[2] >= SHORT)


def shapes(query: Tensor, value: Tensor, numbers: Tensor | None) -> dict[str, Any]:
    """Compile-time constants of a kernel."""
    return {
        "WIDTH": query.shape[-1],
        "VALUES": value.shape[-1],
        "DOCUMENTS": numbers is not None,
        "PRECISION": precision(query.dtype),
    }


def rowed(tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Tensors whose last stride is 1."""
    for tensor in tensors:
        yield tensor if tensor.stride(-1) == 1 else tensor.contiguous()


def widened(tensor: Tensor, lowest: int = 16) -> Tensor:
    """Pad with zeros to the next power of two that a tile can have."""
    width = max(lowest, triton.next_power_of_2(tensor.shape[-1]))
    missing = width - tensor.shape[-1]
    return torch.nn.functional.pad(tensor, (0, missing)) if missing else tensor


def empty_heads(like: Tensor, width: int) -> Tensor:
    """b h l width, laid out as b l h width, which the output projection reads."""
    batch, heads, length, _ = like.shape
    return like.new_empty(batch, length, heads, width).transpose(1, 2)


def empty_like_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Empty tensors for the gradients of queries, keys and values."""
    query, key, value = (empty_heads(tensor, tensor.shape[-1]) for tensor in (query, key, value))
    return query, key, value


def first_keys(queries: Tensor | None, keys: Tensor | None) -> Tensor | None:
    """A lower bound of each query's first key (b l), from the numbers (b l) of both, if any.

    A block of queries and one of keys share no number if the ranges of their numbers are disjoint.
    For consecutive documents the bound is nearly tight; it is valid for any others.
    """
    if queries is None or keys is None:
        return None
    low, high = _ranges(queries)
    lowest, highest = _ranges(keys)
    meet = (lowest[:, None] <= high[:, :, None]) & (highest[:, None] >= low[:, :, None])
    first = meet.int().argmax(-1).to(torch.int32) * GRAIN
    return first.repeat_interleave(GRAIN, 1)[:, : queries.shape[1]].contiguous()


def _ranges(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The smallest and largest number of each block."""
    missing = -numbers.shape[1] % GRAIN
    if missing:
        last = numbers[:, -1:].expand(-1, missing)
        numbers = torch.cat([numbers, last], 1)
    stretches = numbers.unflatten(1, (-1, GRAIN))
    return stretches.amin(-1), stretches.amax(-1)
