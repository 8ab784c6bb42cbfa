"""Scores of outputs against the truth and the truncated function, on outputs made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.statistics import Share
from weft.tasks import score, task
from weft.tasks.arithmetic import (
    Arithmetic,
    OutputScores,
    answers_of,
    outputs_of,
    score_outputs,
)
from weft.tasks.formats import END


def made_task(name: str = "addition", **given: Any) -> Arithmetic:
    made = task(name, **given)
    assert isinstance(made, Arithmetic)
    return made


def tokens(made: Arithmetic, *texts: str) -> Any:
    """Outputs as written; `;` is <end>, a space padding."""
    width = max(map(len, texts))
    special = {";": END, " ": 0}
    return np.array([
        [special[c] if c in special else made.vocabulary.index(c) for c in text.ljust(width)]
        for text in texts
    ])  # fmt: skip


def scores(made: Arithmetic, rows: list[tuple[int, ...]], *texts: str) -> OutputScores:
    return score_outputs(made, made.examples_of(rows), tokens(made, *texts))


def test_truth_and_truncation_are_scored_side_by_side() -> None:
    made = made_task(domain="D2", longer=4)
    found = scores(
        made,
        [(12, 34), (712, 34), (712, 34), (712, 34), (712, 34), (712, 34)],
        "46;", "746;", "46;", "046;", "746", "74+6;",
    )  # fmt: skip
    assert found.exact.tolist() == [True, True, False, False, False, False]
    assert found.truncated.tolist() == [True, False, True, False, False, False]
    assert found.value.tolist() == [True, True, False, False, False, False]
    assert found.well_formed.tolist() == [True, True, True, True, False, False]
    by_digits = found.by_digits()
    assert by_digits[2].exact == Share(1, 1)
    assert by_digits[3].exact == Share(1, 5)  # malformed outputs stay in the denominator
    assert by_digits[3].truncated == Share(1, 5)
    assert by_digits[3].well_formed == Share(3, 5)
    # 746: 3 of 3 digits; 46: 2 of 3; 046: 2 of 3; the malformed ones: 0 of 3 each
    assert by_digits[3].digitwise == Share(7, 15)
    assert found.by_place() == {1: Share(4, 6), 2: Share(4, 6), 3: Share(1, 5)}


def test_leading_zeros_are_the_same_number_but_another_text() -> None:
    found = scores(made_task(), [(57, 8)], "065;")
    assert (found.value[0], found.exact[0], found.well_formed[0]) == (True, False, True)


def test_digits_count_up_to_the_last_that_is_not_zero() -> None:
    made = made_task(longer=6, width=6)
    found = scores(made, [(1, 2), (0, 0), (1, 2)], "0000003;", "0000000;", "0200003;")
    assert found.counted.sum(axis=1).tolist() == [1, 1, 6]
    assert found.right[found.counted].tolist() == [True] * 7 + [False]
    assert found.exact.tolist() == [True, True, False]


def test_no_digit_of_a_malformed_output_is_right() -> None:
    """Zeros neither: the digits of what is no number are read as zeros."""
    found = scores(made_task(), [(60, 40)] * 3, "100", "1+0;", "100;")
    assert found.right[:, :3].tolist() == [[False] * 3, [False] * 3, [True] * 3]
    assert found.by_digits()[2].digitwise == Share(3, 9)


@pytest.mark.parametrize(
    ("rows", "text", "value"),
    [((3, 25), "-22;", True), ((3, 25), "22;", False), ((25, 3), "-22;", False),
     ((7, 7), "0;", True), ((7, 7), "-0;", True)],
)  # fmt: skip
def test_the_sign_belongs_to_the_number(rows: tuple[int, int], text: str, value: bool) -> None:
    found = scores(made_task("subtraction"), [rows], text)
    assert bool(found.value[0]) == value


def test_a_scratchpad_counts_for_the_text_but_not_for_the_number() -> None:
    found = scores(made_task(scratchpad="carries"), [(57, 68)] * 2, "110:125;", "000:125;")
    assert found.value.tolist() == [True, True]
    assert found.exact.tolist() == [True, False]


def test_the_truncated_function_of_fewer_digits_can_be_asked_for() -> None:
    made = made_task("modular-multiplication", domain="D3", modulus=200)
    batch = made.examples_of([(123, 457)])
    # by the last two digits: 23 * 57 = 1311 = 111 mod 200; the truth is 56211 = 11 mod 200
    found = score_outputs(made, batch, tokens(made, "111;"), digits=2)
    assert (found.exact[0], found.truncated[0]) == (False, True)
    assert not score_outputs(made, batch, tokens(made, "111;")).truncated[0]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["addition", "subtraction", "multiplication", "modular-addition"]),
    st.sampled_from([{}, {"width": 6}, {"reverse_result": True}, {"scratchpad": "carries"}]),
    st.lists(st.tuples(*[st.integers(0, 99_999)] * 2), min_size=1, max_size=6),
)
def test_answers_are_right_and_truncated_answers_are_truncated(
    name: str, given: dict[str, Any], rows: list[tuple[int, int]]
) -> None:
    made = made_task(name, domain="D3", longer=6, **given)
    batch = made.examples_of(rows)
    right = score_outputs(made, batch, answers_of(batch))
    assert (right.exact & right.value & right.well_formed).all()
    assert right.right.all()
    cut = score_outputs(made, batch, answers_of(made.truncated(batch)))
    assert cut.truncated.all()
    modulus = made.modulus_or_none or 10**30
    exact = made.operation.exact
    same = [(exact(a, b) - exact(a % 1000, b % 1000)) % modulus == 0 for a, b in rows]
    assert cut.value.tolist() == same
    assert right.truncated.tolist() == [
        one == two for one, two in zip(answers_in_text(made, batch),
                                       answers_in_text(made, made.truncated(batch)), strict=True)
    ]  # fmt: skip


def answers_in_text(made: Arithmetic, batch: Any) -> list[tuple[str, ...]]:
    return [answer for _, answer in made.examples(batch)]


@pytest.mark.parametrize("form", ["lm", "seq2seq"])
def test_outputs_of_predictions_are_scored_as_batches_score_them(form: str) -> None:
    """A decoder that is right, wrong or goes on; `score` looks at scored positions only."""
    made = made_task(format=form, domain="D3", longer=5)
    batch = made.test_set("digits-4", 200)
    rng = np.random.default_rng(0)
    chosen = np.where(batch.targets >= 0, batch.targets, rng.integers(4, 14, batch.targets.shape))
    wrong = rng.random(len(batch)) < 0.5
    column = batch.prompt - 1
    chosen[wrong, column[wrong]] = (chosen[wrong, column[wrong]] - 3) % 10 + 4
    found = score_outputs(made, batch, outputs_of(batch, chosen))
    assert (found.exact == score(batch, chosen)).all()
    assert found.exact.tolist() == (~wrong).tolist()
    assert found.well_formed.all()


def test_outputs_that_fit_no_batch_are_refused() -> None:
    made = made_task()
    with pytest.raises(WeftError, match=r"outputs have the shape \(2, 3\), and there are 1"):
        score_outputs(made, made.examples_of([(1, 2)]), np.zeros((2, 3), dtype=np.int64))
