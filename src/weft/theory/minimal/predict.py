"""Predict generalisation: the minimal program of some training inputs, run on test inputs.

If the minimal program still solves the test inputs, the training inputs determine the algorithm on
them. If it does not, its missing rules were never demonstrated. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.errors import WeftError
from weft.language.program import Program, as_program
from weft.programs import program as program_named
from weft.theory.minimal.generalisation import generalises
from weft.theory.minimal.input_splits import split_inputs
from weft.theory.minimal.minimality import Reading
from weft.theory.minimal.minimise import minimal_program
from weft.theory.minimal.observation import Form
from weft.theory.minimal.prediction import Prediction

InputSet = str | Sequence[str | Sequence[Any]]
"""A split by name (see `weft.theory.minimal.input_splits`), or the inputs themselves."""


def predict(
    program: str | Program | type[Program],
    train: InputSet,
    *tests: InputSet,
    examples: int = 10_000,
    test_examples: int = 1_000,
    constraints: bool = False,
    reading: Reading = "weights",
    form: Form = "single",
    seed: int | None = None,
    tries: int = 1,
    layers: int | None = None,
) -> Prediction:
    """Predict whether training on some inputs determines a program on others.

    Args:
        program: a library name, a program, or its class.
        train: what it is trained on: a split by name, such as `train`, `addition(digits=3):train`
            or `length<=20`, or a list of inputs.
        *tests: what it is tested on, likewise.
        examples: how many training inputs to draw from a split.
        test_examples: how many test inputs to draw from each split.
        constraints: whether to drop constraints that training does not need as well (definition 1
            of the ALTA paper).
        reading: the reading of definition 1; see `weft.theory.minimal.minimality`.
        form: `single` for one value per constraint, as in the paper; `sets` for rules as derived.
        seed: the order in which constraints are tried; None for the documented one.
        tries: how many orders to try; the one that leaves the fewest constraints is taken.
        layers: how many layers to run, for a program that does not halt.

    Example:
        >>> import weft
        >>> few = weft.predict("parity-sum", ["0", "1", "11", "111"], ["1011", "11111"])
        >>> few.minimal.count, few.solved, str(few.accuracy["test"])
        (6, False, '50.0% [9.5–90.5] of 2')
        >>> weft.predict("parity", "parity(length=3):train", "length<=9", examples=99).solved
        True
    """
    name = program if isinstance(program, str) else ""
    chosen = program_named(program) if isinstance(program, str) else as_program(program)
    title, inputs = _inputs(chosen, name, train, "train", examples, testing=False)
    minimal = minimal_program(
        chosen,
        inputs,
        constraints=constraints,
        reading=reading,
        form=form,
        seed=seed,
        tries=tries,
        layers=layers,
    )
    outcomes = []
    for number, test in enumerate(tests, 1):
        unnamed = "test" if number == 1 else f"test {number}"
        test_title, given = _inputs(chosen, name, test, unnamed, test_examples, testing=True)
        outcomes.append((test_title, generalises(minimal, given, layers=layers)))
    return Prediction(name or chosen.name, minimal, title, tuple(outcomes))


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
