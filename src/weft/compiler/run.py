"""Compiled models on inputs as programs name them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from weft.language.program import Program, token_numbers
from weft.models.forward import StreamObserver
from weft.models.transformer import Output, Transformer


@dataclass(frozen=True)
class ModelRun:
    """What a model made of a batch: outputs at every position, and layers, for each input."""

    outputs: list[tuple[int, ...]]
    layers: list[int]
    halted: list[bool]
    stream: Tensor


def padded(
    numbers: Sequence[Sequence[int]], device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Sequences as one tensor (b l), filled up with zeros, and their lengths (b)."""
    lengths = torch.tensor([len(row) for row in numbers], dtype=torch.long)
    longest = max(1, *lengths.tolist()) if len(numbers) else 1
    tokens = torch.zeros(len(numbers), longest, dtype=torch.long)
    inside = torch.arange(longest) < lengths[:, None]
    tokens[inside] = torch.tensor([number for row in numbers for number in row], dtype=torch.long)
    return tokens.to(device), lengths.to(device)


def run_model(
    model: Transformer,
    numbers: Sequence[Sequence[int]],
    *,
    layers: int | None = None,
    watch: StreamObserver | None = None,
    plain: bool = False,
) -> ModelRun:
    """Run a model on token numbers."""
    tokens, lengths = padded(numbers, model.embedding.device)
    with torch.inference_mode():
        found: Output = model(tokens, lengths, layers=layers, watch=watch, plain=plain)
        best = found.logits.argmax(-1).tolist()
    outputs = [tuple(row[: len(given)]) for row, given in zip(best, numbers, strict=True)]
    return ModelRun(outputs, found.layers.tolist(), found.halted.tolist(), found.stream)


def input_numbers(program: Program, inputs: Iterable[Sequence[Any]]) -> list[list[int]]:
    """The token numbers of inputs."""
    return [token_numbers(program, tokens) for tokens in inputs]
