"""How questions and answers are laid out for a model, against lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from token_rows import padded, rows

from weft.tasks.formats import END, MARK, START, Pairs, continued, next_symbols, tagged, translated


def pairs_of(lists: list[list[int]], answers: list[list[int]]) -> Pairs:
    (question, question_lengths), (answer, answer_lengths) = padded(lists), padded(answers)
    return Pairs(
        question=question,
        question_lengths=question_lengths,
        answer=answer,
        answer_lengths=answer_lengths,
        axes={"length": question_lengths},
    )


@given(rows)
def test_a_language_model_reads_question_mark_and_answer(lists: list[list[int]]) -> None:
    answers = [one[:3][::-1] for one in lists]
    batch = continued(pairs_of(lists, answers))
    for row, (question, answer) in enumerate(zip(lists, answers, strict=True)):
        whole = [*question, MARK, *answer, END]
        assert batch.tokens[row, : batch.lengths[row]].tolist() == whole[:-1]
        asked = [-1] * len(question) + [*answer, END]
        assert batch.targets[row, : batch.lengths[row]].tolist() == asked
        assert batch.prompt[row] == len(question) + 1


@given(rows)
def test_a_decoder_reads_the_answer_shifted(lists: list[list[int]]) -> None:
    answers = [one[:3][::-1] for one in lists]
    batch = translated(pairs_of(lists, answers))
    for row, answer in enumerate(answers):
        length = batch.lengths[row]
        assert batch.tokens[row, :length].tolist() == [START, *answer]
        assert batch.targets[row, :length].tolist() == [*answer, END]
        assert (batch.targets[row, length:] == -1).all()


def test_a_tagger_answers_under_each_token() -> None:
    batch = tagged(pairs_of([[5, 6], [7]], [[1, 0], [1]]))
    assert batch.targets[:, :3].tolist() == [[1, 0, -1], [1, -1, -1]]


@given(rows)
def test_a_language_model_that_predicts_sets_reads_the_text_from_start(
    lists: list[list[int]],
) -> None:
    legal = np.zeros((len(lists), 7, 10), dtype=np.bool_)
    legal[..., [END, 5, 6, 7, 8, 9]] = True
    batch = next_symbols(replace(pairs_of(lists, lists), legal=legal))
    assert batch.legal is not None
    for row, text in enumerate(lists):
        length = batch.lengths[row]
        assert batch.tokens[row, :length].tolist() == [START, *text]
        assert batch.targets[row, :length].tolist() == [*text, END]
        assert batch.legal[row, :length].sum() == 6 * length
        assert not batch.legal[row, length:].any()
