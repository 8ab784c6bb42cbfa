"""Passes that remove what cannot matter: dead variables and heads, and duplicate heads."""

from __future__ import annotations

from dataclasses import replace

from weft.compiler.problem import Problem
from weft.language.expressions import reads


def remove_dead(problem: Problem) -> Problem:
    """Keep the output, the halting variable, and everything that they depend on."""
    definition = problem.program.definition
    live = {definition.output} | ({definition.halt.variable} if definition.halt else set())
    values = problem.program.updates.values
    waiting = list(live)
    while waiting:
        name = waiting.pop()
        needed = set(reads(values[name]))
        if name in problem.heads:
            head = problem.heads[name]
            needed |= {part for part in (head.query, head.key, head.value) if part is not None}
        waiting += needed - live
        live |= needed
    dead = [name for name in problem.variables if name not in live]
    if not dead:
        return problem.noted("dead variables", "none")
    return replace(
        problem,
        variables={n: v for n, v in problem.variables.items() if n in live},
        heads={n: h for n, h in problem.heads.items() if n in live},
        updates=tuple(update for update in problem.updates if update.variable in live),
    ).noted("dead variables", f"left out {', '.join(dead)}")


def merge_heads(problem: Problem) -> Problem:
    """Merge heads that always fetch the same values."""
    first: dict[object, str] = {}
    aliases: dict[str, str] = {}
    for name, head in problem.heads.items():
        key = (head.query, head.key, head.value, head.offsets, problem.variables[name].range)
        if key in first:
            aliases[name] = first[key]
        else:
            first[key] = name
    if not aliases:
        return problem.noted("equal heads", "none")
    merged = ", ".join(f"{name} into {into}" for name, into in aliases.items())
    return replace(
        problem,
        heads={n: h for n, h in problem.heads.items() if n not in aliases},
        aliases=aliases,
    ).noted("equal heads", f"merged {merged}")
