"""Level 0: the construction of the ALTA paper's appendix A.2, one hidden unit per rule.

Every rule has one value per constraint. Its unit has weight 1 for each of the N constraints and the
bias 1 - N, so that it is 1 if all of them hold and 0 otherwise; it adds the new value and subtracts
the old one. Heads' outputs are reset by rules of their own. The theory (`weft.theory`) is about
this construction.
"""

from __future__ import annotations

import itertools
from typing import Any

from weft.compiler.one_hot import Expansion
from weft.errors import WeftError
from weft.language.program import Program
from weft.language.ranges import UNDEFINED, Categorical
from weft.language.rules import Rule, single_valued
from weft.weights.circuit import Circuit, Sum, form

MAX_RULES = 50_000
"""The largest number of single-valued rules that level 0 compiles."""


def lower_rules(program: Program, circuit: Circuit, expansion: Expansion) -> int:
    """Give every single-valued rule a unit, resets included; returns the number of rules."""
    singles = (single for rule in program.rules for single in single_valued(rule))
    rules = list(itertools.islice(singles, MAX_RULES + 1))
    if len(rules) > MAX_RULES:
        raise WeftError(
            f"it has more than {MAX_RULES:,} rules with one value per constraint",
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
            f"a rule fires if the head '{name}' is undefined, which level 0 cannot test",
            subject=program.name,
            remedy=f"Read '{name}' only after the test that makes sure of it, or use -O 2",
        )
    if isinstance(range_, Categorical):
        weights = [int(other == value) for other in range_.values]
        return Sum(((form({name: weights}), 1),))
    return expansion.weighted(name, {value: 1})
