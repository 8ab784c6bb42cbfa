"""What a layer keeps of the tokens so far, while a model continues a text."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Memory = dict[str, Any]
"""By name; empty before the first token."""


def remembered(memory: Memory | None, name: str, new: Tensor, axis: int) -> Tensor:
    """What was remembered and what is new, side by side; the whole is remembered from now on."""
    if memory is None:
        return new
    before = memory.get(name)
    memory[name] = new if before is None else torch.cat([before, new], axis)
    found: Tensor = memory[name]
    return found
