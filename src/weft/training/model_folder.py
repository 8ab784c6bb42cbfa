"""The model folder of a finished run: `runs/HASH/model`, which `weft.load` and `weft run` take.

A task says what its tokens and classes are called, and shows by examples how questions and answers
are laid out; `text_format` reads the rest off these.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from weft.compiler.model_files import ProgramDescription, output_format
from weft.errors import WeftError
from weft.language.program import Program
from weft.language.source import source_hash
from weft.language.vocabulary import Vocabulary
from weft.models.factory import Model
from weft.models.files import RUN_MODEL, save_model
from weft.models.text import TokenFormat
from weft.tasks import Task
from weft.tasks.formats import END, Pairs
from weft.tasks.program_output import ProgramOutput
from weft.tasks.task import TRAIN
from weft.training.callbacks import Result
from weft.training.config import TrainingConfig
from weft.training.program_task import ProgramTask

EXAMPLES = 64
"""How many examples are drawn to see how questions and answers are laid out."""


def save_run_model(
    folder: Path, model: Model, config: TrainingConfig, task: Task, result: Result
) -> None:
    """Write the model of a run that has ended.

    Args:
        folder: the folder of the run.
        model: the model whose accuracy the result reports.
        config: the config of the run.
        task: its task, as the model reads it.
        result: how it ended.
    """
    program, found_as = _program(task, config)
    unused = range(len(task.vocabulary), model.config.vocabulary)
    names = (*task.vocabulary, *(f"<unused {number}>" for number in unused))
    accuracy = {
        f"accuracy, {split}": f"{share:.4f} (n = {result.tests.get(split, 0):,})"
        for split, share in result.accuracy.items()
    }
    save_model(
        model,
        folder / RUN_MODEL,
        kind="trained",
        name=task.called,
        text=text_format(task) if program is None else _output_format(task, program),
        vocabulary=Vocabulary(names=names, size=len(names)),
        program=None if program is None else _described(program, found_as),
        training={
            "run": config.hash,
            "task": config.task,
            "parameters": dict(config.parameters),
            "step": result.step,
            "accuracy": dict(result.accuracy),
        },
        facts={"run": config.hash, "steps": f"{result.step:,}", **accuracy},
    )


def _program(task: Task, config: TrainingConfig) -> tuple[Program | None, str]:
    """The program whose tokens a model reads, and how to find it."""
    if isinstance(task, ProgramTask):
        return task.program, config.supervision.program
    return (task.made, task.program) if isinstance(task, ProgramOutput) else (None, "")


def _output_format(task: Task, program: Program) -> TokenFormat:
    longest = task.lengths[1] if isinstance(task, ProgramOutput) else None
    return replace(output_format(program), longest=longest)


def _described(program: Program, found_as: str) -> dict[str, Any]:
    return asdict(
        ProgramDescription(name=program.name, found_as=found_as, source_hash=source_hash(program))
    )


def text_format(task: Task) -> TokenFormat:
    """How a model of a task reads questions and writes answers.

    Example:
        >>> from weft.tasks import task
        >>> from weft.training.model_folder import text_format
        >>> text_format(task("addition")).mode, text_format(task("parity")).mode
        ('continue', 'last')
    """
    drawn = list(_drawn(task))
    batch = task.lay_out(drawn[0])
    scored = batch.targets >= 0
    rows, lengths = batch.tokens, batch.lengths
    if batch.source is not None and batch.source_lengths is not None:
        mode, rows, lengths = "translate", batch.source, batch.source_lengths
    elif task.format == "lm" and bool((batch.prompt < lengths).any()):
        mode, lengths = "continue", batch.prompt
    else:
        mode = (
            "last"
            if bool((scored.sum(1) == 1).all() & (batch.prompt == lengths).all())
            else "every"
        )
    numbers = {name: number for number, name in enumerate(task.vocabulary)}
    symbols = {numbers[symbol] for symbol in task.symbols}
    before, inside, after = _marks(rows, lengths, symbols)
    others = set(task.vocabulary) - set(task.symbols)
    ends = mode in ("continue", "translate") and bool((batch.targets == END).any())
    return TokenFormat(
        mode=mode,  # type: ignore[arg-type]
        classes=tuple(task.answers),
        spaced=any(len(name) > 1 for name in task.answers if name not in others),
        symbols=tuple(sorted(symbols | inside)),
        before=before,
        after=after,
        start=int(batch.tokens[0, 0]) if mode == "translate" else 0,
        end=END if ends else None,
        longest=max(pairs.question.shape[1] for pairs in drawn) - len(before),
        longest_answer=max(pairs.answer.shape[1] for pairs in drawn) + 1,
    )


def _drawn(task: Task) -> list[Pairs]:
    """Examples of every split that has any, those in distribution first."""
    result = []
    for split in sorted(task.splits, key=lambda split: split != TRAIN):
        try:
            result.append(task.draw(split, np.random.default_rng(0), EXAMPLES))
        except WeftError:
            if not result:
                raise
    return result


def _marks(
    rows: Any, lengths: Any, symbols: set[int]
) -> tuple[tuple[int, ...], set[int], tuple[int, ...]]:
    """The marks in front of all questions, tokens within some, and the marks behind all."""
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    inside: set[int] = set()
    for row, length in zip(rows.tolist(), lengths.tolist(), strict=True):
        question = row[:length]
        places = [place for place, token in enumerate(question) if token in symbols]
        if places:
            before, after = tuple(question[: places[0]]), tuple(question[places[-1] + 1 :])
            inside |= set(question[places[0] : places[-1] + 1]) - symbols
    return before, inside, after
