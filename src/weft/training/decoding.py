"""What a model writes by itself: greedy decoding of whole test sets, in few forward passes.

A draft of the output is fed to the model, which predicts every token of it at once. Up to the first
token that differs from the draft, and that token included, predictions are the model's own output.
The predictions are then the next draft, until an output ends (Jacobi decoding). With the right
answers as first drafts, a test that is answered right takes one pass, and no test takes more passes
than its output has tokens.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from weft.models.factory import Model
from weft.tasks.arrays import Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import END, START
from weft.training.data import tensors_of
from weft.training.evaluation import decoded, teacher_forcing_decides
from weft.training.learner import run

ROWS = 512
"""How many examples are decoded at a time."""


@torch.no_grad()
def greedy_outputs(model: Model, batch: Batch, *, longest: int = 0, rows: int = ROWS) -> Ints:
    """The classes that a model writes for the questions of a batch (b l), with 0 behind <end>.

    Answers under the tokens of the question (format `tag`) are read off in one pass, with 0 where
    there is no target.

    Args:
        model: the model.
        batch: questions, with answers as first drafts; the outputs do not depend on them.
        longest: outputs are cut after this many tokens, <end> included; 0 for as many as the
            batch has room for.
        rows: how many examples are decoded at a time.
    """
    width = longest or batch.targets.shape[1] + 1
    if model.config.positions is not None:
        width = max(1, min(width, model.config.positions + 1 - int(_prompts(batch).max(initial=1))))
    parts = []
    with model.evaluating():
        for start in range(0, len(batch), rows):
            parts.append(_outputs(model, batch.take(slice(start, start + rows)), width))
    widest = max((part.shape[1] for part in parts), default=0)
    return np.concatenate([np.pad(part, ((0, 0), (0, widest - part.shape[1]))) for part in parts])


def _outputs(model: Model, batch: Batch, width: int) -> Ints:
    if model.config.kind == "encoder":
        chosen = _predicted(model, batch)
        return np.where(batch.scored, chosen, 0)
    prompts = _prompts(batch)
    if not teacher_forcing_decides(model):
        return _ended(_shifted(decoded(model, _blank(batch, prompts, width)), prompts, width))
    drafts = _shifted(np.maximum(batch.targets, 0), prompts, width)
    outputs = np.zeros((len(batch), width), dtype=np.int64)
    open_rows = np.arange(len(batch))
    while len(open_rows):
        part, draft = batch.take(open_rows), drafts[open_rows]
        laid_out = _with_draft(part, draft, prompts[open_rows])
        own = _shifted(_predicted(model, laid_out), prompts[open_rows], width)
        differs = own != draft
        sure = np.where(differs.any(1), differs.argmax(1) + 1, width)  # tokens that are its own
        ends = own == END
        lengths = np.where(ends.any(1), ends.argmax(1) + 1, width)
        outputs[open_rows], drafts[open_rows] = _ended(own), own
        open_rows = open_rows[lengths > sure]
    return outputs


def _prompts(batch: Batch) -> Ints:
    """How many tokens each row has before its output begins (b)."""
    return batch.prompt if batch.source is None else np.ones(len(batch), dtype=np.int64)


def _ended(outputs: Ints) -> Ints:
    """Outputs (b l) with 0 behind the first <end>."""
    before = np.cumsum(outputs == END, axis=1) - (outputs == END)
    return np.where(before == 0, outputs, 0)


def _predicted(model: Model, batch: Batch) -> Ints:
    """The most likely class at every position (b l)."""
    tensors = tensors_of(batch, model.config).to(model.embedding.device)
    chosen: Ints = run(model, tensors).logits.argmax(-1).cpu().numpy()
    return chosen


def _shifted(values: Ints, prompts: Ints, width: int) -> Ints:
    """`width` values of each row (b l) from its last prompt token on, with 0 beyond the row."""
    places = prompts[:, None] - 1 + np.arange(width)
    inside = places < values.shape[1]
    taken = np.take_along_axis(values, np.minimum(places, values.shape[1] - 1), axis=1)
    return np.where(inside, taken, 0)


def _with_draft(batch: Batch, draft: Ints, prompts: Ints) -> Batch:
    """The prompts of a batch with drafts of outputs behind them, as one row each."""
    size, width = draft.shape
    longest = int(prompts.max(initial=1))
    tokens = np.zeros((size, longest + width - 1), dtype=np.int64)
    kept = min(longest, batch.tokens.shape[1])
    inside = np.arange(kept) < prompts[:, None]
    tokens[:, :kept] = np.where(inside, batch.tokens[:, :kept], 0)
    places = prompts[:, None] + np.arange(width - 1)
    np.put_along_axis(tokens, places, draft[:, :-1], axis=1)
    return Batch(
        tokens=tokens,
        lengths=prompts + width - 1,
        targets=np.full_like(tokens, -1),
        source=batch.source,
        source_lengths=batch.source_lengths,
    )


def _blank(batch: Batch, prompts: Ints, width: int) -> Batch:
    """The prompts of a batch, with room for outputs of `width` tokens."""
    draft = np.full((len(batch), width), START, dtype=np.int64)
    laid_out = _with_draft(batch, draft, prompts)
    places = np.arange(laid_out.tokens.shape[1])
    scored = (places >= prompts[:, None] - 1) & (places < prompts[:, None] - 1 + width)
    return replace(laid_out, targets=np.where(scored, 0, -1))
