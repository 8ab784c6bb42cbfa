"""A trained model as a function from operands to numbers, decoded greedily in batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from weft.studies.arithmetic.explanation_hypotheses import Answer
from weft.tasks.arithmetic import Arithmetic, outputs_of
from weft.tasks.arithmetic.notation import Numbers
from weft.tasks.arrays import Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import END

if TYPE_CHECKING:
    from weft.models.factory import Model

ROWS = 512
"""How many questions are decoded at a time."""


def answer_of(task: Arithmetic, model: Model, *, rows: int = ROWS) -> Answer:
    """What a model answers: from the digits of each operand (b l each) to the numbers it writes.

    An output ends at <end>. It may become as long as the longest question with its answer allows;
    then it is no number.

    Args:
        task: the task on which the model was trained.
        model: the model.
        rows: how many questions are decoded at a time.
    """

    def answer(operands: Sequence[Ints]) -> Numbers:
        questions = task.lay_out(task.pairs(operands))
        return task.results(decode(model, questions, rows=rows))

    return answer


def decode(model: Model, questions: Batch, *, rows: int = ROWS) -> Ints:
    """A model's own outputs (b l), token by token; a cache of keys and values is used if it can be.

    Questions of one length are decoded together, because the cache needs prompts of one length.
    """
    from weft.models.cache import supports_kv_cache

    prompts, width = questions.prompt, questions.tokens.shape[1]
    config = model.config
    cached = config.kind == "decoder" and supports_kv_cache(model) and not config.example_offsets
    outputs = np.zeros((len(questions), width + 2), dtype=np.int64)
    for prompt in np.unique(prompts).tolist():
        every = np.flatnonzero(prompts == prompt)
        for start in range(0, len(every), rows):
            chosen = every[start : start + rows]
            part = questions.take(chosen)
            made = _generated(model, part, prompt) if cached else _decoded(model, part)
            outputs[chosen, : made.shape[1]] = made
    return outputs


def _generated(model: Model, questions: Batch, prompt: int) -> Ints:
    """The tokens behind prompts of one length, with a cache."""
    import torch

    from weft.models import generate

    tokens = torch.from_numpy(np.ascontiguousarray(questions.tokens[:, :prompt]))
    steps = questions.tokens.shape[1] - prompt + 1
    made = generate(model, tokens.to(model.embedding.device), steps, stop=END)
    return made[:, prompt:].cpu().numpy()


def _decoded(model: Model, questions: Batch) -> Ints:
    """The same with one forward pass per token, for any model."""
    from weft.training.evaluation import decoded

    with model.evaluating():
        return outputs_of(questions, decoded(model, replace(questions, axes={})))
