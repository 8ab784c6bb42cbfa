"""States in which the program itself fails. Nothing is proved of the weights there.

The interpreters stop with an error on an input that comes to such a state; the weights answer
something. For every way in which a step can fail from listed values, one state is run by the
reference interpreter, which says why and where it fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from weft.compiler.proof.findings import Unproved
from weft.compiler.proof.invariant import Invariant
from weft.interpreter.reference import StepFailure, step
from weft.language.diagrams import Decision, Diagram
from weft.language.expressions import FAILED, reads
from weft.language.program import Program
from weft.language.ranges import UNDEFINED

STATES = 100
"""How many failing states of each update are run."""


def failing_states(invariant: Invariant) -> tuple[str, ...]:
    """Why steps from listed values fail, each reason once, with its line."""
    result: dict[str, None] = {}
    for state in _candidates(invariant):
        whole = _completed(invariant, state)
        reason = _reason(invariant.program, whole)
        if reason is None:
            raise Unproved(f"the step does not fail in {state}, though its updates do")
        result.setdefault(reason)
    return tuple(result)


def _candidates(invariant: Invariant) -> Iterator[dict[str, Any]]:
    program = invariant.program
    variables = {**program.variables, **invariant.variables}
    left_out = (name for name in program.updates.written if name not in invariant.diagrams)
    others = (Diagram(n, program.updates.values[n], variables, apart=True) for n in left_out)
    for update in (*invariant.diagrams.values(), *others):
        yield from islice(update.failures(), STATES)
    make = invariant.program.updates.make
    for effect in invariant.program.updates.effects:
        if isinstance(effect.node, type(make.true)):
            continue
        node = make.on_path(effect.path, effect.node, make.true)
        diagram = Decision(reads(node), variables, apart=True)
        diagram.root = diagram._of(node, exact=True)
        if any(result is FAILED for result in diagram.results()):
            yield from islice(diagram.failures(), STATES)


def _completed(invariant: Invariant, state: dict[str, Any]) -> dict[str, Any]:
    """The state with a listed value for every variable; which one does not matter."""
    variables = {**invariant.program.variables, **invariant.variables}
    return {
        name: state.get(name, UNDEFINED if variable.is_head else variable.range.values[0])
        for name, variable in variables.items()
    }


def _reason(program: Program, state: dict[str, Any]) -> str | None:
    """Why the step fails in a state; None if it does not."""
    try:
        step(program, state)
    except StepFailure as failure:
        where = f", {failure.where}" if failure.where is not None else ""
        if failure.head is not None:
            return f"{failure.head} read where it is undefined{where}"
        for name, variable in program.variables.items():
            if failure.what.startswith(f"'{name}' is written outside its range"):
                return f"{name} written outside {variable.range.describe()}{where}"
        return f"{failure.what}{where}"
    return None
