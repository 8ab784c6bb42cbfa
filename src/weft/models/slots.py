"""Which dimensions of the stream hold which variable, and how to read them.

A categorical variable has a dimension for each value, one-hot; a set has one for each element,
multi-hot; a number has one. Heads' outputs are all zero where they are undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from weft.config import from_plain
from weft.errors import WeftError, did_you_mean

Kind = Literal["categorical", "number", "set"]


@dataclass(frozen=True)
class Slot:
    """The dimensions of one variable.

    Attributes:
        name: the variable.
        kind: how it is written there.
        start: its first dimension.
        size: how many it has.
        is_head: whether it is the output of a head, which can be undefined.
        values: the buckets of a number, the legal sets of a set; empty for a categorical variable.
    """

    name: str
    kind: Kind
    start: int
    size: int
    is_head: bool = False
    values: tuple[Any, ...] = ()

    @property
    def dimensions(self) -> slice:
        """Where it lies in the stream."""
        return slice(self.start, self.start + self.size)

    def as_dict(self) -> dict[str, Any]:
        """The slot as plain values, for JSON."""
        values = [sorted(v) if isinstance(v, frozenset) else v for v in self.values]
        return {
            "name": self.name,
            "kind": self.kind,
            "start": self.start,
            "size": self.size,
            "is_head": self.is_head,
            "values": values,
        }


class Layout(Mapping[str, Slot]):
    """The slots of all variables; `layout["parity"]` is one."""

    def __init__(self, slots: tuple[Slot, ...]) -> None:
        self._slots = {slot.name: slot for slot in slots}

    def __getitem__(self, name: str) -> Slot:
        if name not in self._slots:
            suggestion = did_you_mean(name, list(self._slots)).capitalize()
            raise WeftError(f"the stream has no variable '{name}'", remedy=suggestion)
        return self._slots[name]

    def __contains__(self, name: object) -> bool:
        return name in self._slots

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def width(self) -> int:
        """How many dimensions the variables take."""
        return max((slot.start + slot.size for slot in self.values()), default=0)

    def as_list(self) -> list[dict[str, Any]]:
        """The slots as plain values, for JSON."""
        return [slot.as_dict() for slot in self.values()]


def layout_from_list(slots: list[dict[str, Any]], what: str = "the model's layout") -> Layout:
    """A layout from plain values; `what` names their source in messages."""
    if not isinstance(slots, list):
        raise WeftError(f"{what} is not a list")
    made = []
    for slot in slots:
        found = from_plain(Slot, slot, what)
        sets = tuple(frozenset(v) if isinstance(v, tuple) else v for v in found.values)
        made.append(replace(found, values=sets))
    return Layout(tuple(made))
