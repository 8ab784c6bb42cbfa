"""Predict generalisation: the minimal program of some training inputs, run on test inputs.

If the minimal program still solves the test inputs, the training inputs determine the algorithm on
them. If it does not, its missing rules were never demonstrated. Nothing is trained. A prediction is
shown as sentences and tables: in the terminal, as Markdown and as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Unpack

from weft.errors import WeftError
from weft.language.program import Program, as_program
from weft.programs import program as program_named
from weft.statistics import Share, warnings
from weft.theory.minimal.generalisation import Generalisation, generalises
from weft.theory.minimal.input_splits import split_inputs
from weft.theory.minimal.minimality import READINGS
from weft.theory.minimal.minimise import (
    Minimal,
    MinimalOptions,
    count_constraints,
    minimal_program,
)
from weft.theory.minimal.observation import all_rules, fired_resets
from weft.theory.minimal.shortening import kept_apart

EXAMPLES = 5
"""Of wrong answers, in JSON."""
MAX_COUNTED = 1_000_000
"""Rules of a program are counted up to this many; beyond, the cell is empty."""


@dataclass(frozen=True)
class TextTable:
    """A table of text; all columns but the first are numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        """The table in Markdown."""
        lines = [self.columns, ("---", *("---:" for _ in self.columns[1:])), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class MinimalPrediction:
    """Whether training on some inputs determines a program on others, by its minimal program.

    `print(prediction)` shows it as sentences and tables.

    Attributes:
        name: the name of the program.
        minimal: the minimal program, which keeps the rules that the training inputs use.
        train: the name of the training set.
        tests: by the name of each test set, how the minimal program does on it.
    """

    name: str
    minimal: Minimal
    train: str
    tests: tuple[tuple[str, Generalisation], ...]

    @property
    def solved(self) -> bool:
        """Whether the minimal program solves every test input."""
        return all(generalisation.solved for _, generalisation in self.tests)

    @property
    def accuracy(self) -> dict[str, Share]:
        """By test set, how many inputs the minimal program gets right."""
        return {test: Share(g.right, len(g.outcomes)) for test, g in self.tests}

    def __str__(self) -> str:
        return self.markdown()

    def parts(self) -> TextTable:
        """Counts for the program, its minimal program, and what each test uses of both."""
        minimal, used, program = self.minimal, self.minimal.used, self.minimal.original
        total = sum(1 for _ in islice(all_rules(program, minimal.form), MAX_COUNTED + 1))
        columns = ["", "program", "minimal program"]
        rules = ["rules", total if total <= MAX_COUNTED else None, len(minimal.rules)]
        resets = ["resets", len(program.rules.resets), len(minimal.resets)]
        tokens = ["tokens", program.vocabulary.size, len(used.tokens)]
        positions = ["positions", program.definition.positions, used.positions]
        before, after = count_constraints(minimal.fired), count_constraints(minimal.rules)
        constraints = ["constraints", before, after]
        for test, g in self.tests:
            columns += [f"{test} uses", "not in training"]
            rules += [len(g.wanted), len(g.missing)]
            resets += [len(fired_resets(g.used)), len(g.missing_resets)]
            tokens += [len(g.used.tokens), len(g.missing_tokens)]
            positions += [g.used.positions, max(0, g.used.positions - used.positions)]
            constraints += [None, None]
        rows: list[list[Any]] = [rules, resets, tokens]
        if any(variable.position is not None for variable in program.variables.values()):
            rows.append(positions)
        if minimal.order:
            rows.append(constraints)
        return TextTable(tuple(columns), tuple(_cells(row) for row in rows))

    def outcomes(self) -> TextTable:
        """How the minimal program does on each test."""
        columns = ("test", "inputs", "right", "covered", "wrong", "not halted", "failed")
        rows = []
        for test, g in self.tests:
            endings = (g.endings[ending] for ending in ("wrong", "not halted", "failed"))
            rows.append(_cells([test, len(g.outcomes), g.right, g.covered, *endings]))
        return TextTable(columns, tuple(rows))

    def sentences(self) -> list[str]:
        """The prediction in words."""
        minimal = self.minimal
        first = (
            f"{self.name}: the minimal program for {len(minimal.used.inputs):,} training inputs "
            f"({self.train}) has {minimal.count:,} rules, {len(minimal.resets):,} of them resets "
            "of heads."
        )
        sentences = [first]
        if minimal.order:
            sentences += self._full()
        for test, g in self.tests:
            verdict = "solves" if g.solved else "does not solve"
            right = Share(g.right, len(g.outcomes))
            sentences.append(
                f"The minimal program {verdict} {test}: {g.right:,} of {right.count:,} right, "
                f"{right.short}."
            )
        return sentences

    def _full(self) -> list[str]:
        """How many constraints definition 1 removed, and by which reading."""
        minimal = self.minimal
        gone = count_constraints(tuple(rule for rule, _ in minimal.kept))
        gone -= count_constraints(minimal.rules)
        sentences = [
            f"Definition 1 by the reading '{minimal.reading}': {READINGS[minimal.reading]}.",
            f"{gone:,} constraints were removed, in the order '{minimal.order}'.",
        ]
        if minimal.reading == "exclusive":
            apart = len(kept_apart(minimal.rules, minimal.used))
            sentences[1] = sentences[1][:-1] + (
                f"; {apart:,} were kept only because two rules would overlap without them."
            )
            if apart:
                sentences.append("By this reading, theorem 2 need not hold for these rules.")
        if minimal.reading == "logic":
            dropped = len(minimal.fired) - len(minimal.kept)
            sentences.append(
                f"{dropped:,} rules were removed, since others write the same when they fire."
            )
        return sentences

    def warnings(self) -> list[str]:
        """Caveats about the sizes of the test sets."""
        return warnings((test, Share(g.right, len(g.outcomes))) for test, g in self.tests)

    def markdown(self) -> str:
        """The report as Markdown."""
        parts = ["\n".join(self.sentences()), self.parts().markdown()]
        if self.tests:
            parts.append(self.outcomes().markdown())
        parts += self.warnings()
        return "\n\n".join(parts)

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, with some examples of wrong answers."""
        minimal = self.minimal
        variables, name = minimal.original.variables, minimal.original.vocabulary.name
        return {
            "program": self.name,
            "form": minimal.form,
            "train": {"split": self.train, "inputs": len(minimal.used.inputs)},
            "rules": len(minimal.rules),
            "resets": len(minimal.resets),
            "tokens": [str(name(number)) for number in sorted(minimal.used.tokens)],
            "positions": minimal.used.positions,
            "constraints": {
                "fired": count_constraints(minimal.fired),
                "left": count_constraints(minimal.rules),
                "order": minimal.order or None,
                "reading": minimal.reading if minimal.order else None,
            },
            "kept": [rule.show(variables) for rule in minimal.rules],
            "tests": [self._test_as_json(test, g) for test, g in self.tests],
        }

    def _test_as_json(self, test: str, g: Generalisation) -> dict[str, Any]:
        variables = self.minimal.original.variables
        show = self.minimal.original.vocabulary.show
        return {
            "split": test,
            "inputs": len(g.outcomes),
            "solved": g.solved,
            **Share(g.right, len(g.outcomes)).as_dict(),
            "covered": g.covered,
            "readable": g.readable,
            "intervals": {
                name: Share(count, len(g.outcomes)).as_dict()
                for name, count in (("covered", g.covered), ("readable", g.readable))
            },
            "endings": dict(g.endings),
            "wanted": len(g.wanted),
            "missing": [rule.show(variables) for rule in (*g.missing, *g.missing_resets)],
            "not right": [
                {
                    "input": show(each.tokens),
                    "ending": each.ending,
                    "answer": each.answer,
                    "expected": each.expected,
                    "reason": each.reason,
                }
                for each in islice((o for o in g.outcomes if o.ending != "right"), EXAMPLES)
            ],
        }


def _cells(row: Sequence[Any]) -> tuple[str, ...]:
    return tuple(f"{cell:,}" if isinstance(cell, int) else cell or "" for cell in row)


InputSet = str | Sequence[str | Sequence[Any]]
"""A split by name (see `weft.theory.minimal.input_splits`), or the inputs themselves."""


def predict_minimal(
    program: str | Program | type[Program],
    train: InputSet,
    *tests: InputSet,
    examples: int = 10_000,
    test_examples: int = 1_000,
    **options: Unpack[MinimalOptions],
) -> MinimalPrediction:
    """Predict whether training on some inputs determines a program on others.

    Args:
        program: a library name, a program, or its class.
        train: what it is trained on: a split by name, such as `train`, `addition(digits=3):train`
            or `length<=20`, or a list of inputs.
        *tests: what it is tested on, likewise.
        examples: how many training inputs to draw from a split.
        test_examples: how many test inputs to draw from each split.
        **options: how the minimal program is made: `constraints`, `reading`, `form`, `seed`,
            `tries` and `layers` of `minimal_program`.

    Example:
        >>> few = predict_minimal("parity-sum", ["0", "1", "11", "111"], ["1011", "11111"])
        >>> few.minimal.count, few.solved, str(few.accuracy["test"])
        (6, False, '50.0% [9.5–90.5] of 2')
        >>> predict_minimal("parity", "parity(length=3):train", "length<=9", examples=99).solved
        True
    """
    name = program if isinstance(program, str) else ""
    chosen = program_named(program) if isinstance(program, str) else as_program(program)
    title, inputs = _inputs(chosen, name, train, "train", examples, testing=False)
    minimal = minimal_program(chosen, inputs, **options)
    outcomes = []
    for number, test in enumerate(tests, 1):
        unnamed = "test" if number == 1 else f"test {number}"
        test_title, given = _inputs(chosen, name, test, unnamed, test_examples, testing=True)
        outcomes.append((test_title, generalises(minimal, given, layers=options.get("layers"))))
    return MinimalPrediction(name or chosen.name, minimal, title, tuple(outcomes))


def _inputs(
    program: Program, name: str, given: InputSet, unnamed: str, size: int, testing: bool
) -> tuple[str, Sequence[str | Sequence[Any]]]:
    """The inputs of a split with its name, or inputs as they are."""
    if not isinstance(given, str):
        return unnamed, given
    if not name and given.replace("-", "").isalnum():
        raise WeftError(
            f"'{given}' is a split of a task, and the program was not given by name",
            remedy=f"Name the task, as in parity:{given}, or the program, as in 'parity'",
        )
    return given, split_inputs(program, name, given, size=size, testing=testing)
