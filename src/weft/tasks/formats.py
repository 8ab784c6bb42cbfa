"""Questions with their answers, and the four formats in which a model meets them.

tag       tokens   a question           targets  an answer under each token, or -1
lm        tokens   a question = answer  targets  the answer and <end>, each under the token before
seq2seq   source   a question           tokens   <start> and the answer, shifted by one
                                        targets  the answer and <end>
next      tokens   <start> and a text   targets  the text and <end>, shifted by one
                                        legal    all symbols that may come next, <end> included
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from weft.tasks.arrays import Bools, Ints, constant, placed, within
from weft.tasks.batch import Batch

Format = Literal["tag", "seq2seq", "lm", "next"]

PAD, START, END, MARK = range(4)  # the first tokens of every vocabulary


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Questions and answers with their lengths and axes; 0 lies beyond the lengths.

    Attributes:
        question: b l, token numbers.
        question_lengths: b.
        answer: b l, class numbers. In the format `tag` as long as the question, with -1 under the
            tokens that have no answer.
        answer_lengths: b.
        axes: b for each axis.
        legal: b l c, for the format `next`: the classes that may stand in place of each token of
            the question, and of the <end> behind it, so l is one more than the question's width.
        content: b l, what the question is about, if questions can be written in several ways: two
            with the same content are the same question. None if the tokens say it.
    """

    question: Ints
    question_lengths: Ints
    answer: Ints
    answer_lengths: Ints
    axes: Mapping[str, Ints]
    legal: Bools | None = None
    content: Ints | None = None

    @property
    def identity(self) -> Ints:
        """What identifies each question (b l): its content, or else its tokens."""
        return self.question if self.content is None else self.content


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
    """The question, a mark and the answer in one row; targets are the answer and <end>."""
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
    scored = within(ends - 1, width - 1) & ~within(pairs.question_lengths, width - 1)
    return Batch(
        tokens=np.where(within(ends - 1, width - 1), rows[:, :-1], PAD),
        lengths=ends - 1,
        targets=np.where(scored, rows[:, 1:], -1),
        axes=pairs.axes,
    )


def translated(pairs: Pairs) -> Batch:
    """The question for an encoder, the answer for a decoder."""
    tokens, targets, lengths = _shifted(pairs.answer, pairs.answer_lengths)
    return Batch(
        tokens=tokens,
        lengths=lengths,
        targets=targets,
        axes=pairs.axes,
        source=pairs.question,
        source_lengths=pairs.question_lengths,
    )


def concluded(pairs: Pairs) -> Batch:
    """A question whose answer is one token: the target of the question's last token."""
    last = np.arange(pairs.question.shape[1]) == pairs.question_lengths[:, None] - 1
    return Batch(
        tokens=pairs.question,
        lengths=pairs.question_lengths,
        targets=np.where(last, pairs.answer[:, :1], -1),
        axes=pairs.axes,
    )


def next_symbols(pairs: Pairs) -> Batch:
    """A text for a language model that predicts which symbols may come next, from <start> on."""
    tokens, targets, lengths = _shifted(pairs.question, pairs.question_lengths)
    return Batch(
        tokens=tokens,
        lengths=lengths,
        targets=targets,
        axes=pairs.axes,
        legal=None if pairs.legal is None else pairs.legal & (targets >= 0)[..., None],
    )


def _shifted(text: Ints, text_lengths: Ints) -> tuple[Ints, Ints, Ints]:
    """<start> and a text; as targets, the text and <end>; the number of either."""
    size, width = len(text), text.shape[1] + 1
    tokens, lengths = placed(width, [constant(START, size), (text, text_lengths)])
    targets, _ = placed(width, [(text, text_lengths), constant(END, size)])
    return tokens, np.where(within(lengths, width), targets, -1), lengths
