"""The minimal version of a program with respect to a training set (ALTA paper, section 3.2, C.2).

Rules that never fired are removed, and so are tokens and positions that never occurred. That is the
paper's procedure. Its definition 1 also requires that no constraint of a rule is unnecessary, which
the paper assumes and does not check. With `constraints=True`, unnecessary constraints are removed
as well.

On the training set the minimal program does what the program does, at every layer. What it does on
other inputs is the prediction. Rules without some of their constraints may overlap on other inputs
(see the readings in `minimality`); in a state in which two of them disagree, the minimal program
fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypedDict

from weft.errors import WeftError
from weft.interpreter.inputs import Inputs
from weft.language.program import Program, as_program
from weft.language.rules import Rule, check_defined
from weft.theory.minimal.minimality import Reading
from weft.theory.minimal.observation import (
    Form,
    Observation,
    all_rules,
    fired_resets,
    fired_rules,
    observe,
)
from weft.theory.minimal.restriction import MinimalProgram, restrict
from weft.theory.minimal.shortening import Order, documented, seeded, shortened


@dataclass(frozen=True)
class Dropped:
    """Something that the minimal program leaves out.

    Attributes:
        kind: `rule`, `reset`, `constraint`, `token` or `position`.
        what: the rule, constraint, token or position, as text.
        why: why it was dropped.
    """

    kind: str
    what: str
    why: str


@dataclass(frozen=True)
class Minimal:
    """A minimal program and how it was made.

    Attributes:
        program: the minimal program; it runs and compiles like any other.
        used: what the program uses over the training set.
        form: whether rules have one value per constraint (`single`) or sets.
        fired: the rules that fired, before constraints were removed.
        resets: the resets of heads that fired.
        kept: the fired rules that stay, each with its shortened form.
        order: the order in which constraints were tried; empty if they were not.
        reading: the reading of definition 1 by which constraints were removed.
    """

    program: MinimalProgram
    used: Observation
    form: Form
    fired: tuple[Rule, ...]
    resets: tuple[Rule, ...]
    kept: tuple[tuple[Rule, Rule], ...]
    order: str
    reading: Reading

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the minimal program."""
        return tuple(rule for _, rule in self.kept)

    @property
    def original(self) -> Program:
        """The program that was minimised."""
        return self.program.original

    @property
    def count(self) -> int:
        """How many rules it has, as the paper counts them: including resets that fired."""
        return len(self.rules) + len(self.resets)

    @property
    def shortenings(self) -> Iterator[tuple[Rule, tuple[str, ...]]]:
        """The rules that lost constraints, with the variables that they no longer test."""
        for rule, short in self.kept:
            kept = {name for name, _ in short.guard}
            gone = tuple(name for name, _ in rule.guard if name not in kept)
            if gone:
                yield rule, gone

    def dropped(self) -> Iterator[Dropped]:
        """Everything that was dropped, and why; rules come last, since there can be very many."""
        variables = self.original.variables
        for number in sorted(_token_numbers(self.original) - self.used.tokens):
            token = str(self.original.vocabulary.name(number))
            yield Dropped("token", token, "it occurs in no training input")
        for position in range(self.used.positions, _positions(self.original)):
            yield Dropped("position", str(position), "no training input is that long")
        for rule, gone in self.shortenings:
            for name in gone:
                yield Dropped(
                    "constraint",
                    f"{name} in `{rule.show(variables)}`",
                    "no training state satisfies all of the rule but this",
                )
        stay = {rule for rule, _ in self.kept}
        for rule in self.fired:
            if rule not in stay:
                why = "other rules write the same wherever it fires"
                yield Dropped("rule", rule.show(variables), why)
        why = "it never fired in training"
        fired = set(self.fired) | set(self.resets)
        for rule in self.original.rules.resets:
            if rule not in fired:
                yield Dropped("reset", rule.show(variables), why)
        for rule in all_rules(self.original, self.form):
            if rule not in fired:
                yield Dropped("rule", rule.show(variables), why)


class MinimalOptions(TypedDict, total=False):
    """The options of `minimal_program`, which says what they mean."""

    constraints: bool
    reading: Reading
    form: Form
    seed: int | None
    tries: int
    layers: int | None


def minimal_program(
    program: Program | type[Program],
    inputs: Inputs,
    *,
    constraints: bool = False,
    reading: Reading = "weights",
    form: Form = "single",
    seed: int | None = None,
    tries: int = 1,
    layers: int | None = None,
) -> Minimal:
    """The minimal version of a program with respect to training inputs.

    Args:
        program: a program, or its class.
        inputs: the training inputs: text for its `encode`, or tokens.
        constraints: whether to remove constraints that training does not need (definition 1).
        reading: the reading of definition 1; theorem 2 holds for `weights` and `logic`.
        form: `single` for one value per constraint, as in the paper; `sets` for rules as derived.
        seed: the order in which constraints are tried; None for the documented one.
        tries: how many orders to try; the first that leaves the fewest constraints is taken.
        layers: how many layers to run, for a program that does not halt.

    Example:
        >>> import weft
        >>> from weft.theory import minimal_program
        >>> counter = minimal_program(weft.program("parity-sum"), ["0", "1", "11", "111"])
        >>> counter.count  # 2 rules for odd counts, and 4 values of the head to reset
        6
        >>> weft.run(counter.program, "00111").result, weft.run(counter.program, "11111").result
        (1, 0)
    """
    program = as_program(program)
    if tries < 1:
        raise WeftError(f"{tries} orders cannot be tried", remedy="Give at least 1")
    used = observe(program, inputs, layers=layers)
    if not used.inputs:
        raise WeftError("there are no training inputs", remedy="Give at least one input")
    fired = fired_rules(used, form)
    for rule in fired:
        check_defined(rule, "no rule", subject=program.name)
    kept, order = tuple((rule, rule) for rule in fired), ""
    if constraints:
        kept, order = _fewest(fired, used, reading, seed, tries)
    minimal = restrict(program, [rule for _, rule in kept], used.tokens, used.positions)
    return Minimal(minimal, used, form, fired, fired_resets(used), kept, order, reading)


Pairs = tuple[tuple[Rule, Rule], ...]


def _fewest(
    fired: tuple[Rule, ...], used: Observation, reading: Reading, seed: int | None, tries: int
) -> tuple[Pairs, str]:
    """The shortest rules over several orders, and the order that gives them."""
    first: tuple[Order, str] = (documented, "documented")
    start = 0
    if seed is not None:
        first, start = (seeded(seed), f"seed {seed}"), seed + 1
    orders = [first, *((seeded(n), f"seed {n}") for n in range(start, start + tries - 1))]
    results = [(shortened(fired, used, order, reading=reading), name) for order, name in orders]
    return min(results, key=lambda each: count_constraints(tuple(rule for _, rule in each[0])))


def count_constraints(rules: tuple[Rule, ...]) -> int:
    """How many constraints rules have, not counting old values."""
    return sum(len(rule.guard) for rule in rules)


def _token_numbers(program: Program) -> set[int]:
    return set(range(program.vocabulary.size or 0))


def _positions(program: Program) -> int:
    """How many positions have their own initial values; 0 if none has."""
    named = any(variable.position is not None for variable in program.variables.values())
    return (program.definition.positions or 0) if named else 0
