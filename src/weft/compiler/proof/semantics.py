"""Do the derived updates mean what the step means?

Updates are derived from the source of `step`; the compiler and the verifier both start from them.
The reference interpreter executes the step as Python. Both are compared in all states
of listed values if there are few, and in some otherwise.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

from weft.compiler.proof.findings import Unproved
from weft.compiler.proof.invariant import Invariant
from weft.interpreter.reference import StepFailure, step
from weft.language.diagrams import Put
from weft.language.expressions import FAILED
from weft.language.ranges import UNDEFINED, show_value

STATES = 400
"""Up to this many states are all compared; of more, this many."""


def check_semantics(invariant: Invariant) -> None:
    """The step, executed, gives what the diagrams of the updates say."""
    program = invariant.program
    for state in _states(invariant):
        try:
            after: dict[str, Any] | None = step(program, dict(state))
        except StepFailure:
            after = None
        for name, diagram in invariant.diagrams.items():
            result = diagram.at(state)
            if after is None or result is FAILED:
                if after is not None:
                    raise _different(name, state, "the updates fail", "the step does not")
                continue
            derived = result.value if isinstance(result, Put) else state[name]
            if derived != after[name]:
                raise _different(name, state, show_value(derived), show_value(after[name]))


def _different(name: str, state: dict[str, Any], derived: str, executed: str) -> Unproved:
    shown = ", ".join(f"{variable} = {show_value(value)}" for variable, value in state.items())
    return Unproved(
        f"the updates derived from the step are not the step: '{name}' where {shown}: "
        f"{derived} by the updates, {executed} by Python"
    )


def _states(invariant: Invariant) -> Iterator[dict[str, Any]]:
    """States of listed values; merged heads hold the same."""
    choices: dict[str, tuple[Any, ...]] = {}
    for name, variable in invariant.program.variables.items():
        if name in invariant.shared:
            continue
        values = invariant.variables.get(name, variable).range.values
        choices[name] = (*values, UNDEFINED) if variable.is_head else values
    if math.prod(map(len, choices.values())) <= STATES:
        drawn: Iterator[tuple[Any, ...]] = itertools.product(*choices.values())
    else:
        rng = random.Random(0)
        drawn = (tuple(map(rng.choice, choices.values())) for _ in range(STATES))
    for values in drawn:
        state = dict(zip(choices, values, strict=True))
        yield {**state, **{name: state[into] for name, into in invariant.shared.items()}}
