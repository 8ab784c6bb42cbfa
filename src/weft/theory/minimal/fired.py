"""Which rules fired, in the two forms in which rules are written.

single   one value per constraint, as in the ALTA paper: a rule that lets a set of values through
         stands for as many rules as there are combinations, of which only those that occurred fired
sets     as Weft derives them: `variable in set of values`; a rule that fired is kept whole

What is minimal depends on the form: a rule with a set says something about values that never
occurred, a rule with one value does not. The paper's counts are of single values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from weft.interpreter.states import StateSet, code_values
from weft.language.diagrams import Diagram
from weft.language.program import Program
from weft.language.ranges import UNDEFINED
from weft.language.rules import DerivedRules, Rule, single_valued
from weft.theory.minimal.observation import Bools, Used

Form = Literal["single", "sets"]


def fired_rules(used: Used, form: Form = "single") -> tuple[Rule, ...]:
    """The rules that fired, each once, in the order of the program's variables; no resets.

    Example:
        >>> import weft
        >>> from weft.theory.minimal.observation import observe
        >>> parity = weft.program("parity")
        >>> for rule in fired_rules(observe(parity, ["1", "00"])):
        ...     print(rule.show(parity.variables))
        done_left = 1 => done: 0 -> 1
    """
    found: dict[Rule, None] = {}
    for name, states in used.states.items():
        for state, rule in firing(used.program, name, states):
            if rule is not None:
                found.setdefault(valued(rule, state) if form == "single" else rule)
    return tuple(found)


def fired_resets(used: Used) -> tuple[Rule, ...]:
    """The rules that cleared a head's output, one for each value that it had."""
    variables = used.program.variables
    return tuple(
        Rule((), name, variables[name].range.values[code], UNDEFINED, variables[name].where)
        for name, codes in used.heads.items()
        for code in sorted(codes)
    )


def firing(
    program: Program, name: str, states: StateSet
) -> Iterator[tuple[dict[str, Any], Rule | None]]:
    """Each assignment with the program's rule of one variable that fires there, if one does."""
    rules = program.rules
    if isinstance(rules, DerivedRules):
        diagram = next(diagram for diagram in rules.diagrams if diagram.target == name)
        for state in states:
            yield state, _found(diagram, state)
        return
    listed: list[Rule | None] = [None] * len(states)
    for rule in rules:
        if rule.variable == name and not rule.is_reset:
            for row in np.flatnonzero(holding(rule, states)).tolist():
                listed[row] = rule
    yield from zip(states, listed, strict=True)


def _found(diagram: Diagram, state: Mapping[str, Any]) -> Rule | None:
    path = diagram.find(state)
    if path is None:
        return None
    *guard, (_, (old,)) = path.guard
    return Rule(tuple(guard), diagram.target, old, path.result.value, path.result.where)


def holding(rule: Rule, states: StateSet) -> Bools:
    """In which assignments (rows) the antecedent of a rule is true."""
    held: Bools = np.ones(len(states), np.bool_)
    for name, values in rule.antecedent:
        held &= allowed(states, name, values)
    return held


def allowed(states: StateSet, name: str, values: tuple[Any, ...]) -> Bools:
    """In which assignments (rows) a variable has one of some values."""
    table = np.asarray([value in values for value in code_values(states.variables[name])], np.bool_)
    found: Bools = table[states.column(name)]
    return found


def valued(rule: Rule, state: Mapping[str, Any]) -> Rule:
    """The rule with the one value per constraint that a state has."""
    guard = tuple((name, (state[name],)) for name, _ in rule.guard if name != rule.variable)
    return Rule(guard, rule.variable, rule.old, rule.new, rule.where)


def all_rules(program: Program, form: Form = "single") -> Iterator[Rule]:
    """All rules of a program in a form, without resets."""
    for rule in program.rules:
        if not rule.is_reset:
            yield from (rule,) if form == "sets" else single_valued(rule)
