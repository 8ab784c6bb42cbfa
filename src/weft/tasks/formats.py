"""Questions with their answers, and the three formats in which a model meets them.

tag       tokens   a question           targets  an answer under each token, or -1
lm        tokens   a question = answer  targets  the answer and <end>, each under the token before
seq2seq   source   a question           tokens   <start> and the answer, shifted by one
                                        targets  the answer and <end>
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.tasks.arrays import Ints, constant, placed, within
from weft.tasks.batch import Batch

Format = Literal["tag", "seq2seq", "lm"]

PAD, START, END, MARK = range(4)  # the tokens that every vocabulary begins with


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Questions and answers (b l) with their lengths and axes (b); 0 lies beyond the lengths.

    Where each token has an answer of its own, answers are as long as questions, and -1 where none
    is asked for.
    """

    question: Ints
    question_lengths: Ints
    answer: Ints
    answer_lengths: Ints
    axes: Mapping[str, Ints]


def tagged(pairs: Pairs) -> Batch:
    """An answer under each token."""
    inside = within(pairs.question_lengths, pairs.question.shape[1])
    return Batch(
        tokens=pairs.question,
        lengths=pairs.question_lengths,
        targets=np.where(inside, pairs.answer, -1),
        axes=pairs.axes,
    )


def continued(pairs: Pairs) -> Batch:
    """The question, a mark and the answer in one row, with the loss on the answer."""
    size, width = len(pairs.question), pairs.question.shape[1] + pairs.answer.shape[1] + 2
    rows, ends = placed(
        width,
        [
            (pairs.question, pairs.question_lengths),
            constant(MARK, size),
            (pairs.answer, pairs.answer_lengths),
            constant(END, size),
        ],
    )
    asked = within(ends - 1, width - 1) & ~within(pairs.question_lengths, width - 1)
    return Batch(
        tokens=np.where(within(ends - 1, width - 1), rows[:, :-1], PAD),
        lengths=ends - 1,
        targets=np.where(asked, rows[:, 1:], -1),
        axes=pairs.axes,
    )


def translated(pairs: Pairs) -> Batch:
    """The question for an encoder, the answer for a decoder."""
    size, width = len(pairs.answer), pairs.answer.shape[1] + 1
    answer = (pairs.answer, pairs.answer_lengths)
    tokens, lengths = placed(width, [constant(START, size), answer])
    targets, _ = placed(width, [answer, constant(END, size)])
    return Batch(
        tokens=tokens,
        lengths=lengths,
        targets=np.where(within(lengths, width), targets, -1),
        axes=pairs.axes,
        source=pairs.question,
        source_lengths=pairs.question_lengths,
    )


def concluded(pairs: Pairs) -> Batch:
    """A question whose answer is one token: it is asked for at the question's last token."""
    asked = np.arange(pairs.question.shape[1]) == pairs.question_lengths[:, None] - 1
    return Batch(
        tokens=pairs.question,
        lengths=pairs.question_lengths,
        targets=np.where(asked, pairs.answer[:, :1], -1),
        axes=pairs.axes,
    )
