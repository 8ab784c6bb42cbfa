"""Parity and majority: the paper's balanced sets, against counting by Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import weft
from weft.tasks import task


@pytest.mark.parametrize("split", ["train", "longer", "more-ones"])
def test_counts_of_ones_are_balanced(split: str) -> None:
    made = task("parity")
    low, high = made.splits[split].axes["ones"]
    ones = made.batch(split, 0, 0, 20_000).axes["ones"]
    counts = np.bincount(ones, minlength=high + 1)[low:]
    kinds = high - low + 1
    usual = counts[1:-2]  # at the ends there are few strings, which are all trained on or tested
    assert abs(usual * kinds / 20_000 - 1).max() < 0.25


def test_the_splits_are_those_of_table_3() -> None:
    made = task("parity")
    assert made.splits["train"].axes == {"length": (0, 20), "ones": (0, 20)}
    tests = made.test_set("longer", 2000)
    assert tests.axes["length"].min() == 21
    assert tests.axes["length"].max() == 40
    assert tests.axes["ones"].min() == 0
    assert tests.axes["ones"].max() == 40
    assert made.test_set("more-ones", 2000).axes["ones"].min() == 21


def test_training_has_every_count_of_ones_and_every_length() -> None:
    """Of 20 ones among at most 20 bits there is one string: it must not be lost to a test."""
    batch = task("parity").batch("train", 0, 0, 20_000)
    for axis in ("ones", "length"):
        assert set(batch.axes[axis].tolist()) == set(range(21))


def test_every_short_string_is_trained_on_validated_or_tested() -> None:
    made = task("parity", length=6, longer=8)
    drawn = {q for step in range(3) for q, _ in made.examples(made.batch("train", 0, step, 5000))}
    tested = {question for question, _ in made.examples(made.test_set("train", 1000))}
    every = {("<start>", *bits) for n in range(7) for bits in product("01", repeat=n)}
    validated = {question for question, _ in made.examples(made.validation_set(1000))}
    assert drawn | tested | validated == every
    assert len(drawn) + len(tested) + len(validated) == len(every)


@pytest.mark.parametrize("name", ["parity", "majority"])
@pytest.mark.parametrize("answer", ["last", "every", "prefix"])
def test_answers_stand_where_they_are_asked_for(name: str, answer: str) -> None:
    made = task(name, answer=answer)
    batch = made.batch("train", 1, 1, 300)
    for row, (question, said) in enumerate(made.examples(batch)):
        bits = [int(bit) for bit in question[1:]]
        whole = [bits[:place] for place in range(len(bits) + 1)]
        prefixes = [sum(b) % 2 if name == "parity" else int(2 * sum(b) > len(b)) for b in whole]
        expected = {"last": prefixes[-1:], "every": prefixes[-1:] * len(prefixes)}
        assert list(map(int, said)) == expected.get(answer, prefixes)
        assert batch.axes["ones"][row] == sum(bits)
        assert batch.axes["length"][row] == len(bits)
        if answer == "last":
            assert batch.prompt[row] == batch.lengths[row]


def test_the_library_agrees() -> None:
    made = task("parity")
    program = weft.program("parity")
    for question, answer in made.examples(made.test_set("train", 50)):
        assert str(weft.run(program, "".join(question[1:])).result) == answer[0]


def test_margins_are_what_counts_differ_by() -> None:
    made = task("majority")
    tests = made.test_set("close", 300)
    for row, (question, _) in enumerate(made.examples(tests)):
        bits = question[1:]
        assert tests.axes["margin"][row] == abs(bits.count("1") - bits.count("0")) <= 2
    assert set(tests.axes["margin"].tolist()) == {0, 1, 2}
