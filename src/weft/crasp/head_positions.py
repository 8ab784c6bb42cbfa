"""PERIODIC and LOCAL, measured on the weights of a compiled model, head by head.

The part of a head's scores that depends on positions alone is

    s(i, j) = (p_i Q) · (p_j K) + bias(i - j)

with p the rows of the model's table of positions and bias its bias per offset. LOCAL: s(i, j)
depends on i - j alone, and is zero beyond some offset. PERIODIC: the rows repeat after some number
of positions, apart from the columns from which the form `absolute` makes s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from weft.models.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

MAX_POSITIONS = 512
"""Models with a longer context are measured on this many positions."""


@dataclass(frozen=True)
class HeadLocality:
    """What positions do to the scores of one head.

    Attributes:
        layer: the layer, from 1.
        head: the head, from 1.
        deviation: the largest |s(i + 1, j + 1) - s(i, j)|; 0 if only i - j matters.
        range: the largest offset i - j at which the scores are not zero; 0 if there is none.
    """

    layer: int
    head: int
    deviation: float
    range: int

    def __str__(self) -> str:
        name = f"layer {self.layer}, head {self.head}"
        if self.deviation:
            return f"{name}: scores vary along i - j by up to {self.deviation:.3g}"
        where = f"zero beyond i - j = {self.range}" if self.range else "zero everywhere"
        return f"{name}: a function of i - j, {where}"


@dataclass(frozen=True)
class ModelPositions:
    """What positions do in a model.

    Attributes:
        positions: how many positions were measured.
        period: after how many positions the rows of the table repeat; 1 if there is no table, None
            if they do not repeat.
        heads: the heads.
    """

    positions: int
    period: int | None
    heads: tuple[HeadLocality, ...]

    @property
    def range(self) -> int:
        """The largest range of a head."""
        return max((head.range for head in self.heads), default=0)

    @property
    def is_local(self) -> bool:
        """Whether every head is translation invariant, with a range below the context."""
        return all(head.deviation == 0 for head in self.heads) and self.range < self.positions - 1

    def lines(self) -> list[str]:
        """The measurements as text, for a card."""
        periodic = (
            "rows do not repeat" if self.period is None else f"yes, the period is {self.period}"
        )
        local = f"yes, the range is {self.range}" if self.is_local else "no"
        return [
            f"PERIODIC, over positions 0 to {self.positions - 1}: {periodic}",
            f"LOCAL: {local}",
            *map(str, self.heads),
        ]


@torch.no_grad()
def measure_positions(model: Transformer) -> ModelPositions:
    """Measure what positions do in a compiled model.

    Example:
        >>> from weft.crasp import library
        >>> from weft.crasp.construction import compile_crasp
        >>> measured = measure_positions(compile_crasp(library.load("tomita-4")).model)
        >>> measured.period, measured.range, measured.is_local
        (1, 2, True)
    """
    config = model.config
    count = min(MAX_POSITIONS, config.max_length or MAX_POSITIONS)
    weights = {name: tensor.double() for name, tensor in model.state_dict().items()}
    table = weights.get("position.parts.learned.table", torch.zeros(count, config.width).double())
    table = table[:count]
    heads = []
    for layer in range(config.layers):
        prefix = f"layers.{layer}.attention"
        queries, keys = table @ weights[f"{prefix}.query"], table @ weights[f"{prefix}.key"]
        scores = queries @ keys.transpose(-1, -2)  # heads, i, j
        if config.offsets is not None:
            places = torch.arange(count)
            offset = (places[None, :] - places[:, None]).clamp(
                -config.offsets - 1, config.offsets + 1
            )
            scores = scores + weights[f"{prefix}.bias"][:, offset + config.offsets + 1]
        heads += [_locality(layer, head, scores[head].tril()) for head in range(config.heads)]
    return ModelPositions(count, _period(model, table), tuple(heads))


def _locality(layer: int, head: int, scores: Float[Tensor, "queries keys"]) -> HeadLocality:
    moved = (scores[1:, 1:] - scores[:-1, :-1]).abs()
    queries, keys = scores.nonzero(as_tuple=True)
    return HeadLocality(
        layer=layer + 1,
        head=head + 1,
        deviation=float(moved.max()) if moved.numel() else 0.0,
        range=int((queries - keys).max()) if len(queries) else 0,
    )


def _period(model: Transformer, table: Float[Tensor, "positions width"]) -> int | None:
    """After how many positions the rows repeat, without the one-hot position."""
    for slot in model.layout.values():
        if slot.kind != "categorical":
            continue
        table = torch.cat([table[:, : slot.start], table[:, slot.start + slot.size :]], dim=1)
    for period in range(1, len(table) // 2 + 1):
        if torch.equal(table[period:], table[:-period]):
            return period
    return None
