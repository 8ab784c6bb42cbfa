"""Reading variables back from a stream, at any layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from weft.models.slots import Layout, Slot

UNDEFINED_CODE = -1


def slot_codes(stream: Tensor, slot: Slot) -> Tensor:
    """The code of a variable (... ) from a stream (... d); -1 where it holds none of its values."""
    part = stream[..., slot.dimensions].double()
    if slot.kind == "categorical":
        one = (part > 0.75).sum(-1) == 1
        clean = ((part > 0.75) | (part < 0.25)).all(-1)
        return torch.where(one & clean, part.argmax(-1), UNDEFINED_CODE)
    if slot.kind == "number":
        values = [float(v) for v in slot.values]
        buckets = torch.tensor(values, dtype=torch.float64, device=stream.device)
        borders = (buckets[1:] + buckets[:-1]) / 2
        return torch.bucketize(part[..., 0].contiguous(), borders, right=True)
    table = torch.zeros(len(slot.values), slot.size, device=stream.device)
    for row, chosen in enumerate(slot.values):
        table[row, list(chosen)] = 1.0
    same = ((part > 0.5)[..., None, :] == (table > 0.5)).all(-1)
    return torch.where(same.any(-1), same.int().argmax(-1), UNDEFINED_CODE)


def read_stream(stream: Tensor, layout: Layout) -> dict[str, list[Any]]:
    """Every variable as nested lists of values, shaped like the stream; None where undefined."""
    return {name: _values(stream, slot) for name, slot in layout.items()}


def _values(stream: Tensor, slot: Slot) -> list[Any]:
    found: list[Any] = stream[..., slot.start].tolist()
    if slot.kind != "number":
        found = _replaced(slot_codes(stream, slot).tolist(), slot)
    return found


def _replaced(codes: Any, slot: Slot) -> Any:
    if isinstance(codes, list):
        return [_replaced(code, slot) for code in codes]
    if codes == UNDEFINED_CODE:
        return None
    return slot.values[codes] if slot.kind == "set" else codes
