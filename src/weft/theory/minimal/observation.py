"""What a program uses while it runs over some inputs (ALTA paper, appendix C.2).

    D   the assignments at the input of the feed-forward, of every layer and position of every input

A rule of a variable reads few of the others, so D is projected, for each variable that the step
writes, on the variables that its update reads: millions of assignments become a few thousand rows.
They determine which rules fired; the inputs determine which tokens and positions occurred.

Rules have two forms:

    single   one value per constraint, as in the ALTA paper: a rule that admits a set of values
             stands for one rule per combination, of which only those that occurred fired
    sets     as Weft derives them, `variable in set of values`; a rule that fired is kept as it is

What is minimal depends on the form: a rule with a set says something about values that never
occurred, a rule with single values does not. The paper counts rules with single values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.inputs import Inputs, read_inputs
from weft.interpreter.states import StateCounter, StateSet, code_values, layer_states
from weft.language.expressions import reads
from weft.language.program import Program, token_numbers
from weft.language.ranges import UNDEFINED
from weft.language.rules import DerivedRules, Rule, rule_of, single_valued

Bools = NDArray[np.bool_]
Form = Literal["single", "sets"]


@dataclass(frozen=True)
class Observation:
    """What a program uses over some inputs.

    Attributes:
        inputs: their tokens.
        layers: how many layers each of them ran.
        tokens: the numbers of the tokens that occurred.
        positions: how many positions the longest input has.
        states: for each variable that the step writes, the states of what its update reads.
        heads: for each head, the codes that its output had, undefined excluded.
    """

    program: Program
    inputs: tuple[tuple[Any, ...], ...]
    layers: tuple[int, ...]
    tokens: frozenset[int]
    positions: int
    states: Mapping[str, StateSet]
    heads: Mapping[str, frozenset[int]]


def read_by(program: Program, target: str) -> tuple[str, ...]:
    """A variable that the step writes, and the others that its update reads."""
    others = (name for name in reads(program.updates.values[target]) if name != target)
    return (target, *others)


def observe(program: Program, inputs: Inputs, *, layers: int | None = None) -> Observation:
    """Run a program over inputs and record what it uses.

    Example:
        >>> import weft
        >>> used = observe(weft.program("parity"), ["1", "10", "111"])
        >>> used.positions, len(used.states["done"])
        (4, 4)
        >>> next(iter(used.states["done"]))
        {'done': 0, 'done_left': 0}
    """
    tokens = read_inputs(program, inputs)
    counter = StateCounter(program)
    ran = np.zeros(len(tokens), np.int64)
    for layer in layer_states(program, tokens, layers):
        ran[layer.inputs] += 1  # once per layer, however many positions the input has
        counter.add(layer)
    states = counter.states()
    return Observation(
        program,
        tuple(map(tuple, tokens)),
        tuple(ran.tolist()),
        frozenset(number for each in tokens for number in token_numbers(program, each)),
        max(map(len, tokens), default=0),
        {name: states.project(read_by(program, name)) for name in program.updates.written},
        {
            name: frozenset(np.unique(states.column(name)).tolist())
            - {len(program.variables[name])}
            for name in program.heads
        },
    )


def fired_rules(used: Observation, form: Form = "single") -> tuple[Rule, ...]:
    """The rules that fired, without resets, in the order of the program's variables.

    Example:
        >>> import weft
        >>> from weft.theory.minimal.observation import observe
        >>> parity = weft.program("parity")
        >>> for rule in fired_rules(observe(parity, ["1", "00"])):
        ...     print(rule.show(parity.variables))
        done_left = 1 => done: 0 -> 1
    """
    fired: dict[Rule, None] = {}
    for name, states in used.states.items():
        for state, rule in firing(used.program, name, states):
            if rule is not None:
                fired.setdefault(_single_values(rule, state) if form == "single" else rule)
    return tuple(fired)


def fired_resets(used: Observation) -> tuple[Rule, ...]:
    """The rules that reset a head's output, one for each value that it had."""
    variables = used.program.variables
    return tuple(
        Rule((), name, variables[name].range.values[code], UNDEFINED, variables[name].where)
        for name, codes in used.heads.items()
        for code in sorted(codes)
    )


def firing(
    program: Program, name: str, states: StateSet
) -> Iterator[tuple[dict[str, Any], Rule | None]]:
    """Each state with the rule of a variable that fires in it, if one does."""
    rules = program.rules
    if isinstance(rules, DerivedRules):
        diagram = next(diagram for diagram in rules.diagrams if diagram.target == name)
        for state in states:
            path = diagram.find(state)
            yield state, None if path is None else rule_of(name, path)
        return
    listed: list[Rule | None] = [None] * len(states)
    for rule in rules:
        if rule.variable == name and not rule.is_reset:
            for row in np.flatnonzero(holding(rule, states)).tolist():
                listed[row] = rule
    yield from zip(states, listed, strict=True)


def holding(rule: Rule, states: StateSet) -> Bools:
    """In which states the antecedent of a rule holds."""
    held: Bools = np.ones(len(states), np.bool_)
    for name, values in rule.antecedent:
        allowed = [value in values for value in code_values(states.variables[name])]
        held &= np.asarray(allowed, np.bool_)[states.column(name)]
    return held


def _single_values(rule: Rule, state: Mapping[str, Any]) -> Rule:
    """The rule with the single value per constraint that a state has."""
    guard = tuple((name, (state[name],)) for name, _ in rule.guard if name != rule.variable)
    return Rule(guard, rule.variable, rule.old, rule.new, rule.where)


def all_rules(program: Program, form: Form = "single") -> Iterator[Rule]:
    """All rules of a program in one of the forms, without resets."""
    for rule in program.rules:
        if not rule.is_reset:
            yield from (rule,) if form == "sets" else single_valued(rule)
