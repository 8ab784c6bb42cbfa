"""From the `step` function, plain Python, to guarded updates.

The source is executed symbolically (`machine`): statements (`statements`, `matching`), expressions
(`values`) and calls (`calls`) are followed. What cannot be followed is tabulated (`tabulation`,
with `dependencies` and `fragments`). Code that does more than compute and assign is refused
(`purity`).
"""

from __future__ import annotations

from types import MethodType

from weft.errors import Location, WeftError
from weft.language.bounded import ENDLESS
from weft.language.expressions import deep_recursion
from weft.language.frontend import statements
from weft.language.frontend.machine import (
    STATE,
    Exhausted,
    NotUnderstood,
    Operand,
    SymbolicMachine,
)
from weft.language.program import Program, plain_step
from weft.language.source import free_variables, function_source
from weft.language.updates import Updates, never_succeeds

__all__ = ["AlwaysFails", "deep_recursion", "derive"]


class AlwaysFails(WeftError):
    """A step that succeeds in no state."""


def derive(program: Program) -> Updates:
    """The guarded updates of a program's step."""
    if program.listed_rules is not None:
        from weft.language.from_rules import updates_from_rules

        return updates_from_rules(program.variables, program.listed_rules)
    machine = SymbolicMachine(program.variables, program.name)
    program._step_has_loop  # noqa: B018  # refuses loops that could not be ended
    step = program.step_function
    if step is not None:
        with deep_recursion():
            try:
                _execute(machine, program, step)
            except (Exhausted, RecursionError):
                raise _too_expensive(machine, program) from None
    machine.finished = True
    result = Updates(program.variables, machine.values, tuple(machine.effects), machine.make)
    failure = never_succeeds(result)
    if failure is not None:
        raise AlwaysFails(
            f"the step fails in every state: {failure.what}",
            subject=f"{program.name}.step",
            where=failure.where or _location(program),
            remedy="Let it succeed in some state, or remove what fails",
        )
    return result


def _execute(machine: SymbolicMachine, program: Program, step: object) -> None:
    bound = isinstance(step, MethodType)
    function = step.__func__ if isinstance(step, MethodType) else step
    source = function_source(function)
    if source is None:
        raise WeftError(
            "its source cannot be read, so its rules cannot be derived",
            subject=f"{program.name}.step",
            remedy="Define it with `def` in a file or a notebook cell",
        )
    parameters = source.parameters
    names: dict[str, Operand] = {parameters[-1]: STATE}
    if bound:
        names = {parameters[0]: machine.make.constant(program), parameters[1]: STATE}
    around = free_variables(function)  # type: ignore[arg-type]
    machine.frames.append(machine.new_frame(source, around, function, names))
    try:
        statements.block(machine, source.node.body)
    except NotUnderstood as reason:
        raise WeftError(
            f"the front end cannot follow this: {reason.reason}",
            subject=f"{program.name}.step",
            where=reason.where or source.location(source.node),
            remedy=reason.remedy
            or "Write it in simpler Python, or move it into a helper of values",
        ) from None


def _location(program: Program) -> Location | None:
    source = function_source(plain_step(type(program)))
    return None if source is None else source.location(source.node)


def _too_expensive(machine: SymbolicMachine, program: Program) -> WeftError:
    if machine.endless is not None:
        return WeftError(
            f"in many states {ENDLESS}",
            subject=f"{program.name}.step",
            where=machine.endless,
            remedy="Let the loop end in every state",
        )
    return WeftError(
        "its rules take too much work to derive",
        subject=f"{program.name}.step",
        where=machine.frames[-1].source.location(machine.frames[-1].source.node),
        remedy="Let its loops make fewer rounds, or do less in one step",
    )
