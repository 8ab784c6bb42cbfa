"""Addition against Python's integers."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.tasks import task
from weft.tasks.arithmetic import Addition
from weft.tasks.arithmetic.digits import added, chain

ORDERS = ["plain", "reversed", "reversed-answer"]


def numbers(question: tuple[str, ...], order: str) -> tuple[int, int]:
    a, b = "".join(question).split("+")
    return (int(a[::-1]), int(b[::-1])) if order == "reversed" else (int(a), int(b))


def carries(a: int, b: int) -> str:
    """A `1` for each digit that carries, the last digit first, by remainders."""
    width = max(len(str(a)), len(str(b)))
    tens = [10 ** (place + 1) for place in range(width)]
    return "".join(str(int(a % ten + b % ten >= ten)) for ten in tens)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("form", ["lm", "seq2seq"])
@settings(max_examples=15, deadline=None)
@given(st.integers(1, 6), st.integers(1, 30), st.integers(0, 99))
def test_sums_are_right(order: str, form: str, digits: int, more: int, seed: int) -> None:
    made = task("addition", format=form, order=order, digits=digits, longer=digits + more)
    for split in made.splits:
        batch = made.batch(split, seed, 0, 20)
        for row, (question, answer) in enumerate(made.examples(batch)):
            a, b = numbers(question, order)
            said = "".join(answer) if order == "plain" else "".join(answer)[::-1]
            assert said == str(a + b)  # and no zeros in front
            assert batch.axes["digits"][row] == max(len(str(a)), len(str(b)))
            assert batch.axes["carries"][row] == carries(a, b).count("1")
            runs = re.findall("1+", carries(a, b))
            assert batch.axes["chain"][row] == max(map(len, runs), default=0)


@pytest.mark.parametrize("order", ORDERS)
def test_numbers_have_no_zeros_in_front(order: str) -> None:
    made = task("addition", order=order)
    for split in made.splits:
        for question, _ in made.examples(made.batch(split, 0, 0, 500)):
            a, b = "".join(question).split("+")
            parts = (a[::-1], b[::-1]) if order == "reversed" else (a, b)
            assert all(str(int(part)) == part for part in parts)


def test_the_three_orders_are_as_they_are_told() -> None:
    shown = {
        order: next(iter(made.examples(made.test_set("longer", 1))))
        for order in ORDERS
        for made in [task("addition", order=order)]
    }
    for order, (question, answer) in shown.items():
        a, b = numbers(question, order)
        total = str(a + b)
        assert "".join(answer) == (total if order == "plain" else total[::-1])


def test_every_digit_carries_in_its_split() -> None:
    made = task("addition", digits=6)
    batch = made.test_set("carries", 500)
    for row, (question, _) in enumerate(made.examples(batch)):
        assert set(carries(*numbers(question, "plain"))) == {"1"}
        assert batch.axes["chain"][row] == batch.axes["carries"][row] == batch.axes["digits"][row]
    assert set(batch.axes["digits"].tolist()) == set(range(1, 7))


@given(st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)), min_size=1, max_size=9))
def test_digits_add_as_python_adds(pairs: list[tuple[int, int]]) -> None:
    a, b = (
        np.array([[int(d) for d in f"{pair[side]:015}"[::-1]] for pair in pairs]) for side in (0, 1)
    )
    total, carried = added(a, b)
    for row, (left, right) in enumerate(pairs):
        assert int("".join(map(str, total[row, ::-1]))) == left + right
        runs = "".join("1" if carry else " " for carry in carried[row]).split()
        assert chain(carried)[row] == max(map(len, runs), default=0)


DRAWN = {
    "plain": ("8f06b5000388 5c075b88efb1 e6c598db8dda 8343e75da5e5 e4384d4dcc47 0d864aafdf03",
              "df2b5fc6122a"),
    "reversed": ("7e1501fa9d99 0b4569b9dc77 e8173d7aa56e 86d72e0742fd 674d299fedcf 40b453140b2f",
                 "a1537b78bd98"),
    "reversed-answer": ("047d4908664d d9297129df94 e33174e51f5a a48d0ea95030 686be4b98454 "
                        "d2ae47fbdca9", "963911d6dd77"),
}  # fmt: skip
"""Hashes of a batch and of a test set of each split, and of the validation set."""


@pytest.mark.parametrize("order", ORDERS)
def test_examples_are_those_of_earlier_versions(order: str) -> None:
    """Computed when addition had an order alone, so finished runs keep their meaning."""
    form = "seq2seq" if order == "plain" else "lm"
    made = task("addition", order=order, format=form, digits=4, longer=9)
    assert made.tested == ("train", "longer", "carries")
    drawn = [
        batch.content_hash[:12]
        for split in made.tested
        for batch in (made.batch(split, 1, 2, 100), made.test_set(split, 100))
    ]
    assert (" ".join(drawn), made.validation_set(100).content_hash[:12]) == DRAWN[order]


def test_order_is_short_for_the_two_reversals() -> None:
    for order, operands, result in [
        ("plain", False, False), ("reversed", True, True), ("reversed-answer", False, True),
    ]:  # fmt: skip
        short = task("addition", order=order)
        long = task("addition", reverse_operands=operands, reverse_result=result)
        made = [isinstance(one, Addition) and one.examples_of([(57, 8)]) for one in (short, long)]
        assert made[0].content_hash == made[1].content_hash  # type: ignore[union-attr]


def test_the_library_agrees() -> None:
    made = task("addition")
    for question, answer in made.examples(made.test_set("train", 20)):
        result = weft.run(weft.program("addition"), "".join(question)).result
        assert str(result) == "".join(answer)
