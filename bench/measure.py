"""What a figure is, and how time is taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A measured value beside its target; `least` and `most` are bounds, at most one of them."""

    name: str
    value: float
    unit: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.least is not None:
            return self.value >= self.least
        return self.value <= self.most if self.most is not None else None

    @property
    def shown(self) -> str:
        return _show(self.value, self.unit)

    @property
    def target_shown(self) -> str:
        if self.least is not None:
            return f"at least {_show(self.least, self.unit)}"
        return f"at most {_show(self.most, self.unit)}" if self.most is not None else "reported"


def _show(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
    return f"{number} {unit}".rstrip()


def seconds(action: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of several times."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best
