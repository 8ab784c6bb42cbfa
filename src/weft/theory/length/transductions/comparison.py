"""A C-RASP program compared with a task: all inputs up to a length, and random longer ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from weft.crasp.batched import run_batch
from weft.crasp.program import CraspProgram
from weft.errors import WeftError
from weft.tasks import Task
from weft.tasks.algorithmic.rewriting import FILLER, DistinctTask, UniqueCopy
from weft.tasks.formal import FormalLanguage
from weft.theory.length.transductions.questions import (
    END,
    Prompt,
    all_inputs,
    input_prompt,
    prefixes_by_length,
    word_prompt,
)
from weft.theory.length.word_functions import Word, shown

BATCH = 4096
"""Words that are run at once."""
INPUTS = 6_000
"""All inputs are tried up to the length with this many of them in all."""
RANDOM = 24
"""So many random longer inputs are tried too."""
LONGEST = 150
"""Random inputs are at most this long."""
EXACT = 30
"""The table of states of a counter language is exact for all prefixes up to this length."""


def first_mistake(program: CraspProgram, prompts: Iterable[Prompt]) -> Word | None:
    """The first prefix of a prompt at which the program is wrong; None if it is always right.

    A program without an accepting line beyond its lines `NEXT_a` says that a word may end by
    allowing nothing.
    """
    nexts = program.next_symbols
    accepting = None if program.accepting in nexts.values() else program.accepting
    for batch in _batches(prompts):
        values = run_batch(program, [prompt.word for prompt in batch]).values
        for row, prompt in enumerate(batch):
            for place, allowed in prompt.asked.items():
                said = {a for a, line in nexts.items() if values[line][row, place]}
                ends = not said if accepting is None else bool(values[accepting][row, place])
                if said | ({END} if ends else set()) != allowed:
                    return prompt.word[:place]
    return None


def _batches(prompts: Iterable[Prompt]) -> Iterator[list[Prompt]]:
    rest = iter(prompts)
    while batch := list(islice(rest, BATCH)):
        yield batch


@dataclass(frozen=True)
class Compared:
    """A program that agrees with a task.

    Attributes:
        program: as it is shown.
        length: all inputs up to this length were tried.
        inputs: how many they were.
        sampled: how many random longer ones were tried.
        longest: the length of the longest of them.
    """

    program: CraspProgram
    length: int
    inputs: int
    sampled: int
    longest: int

    @property
    def lines(self) -> tuple[str, ...]:
        """What was compared, for the details of an answer."""
        parts = []
        if self.inputs:
            parts.append(f"all {self.inputs:,} inputs up to length {self.length}")
        if self.sampled:
            parts.append(f"{self.sampled} random ones up to length {self.longest}")
        return (f"compared with the task on {' and on '.join(parts)}",)


def compare(
    program: CraspProgram,
    levels: Iterable[Sequence[Prompt]],
    longer: Sequence[Prompt],
    subject: str,
) -> Compared:
    """Compare a program with all inputs of length 0, 1, ... and with longer ones.

    Args:
        program: the program.
        levels: the inputs of each length, in order.
        longer: random ones.
        subject: the name of the task.

    Raises:
        WeftError: if the program is wrong, so that no answer rests on it.
    """
    length, total = -1, 0
    for prompts in levels:
        if total + len(prompts) > INPUTS:
            break
        check_program(program, prompts, subject)
        length, total = length + 1, total + len(prompts)
    check_program(program, longer, subject)
    longest = max((prompt.length for prompt in longer), default=0)
    return Compared(program, length, total, len(longer), longest)


def check_program(program: CraspProgram, prompts: Sequence[Prompt], subject: str) -> None:
    """Raise a `WeftError` that names the first mistake, if a program makes one."""
    wrong = first_mistake(program, prompts)
    if wrong is not None:
        raise WeftError(
            f"the program {program.name} is wrong after {shown(wrong)}",
            subject=f"task {subject}",
            remedy="This is a bug in Weft; please report it",
        )


def inputs_by_length(
    task: Task, symbols: Sequence[str], names: Mapping[str, str], longest: int = LONGEST
) -> Iterator[list[Prompt]]:
    """By length, the prompts of all inputs of some symbols; of many, more than `INPUTS` of them."""
    for length in range(longest + 1):
        some = islice(all_inputs(task, symbols, length), INPUTS + 1)
        yield [input_prompt(task, word, names) for word in some]


def prefixes(task: FormalLanguage) -> Iterator[list[Prompt]]:
    """By length, the prompts of all strings that a formal language asks about.

    Each is asked about at its end only: what comes before is a shorter one.
    """
    for words in prefixes_by_length(task, EXACT):
        whole = (word_prompt(task, word) for word in words)
        yield [replace(each, asked={each.length: each.asked[each.length]}) for each in whole]


def drawn_inputs(task: Task, names: Mapping[str, str]) -> list[Prompt]:
    """Prompts of the longest inputs that the task itself draws."""
    return [input_prompt(task, question[1:], names) for question in drawn_questions(task)]


def drawn_questions(task: Task) -> list[Word]:
    """Random questions of the split `longest`, with their first token."""
    batch = task.lay_out(task.draw("longest", np.random.default_rng(0), RANDOM))
    return [question for question, _ in task.examples(batch)]


def shuffled_inputs(
    task: DistinctTask, symbols: Sequence[str], names: Mapping[str, str]
) -> list[Prompt]:
    """Prompts of random inputs of distinct symbols, among these."""
    rng = random.Random(0)
    stride = task.stride if isinstance(task, UniqueCopy) else 1
    prompts = []
    for _ in range(RANDOM):
        size = stride * rng.randint(1, len(symbols) // stride)
        word = (FILLER,) * (stride - 1) + tuple(rng.sample(symbols, size))
        prompts.append(input_prompt(task, word, names))
    return prompts
