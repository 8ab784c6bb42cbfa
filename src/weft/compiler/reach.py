"""Which values can occur: a sound abstract interpretation, variable by variable.

Start from all tokens and positions; add what a step can write, given the values so far, until
nothing is new. A variable that keeps growing (a counter) gets its entire range after a few
iterations. Relations between variables are not tracked, so the result may be too large, never too
small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.compiler.problem import Problem, restricted
from weft.errors import WeftError
from weft.interpreter.batched import run_batch
from weft.language.diagrams import Diagram, Put
from weft.language.frontend import deep_recursion
from weft.language.program import Program, Variable
from weft.language.ranges import Number, PartialRange

ROUNDS = 6
"""After this many iterations, a variable that still grows gets its entire range."""


def find_reachable(problem: Problem, positions: int | None) -> Problem:
    """Restrict every variable to the values that can occur."""
    program = problem.program
    values = {n: initial_values(program, v, positions) for n, v in problem.variables.items()}
    with deep_recursion():
        _grow(problem, values)
    reached = {n: restricted(v, frozenset(values[n])) for n, v in problem.variables.items()}
    fewer = [
        f"{name} {len(reached[name])} of {len(variable)}"
        for name, variable in program.variables.items()
        if name in reached and len(reached[name]) < len(variable)
    ]
    note = f"values that occur: {', '.join(fewer)}" if fewer else "all values can occur"
    return replace(problem, variables=reached).noted("reachability", note)


def observe(problem: Problem, inputs: Sequence[Any]) -> Problem:
    """Restrict every variable to the values that it has on these inputs, at some layer."""
    program = problem.program
    batch = run_batch(program, inputs, trace=True)
    seen: dict[str, set[Any]] = {name: set() for name in problem.variables}
    for name, codes in batch.observed().items():
        if name in seen:
            values = program.variables[name].range.values
            seen[name] |= {values[code] for code in codes if code < len(values)}
    for name, variable in problem.variables.items():
        if not seen[name]:  # a head that never selected a position
            seen[name] = set(variable.range.values[:1])
    observed = {n: restricted(v, frozenset(seen[n])) for n, v in problem.variables.items()}
    note = f"values that occur on {len(batch):,} inputs (sound for these only)"
    return replace(problem, variables=observed).noted("observation", note)


def initial_values(program: Program, variable: Variable, positions: int | None) -> set[Any]:
    """What a variable can start as."""
    if variable.is_head:
        return set()
    if variable.token is not None:
        size = program.vocabulary.size
        if size is None:
            raise WeftError(
                "its tokens are not declared, so they cannot be embedded",
                subject=program.name,
                remedy="Declare them, as in tokens = ['a', 'b'] or tokens = 2",
            )
        return {variable.initial(program.vocabulary.name(n), 0) for n in range(size)}
    if variable.position is not None:
        if positions is None:
            raise WeftError(
                f"'{variable.name}' starts from the position, and the number of positions is not "
                "known",
                subject=program.name,
                where=variable.where,
                remedy="Declare `positions`, or give the longest input (--max-length)",
            )
        return {variable.initial(None, position) for position in range(positions)}
    return {variable.default}


def _grow(problem: Problem, values: dict[str, set[Any]]) -> None:
    updates = problem.program.updates
    written = [name for name in updates.written if name in problem.variables]
    round_ = 0
    while True:
        round_ += 1
        before = {name: len(result) for name, result in values.items()}
        for name in problem.variables:
            if name in problem.program.heads:
                _grow_head(problem, name, values)
        limited = {n: restricted(v, frozenset(values[n])) for n, v in problem.variables.items()}
        for name in written:
            values[name] |= _writable(name, updates.values[name], limited, problem)
        grown = [name for name, result in values.items() if len(result) > before[name]]
        if not grown:
            return
        if round_ >= ROUNDS:
            for name in grown:
                values[name] |= set(problem.program.variables[name].range.values)


def _grow_head(problem: Problem, name: str, values: dict[str, set[Any]]) -> None:
    head = problem.program.heads[name]
    whole = problem.program.variables[name].range
    values[name] |= set(whole.values) if isinstance(whole, Number) else values[head.value]


def _writable(name: str, final: Any, limited: Mapping[str, Variable], problem: Problem) -> set[Any]:
    """What a step can write, given the values that occur; not the ones it keeps."""
    whole = problem.program.variables[name]
    # The old value is one that occurs; the new one may be any.
    written = replace(whole, range=PartialRange(limited[name].range.values, whole.range))
    diagram = Diagram(name, final, {**limited, name: written})
    return {put.value for _, put in diagram.ways(diagram.root) if isinstance(put, Put)}
