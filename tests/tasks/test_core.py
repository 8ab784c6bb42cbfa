"""Rows, layouts, hashes, scores and errors: the parts of which tasks are made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.tasks import task
from weft.tasks.arrays import placed, turned, within
from weft.tasks.formats import END, MARK, START, Pairs, continued, next_symbols, tagged, translated
from weft.tasks.hashing import hashed, in_bucket

rows = st.lists(st.lists(st.integers(5, 9), max_size=6), min_size=1, max_size=5)


def padded(lists: list[list[int]], width: int = 6) -> tuple[Any, Any]:
    filled = [one + [0] * (width - len(one)) for one in lists]
    return np.array(filled), np.array([len(one) for one in lists])


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
def test_rows_turn_within_their_lengths(lists: list[list[int]]) -> None:
    assert (turned(*padded(lists)) == padded([one[::-1] for one in lists])[0]).all()


@given(rows, st.randoms())
def test_parts_are_put_one_behind_the_other(lists: list[list[int]], rng: Any) -> None:
    others = [[rng.randrange(1, 9)] * rng.randrange(4) for _ in lists]
    found, lengths = placed(12, [padded(lists), padded(others)])
    expected = padded([one + other for one, other in zip(lists, others, strict=True)], 12)
    assert (found == expected[0]).all()
    assert (lengths == expected[1]).all()


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


@given(rows)
def test_hashes_do_not_depend_on_padding(lists: list[list[int]]) -> None:
    assert (hashed(padded(lists, 6)[0]) == hashed(padded(lists, 11)[0])).all()


def test_hashes_differ_and_fill_the_bucket_evenly() -> None:
    every = np.array(np.meshgrid(*[[1, 2]] * 14)).reshape(14, -1).T  # all strings of two tokens
    hashes = hashed(every)
    assert len(np.unique(hashes)) == 2**14
    for share in (0.125, 0.5):
        chosen = in_bucket(hashes, share)
        assert abs(chosen.mean() - share) < 0.02
        for place in range(14):  # no position decides
            assert abs(chosen[every[:, place] == 1].mean() - share) < 0.03
    assert not in_bucket(hashes, 0).any()


def test_within_marks_the_first_positions() -> None:
    assert within(np.array([0, 2]), 3).tolist() == [[False] * 3, [True, True, False]]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: task("parrity"), "did you mean 'parity'?"),
        (lambda: task("parity", lenght=3), "Did you mean 'length'?"),
        (lambda: task("parity", length="3"), "Give it as int"),
        (lambda: task("parity", length=True), "Give it as int"),
        (lambda: task("parity", length=0), "Give at least 1"),
        (lambda: task("parity", length=40), "Give at least 41, more than length"),
        (lambda: task("parity", format="lm"), "Give one of: tag"),
        (lambda: task("parity", answer="lats"), "Did you mean 'last'?"),
        (lambda: task("parity", held_out=1.0), "Give a share between 0 and 1"),
        (lambda: task("parity", held_out=0), "Give a share between 0 and 1"),
        (lambda: task("scan", held_out=0).test_set("train", 5), "a larger `held_out`"),
        (lambda: task("scan", held_out=0).validation_set(5), "let no run stop early"),
        (lambda: task("scan").batch("test", 0, 0, 1), "Train on another split"),
        (lambda: task("scan", longest=48), "Give less than 48"),
        (lambda: task("scan", split="mcd1"), "Give folder, which has"),
        (
            lambda: task("modular-addition", modulus=3, held_out=1e-9).test_set("unseen", 1),
            "larger modulus",
        ),
        (lambda: task("modular-addition").batch("unseen", 0, 0, 1), "Train on another split"),
        (lambda: task("copy", letters="aa"), "at least 2 characters that differ"),
        (lambda: task("copy", unique=True), "longer of at most 26"),
        (lambda: task("dyck", brackets="()["), "as in ()[]"),
        (lambda: task("dyck", length=10), "Give at least 16"),
        (lambda: task("addition", longer=5), "Give at least 6, more than digits"),
        (lambda: task("parity").batch("long", 0, 0, 1), "Did you mean 'longer'?"),
        (lambda: task("parity").test_set("xyz", 1), "Known: train, longer, more-ones"),
    ],
)
def test_mistakes_are_told_with_a_remedy(make: Any, told: str) -> None:
    with pytest.raises(WeftError) as caught:
        make()
    assert told.lower() in str(caught.value).lower()
