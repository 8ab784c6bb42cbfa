"""A model beside a program that is compiled to weights: do the two fail alike?

`weft explain` compares a model with abstract state machines. A library program that computes the
same as a machine, such as `successor-shortcut`, can be compiled; then both sides are Transformers,
one trained and one with known weights, and their outputs are compared input by input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from weft.errors import WeftError
from weft.programs.recursion import constructors
from weft.statistics import Share
from weft.studies.recursion.explanation import INPUTS, asked_model, questions_of, subject_of
from weft.studies.recursion.explanation_ranking import Answer, Questions, equal
from weft.studies.recursion.explanation_subjects import TraversalSubject
from weft.tasks.arrays import Bools
from weft.tasks.recursion import Recursion
from weft.theory.recursion.state_machines import Word
from weft.training.store import Run

if TYPE_CHECKING:
    from weft.compiler.build import Compiled

ROWS = 512
"""How many inputs a compiled model reads at a time."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """The outputs of a function and of a compiled program on the same inputs.

    Attributes:
        questions: the inputs, with the function's outputs.
        outputs: the program's outputs.
    """

    questions: Questions
    outputs: list[Word | None]

    @cached_property
    def alike(self) -> Bools:
        """On which inputs both write the same."""
        return equal(self.questions.outputs, self.outputs)

    @property
    def agreement(self) -> Share:
        """The outputs, right or wrong, that are the same."""
        return Share.of(self.alike)

    @property
    def recall(self) -> Share:
        """Of the function's wrong outputs, those that the program writes, too."""
        return Share.of(self.alike[~self.questions.right])

    @property
    def precision(self) -> Share:
        """Of the program's wrong outputs, those that the function writes, too."""
        return Share.of(self.alike[~equal(self.outputs, self.questions.truths)])

    @property
    def differences(self) -> list[tuple[Word, Word | None, Word | None]]:
        """The inputs on which they differ, with the function's and the program's outputs."""
        rows = zip(self.questions.inputs, self.questions.outputs, self.outputs, strict=True)
        return [row for row, same in zip(rows, self.alike, strict=True) if not same]

    def within(self, *splits: str) -> Comparison:
        """The comparison on the inputs of some splits alone."""
        unknown = [split for split in splits if split not in self.questions.groups]
        if unknown:
            known = ", ".join(dict.fromkeys(self.questions.groups))
            what = f"no input is of the split '{unknown[0]}'"
            raise WeftError(what, remedy=f"Choose among: {known}")
        rows = np.flatnonzero([group in splits for group in self.questions.groups]).tolist()
        return Comparison(self.questions.take(rows), [self.outputs[row] for row in rows])


def compare_with_program(
    task: Recursion, answer: Answer, compiled: Compiled, *, inputs: int = INPUTS
) -> Comparison:
    """Compare a function with a compiled program on held-out inputs of every split.

    Args:
        task: the task, which draws the inputs.
        answer: the function, from inputs to outputs as tokens; None is an output without an end.
        compiled: the program, compiled; its order must be that of the task.
        inputs: about how many inputs.

    Example:
        >>> import weft
        >>> from weft.studies.recursion.explanation_programs import compare_with_program
        >>> from weft.tasks.recursion import Recursion
        >>> from weft.theory.recursion import shortcut_machine
        >>> machine = shortcut_machine("run", "flip")
        >>> compiled = weft.compile(weft.program("successor-shortcut(all_carry=flip)"))
        >>> task = Recursion(order="natural", length=8, longer=9)
        >>> found = compare_with_program(task, lambda x: [*map(machine, x)], compiled, inputs=60)
        >>> found.agreement.percent, found.recall.percent
        ('100.0%', '100.0%')
    """
    asked = questions_of(task, subject_of(task), answer, inputs)
    return Comparison(asked, compiled_outputs(task, compiled, asked.inputs))


def compare_run_with_program(run: Run, compiled: Compiled, *, inputs: int = INPUTS) -> Comparison:
    """Compare the model of a finished run with a compiled program on held-out inputs.

    Args:
        run: a run that was trained on the answers of a recursion task.
        compiled: the program, compiled; its order must be that of the task.
        inputs: about how many inputs.
    """
    model = asked_model(run)
    assert isinstance(model.task, Recursion)
    return compare_with_program(model.task, model, compiled, inputs=inputs)


def compiled_outputs(
    task: Recursion, compiled: Compiled, inputs: Sequence[Word]
) -> list[Word | None]:
    """What the weights of a compiled program write; None where they do not halt.

    Args:
        task: the task whose inputs these are.
        compiled: a program of the successor or of a traversal, compiled.
        inputs: the inputs, as tokens of the task.
    """
    from weft.compiler.execution import model_numbers, run_model
    from weft.interpreter.inputs import read_inputs
    from weft.interpreter.reference import layer_limit
    from weft.language.stream import Stream
    from weft.language.user_code import decode_stream
    from weft.models.text import check_length

    program, model = compiled.program, compiled.model
    texts = task.source.asked([list(given) for given in inputs])
    read = read_inputs(program, texts)
    check_length(max(map(len, read), default=0), compiled.max_length)
    limit, must_halt = layer_limit(program, None, None)
    found: list[Word | None] = []
    for start in range(0, len(read), ROWS):
        part = read[start : start + ROWS]
        numbers = [model_numbers(model, program, tokens) for tokens in part]
        run = run_model(model, numbers, layers=limit)
        for row, tokens in enumerate(part):
            if must_halt and not run.halted[row]:
                found.append(None)
                continue
            columns = model.read(run.stream[row, : len(tokens)])
            stream = Stream({name: tuple(column) for name, column in columns.items()})
            found.append(_word(task, decode_stream(program, stream)))
    return found


def _word(task: Recursion, result: object) -> Word:
    """A program's result in tokens of the task: a number, constructors, or letters in a row."""
    subject = subject_of(task)
    if isinstance(result, int):
        words = tuple(constructors(result))
        return words if task.order == "constructor" else words[::-1]
    if isinstance(subject, TraversalSubject):
        return subject.write(tuple("".join(str(result).split())))
    return tuple(str(result).split())
