"""What ends a proof: a reason why it could not be completed."""

from __future__ import annotations

from typing import Any


class Unproved(Exception):
    """A step of the proof did not go through.

    Attributes:
        reason: which, and why.
        states: codes of variables after attention (None for an undefined head) that may show a
            difference, the most promising first. The verifier runs them before it says so.
        variable: the variable whose update is in doubt.
        layer: the layer whose feed-forward is in doubt.
    """

    def __init__(
        self,
        reason: str,
        *,
        variable: str = "",
        states: tuple[dict[str, Any], ...] = (),
    ) -> None:
        super().__init__(reason)
        self.reason, self.variable, self.states, self.layer = reason, variable, states, 0
