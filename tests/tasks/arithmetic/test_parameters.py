"""What is refused says what is wrong and what to give instead."""

from __future__ import annotations

from typing import Any

import pytest

from weft.errors import WeftError
from weft.tasks import task
from weft.tasks.arithmetic import Addition, Arithmetic

REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("addition", {"base": 1}, "base is 1. Give at least 2"),
    ("addition", {"base": 0, "domain": "D4"}, "base is 0. Give at least 2"),
    ("addition", {"base": 1001}, "base is 1001. Give at most 1000"),
    ("addition", {"digits": 0}, "digits is 0. Give at least 1"),
    ("addition", {"digits": -2}, "digits is -2. Give at least 1"),
    ("multiplication", {"digits": 6}, "longer is 6. Give at least 7, more than digits"),
    ("addition", {"width": 9}, "width is 9, too small for 10 digits. Give at least 10"),
    ("addition", {"width": -1}, "width is -1. Give at least 0"),
    ("addition", {"result_width": 12}, "result_width is given without width. Give width, too"),
    (
        "addition", {"width": 10, "result_width": 10},
        "result_width is 10, too small for the largest result. Give at least 11",
    ),
    ("multiplication", {"width": 6, "result_width": 11}, "Give at least 12"),
    (
        "modular-addition", {"digits": 3, "modulus": 101, "width": 10, "result_width": 2},
        "result_width is 2, too small for the largest result. Give at least 3",
    ),
    ("addition", {"pool": -1}, "pool is -1. Give at least 0"),
    ("addition", {"restrict": "no-zeros"}, "restrict"),
    ("addition", {"restrict": "even-digits", "base": 2}, "no digits of base 2 are even-digits"),
    ("addition", {"domain": "E4"}, "'E4' is not a domain. Write it as in D4"),
    ("addition", {"domain": "D4", "digits": 3}, "digits is 3, but the domain D4 has 4. Leave"),
    ("addition", {"domain": "D10"}, "longer is 10. Give at least 11, more than digits"),
    ("addition", {"order": "reversed-answer", "reverse_operands": True}, "Leave order out"),
    ("addition", {"modulus": 7}, "it has no parameter 'modulus'"),
    ("addition", {"digits": "4"}, "digits"),
    ("modular-addition", {"modulus": 1}, "modulus is 1. Give at least 2"),
    ("modular-addition", {"modulus": 1, "digits": 4}, "modulus is 1. Give at least 2"),
    ("modular-multiplication", {"modulus": 0}, "modulus is 0. Give at least 2"),
    ("modular-addition", {"modulus": 2**31 + 1, "digits": 4}, "Give at most 2,147,483,648"),
    ("modular-addition", {"modulus": 2001}, "every number is a token. Give at most 2,000, or repr"),
    ("modular-addition", {"width": 10}, "width is for numbers written digit by digit. Give digits"),
    (
        "modular-addition", {"representation": "token", "digits": 4},
        "digits is 4, but each number is one token",
    ),
    (
        "modular-addition", {"representation": "token", "domain": "D4"},
        "domain is for numbers written digit by digit",
    ),
    ("modular-addition", {"digits": 4, "format": "seq2seq"}, "does not support the format"),
    ("addition", {"held_out": 0.0}, "held_out is 0.0. Give a share between 0 and 1"),
    ("addition", {"held_out": -1.0}, "held_out is -1.0. Give a share between 0 and 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "message"), REFUSED, ids=str)
def test_what_makes_no_task_is_refused(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(WeftError) as caught:
        task(name, **given)
    assert message in str(caught.value)


def test_operands_that_fit_no_question_are_refused() -> None:
    sums = Addition(longer=6, digits=5, width=6)
    for rows, message in [
        ([], "there are no operands"),
        ([(1, 2, 3)], r"\(1, 2, 3\) are not its operands. Give 2 numbers, 0 or more"),
        ([(1, -2)], r"\(1, -2\) are not its operands"),
        ([(1, 10**6)], "an operand has 7 digits, and width is 6. Give a larger width"),
    ]:
        with pytest.raises(WeftError, match=message):
            sums.examples_of(rows)


def test_numbers_that_are_tokens_have_no_digits() -> None:
    made = task("modular-addition")
    assert isinstance(made, Arithmetic)
    assert made.digit_tokens == ()
    for wrong in (
        lambda: made.truncated(made.test_set("train", 5)),
        lambda: made.operands(made.test_set("train", 5)),
        lambda: made.examples_of([(1, 2)]),
        lambda: made.training_pool(),
    ):
        with pytest.raises(WeftError, match=r"Give representation=digits|it has no pool"):
            wrong()


def test_the_representation_follows_from_the_other_parameters() -> None:
    cases = [({}, True), ({"representation": "token"}, True), ({"digits": 4}, False),
             ({"domain": "D4"}, False), ({"representation": "digits"}, False)]  # fmt: skip
    for given, one_token in cases:
        made = task("modular-addition", **given)  # type: ignore[arg-type]
        assert made.one_token == one_token  # type: ignore[attr-defined]
        assert made.held_out == (0.5 if one_token else 0.125)
    assert task("modular-addition", representation="digits").digits == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("split", ["carries", "left-out"])
def test_splits_without_a_formula_say_so(split: str) -> None:
    made = Addition(restrict="even-digits")
    with pytest.raises(WeftError, match=f"the split '{split}' has no such formula"):
        made.cells(split)


def test_gaps_that_leave_nothing_to_train_on_are_refused() -> None:
    """Three numbers of base 3 that have the same number of digits carry at the first."""
    made = task("sum-of-three", base=3, domain="D~2", restrict="no-carries")
    with pytest.raises(WeftError, match="'train' is too rare to be drawn"):
        made.batch("train", 0, 0, 10)
