"""Slots: which dimensions of the residual stream hold which variable, and how values are encoded.

A categorical variable has one dimension per value, one-hot; a set has one per element, multi-hot; a
number has one, which holds its value. The output of a head is all zeros while it is undefined. A
Boolean is one dimension that is 0 or 1; a count is one that holds C / (i + 1) at position i, the
axis before the last of a stream.

`encode`, `decode` and `nearest` translate between values and dimensions. A value is named by its
code, its place in the list of the variable's values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from weft.config import from_plain
from weft.errors import check_known
from weft.language.program import Variable
from weft.language.ranges import Categorical, Number, Subset

if TYPE_CHECKING:
    from jaxtyping import Float, Float64, Int

SlotKind = Literal["categorical", "number", "set", "boolean", "count"]

UNDEFINED_CODE = -1


@dataclass(frozen=True)
class Slot:
    """The dimensions of one variable.

    Attributes:
        name: the variable.
        kind: how its values are encoded.
        start: its first dimension.
        size: the number of its dimensions.
        is_head: whether it is the output of a head, which can be undefined.
        values: the buckets of a number, the legal sets of a set; empty for other kinds.
    """

    name: str
    kind: SlotKind
    start: int
    size: int
    is_head: bool = False
    values: tuple[Any, ...] = ()

    @property
    def dimensions(self) -> slice:
        """Its dimensions of the stream."""
        return slice(self.start, self.start + self.size)

    @property
    def count(self) -> int:
        """The number of values; 0 for a count, which has no largest one."""
        if self.kind == "boolean":
            return 2
        return self.size if self.kind == "categorical" else len(self.values)

    def is_undefined(self, code: int) -> bool:
        """Whether a code stands for no value; counts always have one, and may be -1."""
        return code == UNDEFINED_CODE and self.kind != "count"

    def value(self, code: int) -> Any:
        """The value of a code; of categorical variables, Booleans and counts, it is the code."""
        return self.values[code] if self.values else code

    def as_dict(self) -> dict[str, Any]:
        """The slot as plain values, for JSON."""
        values = [sorted(v) if isinstance(v, frozenset) else v for v in self.values]
        return {**asdict(self), "values": values}


class Layout(Mapping[str, Slot]):
    """The slots of all variables by name, as in `layout["parity"]`.

    Attributes:
        heads: for each attention head, the names of the program's heads that it computes; empty if
            the model was not compiled from a program.
    """

    def __init__(self, slots: tuple[Slot, ...], heads: tuple[tuple[str, ...], ...] = ()) -> None:
        self._slots = {slot.name: slot for slot in slots}
        self.heads = heads

    def __getitem__(self, name: str) -> Slot:
        check_known(name, self._slots, f"the stream has no variable '{name}'")
        return self._slots[name]

    def __contains__(self, name: object) -> bool:
        return name in self._slots

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def width(self) -> int:
        """The number of dimensions up to the end of the last slot."""
        return max((slot.start + slot.size for slot in self.values()), default=0)

    def as_list(self) -> list[dict[str, Any]]:
        """The slots as plain values, for JSON."""
        return [slot.as_dict() for slot in self.values()]


def layout_from_list(slots: Iterable[dict[str, Any]]) -> Layout:
    """Return a layout from plain values, as `as_list` returns them."""
    parsed = []
    for values in slots:
        slot = from_plain(Slot, values, "the model's layout")
        sets = tuple(frozenset(v) if isinstance(v, tuple) else v for v in slot.values)
        parsed.append(replace(slot, values=sets))
    return Layout(tuple(parsed))


def make_layout(variables: Iterable[Variable], aliases: Mapping[str, str]) -> Layout:
    """Return a layout with the variables of a program side by side, in their order.

    Args:
        variables: the variables that need dimensions.
        aliases: variables that share the dimensions of another one, by their names.
    """
    variables = list(variables)
    starts: dict[str, int] = {}
    end = 0
    for variable in variables:
        if variable.name not in aliases:
            starts[variable.name] = end
            end += _slot(variable, end).size
    return Layout(tuple(_slot(v, starts[aliases.get(v.name, v.name)]) for v in variables))


def _slot(variable: Variable, start: int) -> Slot:
    range_ = variable.range
    if isinstance(range_, Categorical):
        return Slot(variable.name, "categorical", start, len(range_), variable.is_head)
    if isinstance(range_, Number):
        return Slot(variable.name, "number", start, 1, variable.is_head, range_.values)
    assert isinstance(range_, Subset)
    return Slot(variable.name, "set", start, range_.size, variable.is_head, range_.values)


def encode(slot: Slot, code: int) -> dict[int, float]:
    """Return the dimensions of the stream that encode a value, with what they hold."""
    if slot.kind == "categorical":
        return {slot.start + code: 1.0}
    if slot.kind == "number":
        return {slot.start: float(slot.values[code])}
    if slot.kind == "boolean":
        return {slot.start: float(code)}
    return {slot.start + item: 1.0 for item in slot.values[code]}


def encodings(slot: Slot) -> Float64[np.ndarray[Any, Any], "values size"]:
    """Return the encodings of all values of a slot."""
    table = np.zeros((slot.count, slot.size))
    for code in range(slot.count):
        for dimension, amount in encode(slot, code).items():
            table[code, dimension - slot.start] = amount
    return table


def decode(stream: Float[Tensor, "*batch width"], slot: Slot) -> Int[Tensor, "*batch"]:
    """Return the code of a variable at each position; `UNDEFINED_CODE` if it holds no value.

    Numbers are assigned to the nearest bucket, counts to the nearest integer. Other dimensions must
    be recognisably 0 or 1: within 0.25 for categorical variables and Booleans, and on the same side
    of 0.5 for sets.
    """
    held = stream[..., slot.dimensions].double()
    if slot.kind == "count":
        return counted(held).round().long()
    if slot.kind == "boolean":
        clean = (held - 0.5).abs()[..., 0] > 0.25
        return torch.where(clean, (held[..., 0] > 0.5).long(), UNDEFINED_CODE)
    table = torch.from_numpy(encodings(slot)).to(held.device)
    if slot.kind == "categorical":
        one_hot = (held > 0.75).sum(-1) == 1
        clean = ((held > 0.75) | (held < 0.25)).all(-1)
        return torch.where(one_hot & clean, held.argmax(-1), UNDEFINED_CODE)
    if slot.kind == "number":
        borders = (table[1:, 0] + table[:-1, 0]) / 2
        return torch.bucketize(held[..., 0].contiguous(), borders, right=True)
    same = ((held > 0.5)[..., None, :] == (table > 0.5)).all(-1)
    return torch.where(same.any(-1), same.int().argmax(-1), UNDEFINED_CODE)


def counted(held: Float[Tensor, "*batch positions 1"]) -> Float[Tensor, "*batch positions"]:
    """Return counts from what their dimension holds, which is C / (i + 1) at position i."""
    return held[..., 0] * torch.arange(1, held.shape[-2] + 1, device=held.device)


def nearest(held: Float[Tensor, "*batch size"], slot: Slot) -> Float[Tensor, "*batch size"]:
    """Return the encoding of a value that is nearest to what a slot's dimensions hold.

    Counts are left as they are.
    """
    if slot.kind == "count":
        return held
    table = torch.from_numpy(encodings(slot)).to(held)
    return table[(held[..., None, :] - table).square().sum(-1).argmin(-1)]


def round_stream(
    stream: Float[Tensor, "*batch width"], layout: Layout
) -> Float[Tensor, "*batch width"]:
    """Return a stream with every variable at its nearest value, as a program leaves it.

    The outputs of heads are set to zero: they are undefined after a step.
    """
    rounded = torch.zeros_like(stream)
    for slot in layout.values():
        if not slot.is_head:
            rounded[..., slot.dimensions] = nearest(stream[..., slot.dimensions], slot)
    return rounded


def read_stream(stream: Float[Tensor, "*batch width"], layout: Layout) -> dict[str, list[Any]]:
    """Return every variable as nested lists of values, shaped like the stream; None: undefined.

    Numbers are returned as the stream holds them.
    """
    return {
        name: stream[..., slot.start].tolist()
        if slot.kind == "number"
        else _values(decode(stream, slot).tolist(), slot)
        for name, slot in layout.items()
    }


def _values(codes: Any, slot: Slot) -> Any:
    if isinstance(codes, list):
        return [_values(code, slot) for code in codes]
    return None if slot.is_undefined(codes) else slot.value(codes)


def margin(stream: Float[Tensor, "*batch width"], slot: Slot) -> Float[Tensor, "*batch"]:
    """Return how much every dimension of a slot may change before another value is nearest.

    An exact encoding of a categorical variable, a Boolean or a set has margin 0.5, one of a number
    half the distance to the next bucket, and one of a count 0.5 / (i + 1) at position i. The output
    of a head can also be undefined, which is all zeros.
    """
    held = stream[..., slot.dimensions].double()
    if slot.kind in ("set", "boolean"):
        return (held - 0.5).abs().amin(-1)
    if slot.kind == "count":
        counts = counted(held)
        positions = torch.arange(1, held.shape[-2] + 1, device=held.device)
        return (0.5 - (counts - counts.round()).abs()) / positions
    if slot.kind == "number":
        buckets = torch.from_numpy(encodings(slot))[:, 0].to(held.device)
        borders = (buckets[1:] + buckets[:-1]) / 2
        return (held - borders).abs().amin(-1) if len(borders) else held.new_full((), torch.inf)
    ordered = held.sort(-1, descending=True).values
    top = ordered[..., 0]
    apart = (top - ordered[..., 1]) / 2 if slot.size > 1 else torch.full_like(top, torch.inf)
    if not slot.is_head:
        return apart
    return torch.where(top > 0.5, torch.minimum(apart, top - 0.5), 0.5 - top)
