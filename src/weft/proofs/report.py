"""The result of a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Verdict = Literal["proved", "wrong", "undecided"]


@dataclass(frozen=True)
class Shown:
    """Something that was run: where, what the weights gave, and what the program gives."""

    where: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: the weights give {self.found}, the program {self.expected}"


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What was shown of a model.

    Attributes:
        verdict: `proved`; `wrong`, with a counterexample that was run; or `undecided`.
        seconds: the time that the proof took.
        reason: why it is not proved.
        counterexample: something that was run, and on which weights and program differ.
        limits: the inputs that the proof covers.
    """

    verdict: Verdict
    seconds: float = 0.0
    reason: str = ""
    counterexample: Shown | None = None
    limits: str = ""

    @property
    def proved(self) -> bool:
        """Whether the model computes its program, excluded states aside."""
        return self.verdict == "proved"

    @property
    def excluded(self) -> tuple[str, ...]:
        """What the proof does not speak of."""
        return ()

    @property
    def trusted(self) -> tuple[str, ...]:
        """What the proof takes for granted, if that is to be said each time."""
        return ()

    @property
    def checked(self) -> str:
        """How much was checked, in a few words."""
        return ""

    @property
    def figures(self) -> dict[str, Any]:
        """What else was found, as plain values for JSON."""
        return {}

    def __str__(self) -> str:
        if self.proved:
            excluded = f"; excluded: {'; '.join(self.excluded)}" if self.excluded else ""
            return f"proved for {self.limits}{excluded}"
        if self.counterexample is not None:
            return f"wrong: {self.counterexample} ({self.reason})"
        return f"undecided: {self.reason}"
