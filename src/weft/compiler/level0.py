"""Level 0: the construction of the ALTA paper's appendix, one hidden unit a rule.

Each rule names one value for each variable of its antecedent. Its unit has weight 1 for each of
them and bias 1 - N, so that it is 1 where all N hold and 0 otherwise; it adds the new value and
takes the old one away. Heads' outputs are reset by rules of their own. Theory speaks of this one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from weft.compiler.one_hot import Expansion
from weft.errors import WeftError
from weft.language.program import Program
from weft.language.ranges import UNDEFINED, Categorical
from weft.language.rules import Rule
from weft.weights.circuit import Circuit, Sum, form

MOST = 50_000
"""The most rules that are compiled one by one."""


def single_valued(program: Program) -> Iterator[Rule]:
    """The rules with one value per constraint, resets last, as in the paper."""
    for rule in program.rules:
        names = [name for name, _ in rule.guard]
        for values in itertools.product(*(values for _, values in rule.guard)):
            guard = tuple((name, (value,)) for name, value in zip(names, values, strict=True))
            yield Rule(guard, rule.variable, rule.old, rule.new, rule.where)


def count_single_valued(program: Program) -> int:
    """How many rules there are with one value per constraint, counted as far as `MOST`."""
    return sum(1 for _ in itertools.islice(single_valued(program), MOST + 1))


def lower_rules(program: Program, circuit: Circuit, expansion: Expansion) -> int:
    """One unit a rule; returns how many rules there are."""
    rules = list(itertools.islice(single_valued(program), MOST + 1))
    if len(rules) > MOST:
        raise WeftError(
            f"it has more than {MOST:,} rules with one value per constraint",
            subject=program.name,
            remedy="Compile at level 2 (-O 2), which does not need a unit for every rule",
        )
    for rule in rules:
        _lower(program, circuit, expansion, rule)
    return len(rules)


def _lower(program: Program, circuit: Circuit, expansion: Expansion, rule: Rule) -> None:
    total = Sum(bias=1 - len(rule.antecedent))
    for name, (value,) in rule.antecedent:
        total = total.plus(_atom(program, expansion, name, value))
    total = total.joined() if not total.units else total
    note = rule.show(program.variables)
    unit = circuit.unit(total, note)
    codes = program.variables[rule.variable].range.codes
    circuit.write(unit, rule.variable, codes[rule.old], -1)
    if rule.new is not UNDEFINED:
        circuit.write(unit, rule.variable, codes[rule.new])


def _atom(program: Program, expansion: Expansion, name: str, value: Any) -> Sum:
    range_ = program.variables[name].range
    if value is UNDEFINED:
        raise WeftError(
            f"a rule fires where the head '{name}' is undefined, which level 0 cannot test",
            subject=program.name,
            remedy=f"Read '{name}' only after the test that makes sure of it, or use -O 2",
        )
    if isinstance(range_, Categorical):
        weights = [int(other == value) for other in range_.values]
        return Sum(((form({name: weights}), 1),))
    return expansion.weighted(name, {value: 1})
