"""What a model writes by itself: whole traces, and the line of a first error to its end.

Decoding is greedy. A trace that does not end within the context, or has a token that is not text,
is an error for `model_trace`, and the end of the line for `written_lines`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.ptg.tokens import END, SPECIAL
from weft.tasks.arrays import Ints
from weft.tasks.batch import Batch

if TYPE_CHECKING:
    from weft.models.factory import Model
    from weft.tasks.program_traces import ProgramTraces

MAX_LINE = 96
"""The largest number of tokens that a wrong line is followed for."""


@dataclass(frozen=True)
class ModelTrace:
    """A trace as a model wrote it.

    Attributes:
        text: the trace, up to `<end>`.
        tokens: its tokens, without `<end>`.
        ended: whether the model wrote `<end>`; if not, the context was full.
    """

    text: str
    tokens: tuple[int, ...]
    ended: bool


def model_trace(
    model: Model,
    task: ProgramTraces,
    source: str,
    inputs: Mapping[str, Any],
    *,
    limit: int | None = None,
) -> ModelTrace:
    """The trace that a model writes for a program and its inputs, by greedy decoding.

    Args:
        model: a model that was trained on the task.
        task: the task.
        source: the program.
        inputs: a value for each parameter.
        limit: the largest number of tokens of the trace; by default, what is left of the context.

    Raises:
        WeftError: if the program and its inputs leave no room in the context, or the model writes a
            token that cannot occur in a trace.
    """
    import torch

    from weft.models import generate

    prompt = task.encode(source, inputs)
    room = task.context - len(prompt)
    if room < 1:
        raise WeftError(
            f"the program and its call have {len(prompt):,} tokens, the context {task.context:,}",
            subject="program traces",
            remedy="Give a shorter program, or a model that was trained with a longer context",
        )
    tokens = torch.tensor([list(prompt)], device=model.embedding.device)
    made = generate(model, tokens, min(room, limit or room), stop=END)
    written = made[0, len(prompt) :].tolist()
    ended = END in written
    kept = written[: written.index(END)] if ended else written
    check_tokens(task, kept)
    return ModelTrace(task.decode(kept), tuple(kept), ended)


def check_tokens(task: ProgramTraces, tokens: Sequence[int]) -> None:
    """Refuse tokens that are not text: special ones, and those beyond the vocabulary."""
    for place, token in enumerate(tokens):
        if not len(SPECIAL) <= token < len(task.vocabulary):
            known = token < len(task.vocabulary)
            name = task.vocabulary[token] if known else f"the unknown token {token}"
            line = task.decode(tokens[:place]).count("\n") + 1
            raise WeftError(
                f"line {line} of the model's trace has {name}, which is not text",
                subject="program traces",
                remedy="Train the model further: traces consist of names, numbers and signs",
            )


def written_lines(
    model: Model, task: ProgramTraces, batch: Batch, chosen: Ints, rows: Ints, places: Ints
) -> list[str]:
    """The line that a model writes instead of the right one, from its start to its end.

    Args:
        model: the model.
        task: its task.
        batch: the examples, one per row.
        chosen: the class that the model chose at every position (b l), given the right trace.
        rows: the examples with an error.
        places: of each, the position of the first wrong prediction.

    Returns:
        For each example the text of the line without its end; special tokens by their names.
    """
    newline = task.vocabulary.index("\n")
    lines = []
    with model.evaluating():
        for row, place in zip(rows.tolist(), places.tolist(), strict=True):
            before = [*batch.tokens[row, : place + 1].tolist(), int(chosen[row, place])]
            made = _continued(model, before, (newline, END))
            lines.append(_line(task, made[int(batch.prompt[row]) :], newline))
    return lines


def _line(task: ProgramTraces, tokens: Sequence[int], newline: int) -> str:
    """The text of the last line in some tokens; a line break at its end is left out."""
    whole = list(tokens[:-1] if tokens and tokens[-1] == newline else tokens)
    start = max((at + 1 for at, token in enumerate(whole) if token == newline), default=0)
    names = task.vocabulary
    return "".join(names[token] if token < len(names) else "?" for token in whole[start:])


def _continued(model: Model, tokens: list[int], stops: tuple[int, ...]) -> list[int]:
    """Tokens continued greedily to the first stop, or by `MAX_LINE` tokens."""
    import torch

    from weft.models.cache import empty_kv_cache, supports_kv_cache

    cache = empty_kv_cache(model) if supports_kv_cache(model) else None
    text = torch.tensor([tokens], device=model.embedding.device)
    new, limit = len(tokens), len(tokens) + MAX_LINE
    positions = model.config.positions
    if positions is not None:
        limit = min(limit, positions)
    with torch.no_grad():
        while int(text[0, -1]) not in stops and text.shape[1] < limit:
            if cache is None:
                logits = model(text).logits[:, -1]
            else:
                logits = model.decode(text, new, cache)[:, -1]
            text, new = torch.cat([text, logits.argmax(-1)[:, None]], 1), 1
    made: list[int] = text[0].tolist()
    return made
