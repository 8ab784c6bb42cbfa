"""The algorithmic tasks against plain definitions, and the protocol that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.tasks import score, task
from weft.tasks.formats import END

SPLITS = ("train", "longer", "longest")


def most(values: Sequence[str]) -> str:
    counts = Counter(values)
    (winner,) = (value for value in counts if counts[value] == max(counts.values()))
    return winner


def every(stride: int) -> Callable[[Sequence[str]], list[str]]:
    def copied(word: Sequence[str]) -> list[str]:
        assert list(word[: stride - 1]) == ["#"] * (stride - 1)
        rest = word[stride - 1 :]
        assert len(rest) % stride == 0
        assert len(set(rest)) == len(rest)
        return [symbol for place, symbol in enumerate(rest) if place % stride == 0]

    return copied


def distinct_sorted(word: Sequence[str]) -> list[str]:
    assert len(set(word)) == len(word)
    return [str(number) for number in sorted(map(int, word))]


def total(word: Sequence[str]) -> list[str]:
    a, b = "".join(word).split("+")
    assert all(number == "0" or number[0] == "1" for number in (a, b))
    return list(bin(int(a, 2) + int(b, 2))[2:])


CASES: dict[str, tuple[dict[str, Any], Callable[[Sequence[str]], list[str]]]] = {
    "binary-majority": ({}, lambda word: [most(word)]),
    "letter-majority": ({}, lambda word: [most(word)]),
    "interleaved-majority": ({}, lambda word: [most(word[place::3]) for place in range(3)]),
    "interleaved-majority 2": (
        {"strings": 2},
        lambda word: [most(word[place::2]) for place in range(2)],
    ),
    "sorting": ({}, distinct_sorted),
    "unique-copy": ({}, every(1)),
    "unique-copy 2": ({"stride": 2}, every(2)),
    "unique-copy 3": ({"stride": 3}, every(3)),
    "repeat-copy": ({}, list),
    "bit-parity": ({}, lambda word: ["o" if word.count("1") % 2 else "e"]),
    "binary-addition": ({}, total),
}


def made(case: str, **parameters: Any) -> Any:
    return task(case.split()[0], **CASES[case][0], **parameters)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_of_a_plain_definition(case: str, split: str) -> None:
    one = made(case)
    batch = one.batch(split, 0, 0, 1000)
    low, high = one.splits[split].axes["length"]
    for row, (question, answer) in enumerate(one.examples(batch)):
        start, *word = question
        assert start == "<start>"
        assert list(answer) == CASES[case][1](word)
        assert low <= batch.axes["length"][row] <= high
        assert batch.axes["length"][row] == len(word) + (case == "binary-addition")


@pytest.mark.parametrize("case", CASES)
def test_only_the_answer_and_the_end_are_scored(case: str) -> None:
    one = made(case)
    batch = one.test_set("longer", 200)
    answers = [answer for _, answer in one.examples(batch)]
    assert batch.scored.sum(axis=1).tolist() == [len(answer) + 1 for answer in answers]
    assert (batch.targets[np.arange(200), batch.lengths - 1] == END).all()
    assert score(batch, batch.targets).all()
    assert not score(batch, np.where(batch.targets == END, 0, batch.targets)).any()


@pytest.mark.parametrize(
    ("case", "positions", "room"),
    [
        ("binary-majority", 153, lambda n: 150 - n),
        ("letter-majority", 153, lambda n: 150 - n),
        ("bit-parity", 153, lambda n: 150 - n),
        ("interleaved-majority", 155, lambda n: 150 - n),
        ("sorting", 302, lambda n: 2 * (150 - n)),
        ("unique-copy", 302, lambda n: 2 * (150 - n)),
        ("repeat-copy", 302, lambda n: 2 * (150 - n)),
    ],
)
def test_offsets_are_those_of_the_paper(case: str, positions: int, room: Any) -> None:
    one = made(case)
    assert one.positions == positions
    batch = one.batch("train", 0, 0, 500)
    assert (one.positions - batch.lengths == room(batch.axes["length"])).all()


@pytest.mark.parametrize("case", CASES)
def test_the_longest_example_fits_the_table_of_positions(case: str) -> None:
    one = made(case, length=12, longer=24, longest=36)
    found = max(int(one.batch("longest", 0, step, 2000).lengths.max()) for step in range(3))
    assert found <= one.positions <= found + (2 if case == "binary-addition" else 1)


def test_offsets_of_addition_count_all_tokens() -> None:
    one = made("binary-addition")
    assert one.positions == 299  # 300 with <end>
    batch = one.batch("longest", 0, 0, 4000)
    assert (batch.lengths < 2 * batch.axes["length"]).all()


@pytest.mark.parametrize("case", CASES)
def test_lengths_are_drawn_evenly(case: str) -> None:
    one = made(case)
    for split in SPLITS:
        drawn = one.draw(split, np.random.default_rng(5), 20_000).axes["length"]
        counts = np.unique(drawn, return_counts=True)[1]
        expected = len(drawn) / len(counts)
        assert ((counts - expected) ** 2 / expected).sum() < 2.2 * len(counts) + 20


def test_counts_are_drawn_evenly() -> None:
    rng = np.random.default_rng(3)
    for name, even in (("binary-majority", 7), ("bit-parity", 8)):
        axes = task(name).draw("train", rng, 100_000).axes
        for length in (7, 8):
            ones = axes["ones"][axes["length"] == length]
            kinds = length + 1 - (name == "binary-majority" and length == 8)
            assert len(np.unique(ones)) == kinds, (name, length, even)
            shares = np.unique(ones, return_counts=True)[1] / len(ones)
            assert abs(shares - 1 / kinds).max() < 0.04


@pytest.mark.parametrize("case", ["letter-majority", "unique-copy", "sorting", "repeat-copy"])
def test_words_of_one_length_are_uniform(case: str) -> None:
    letters = {"letter-majority": {"letters": "abc"}, "repeat-copy": {"letters": "abc"}}
    one = made(case, length=4, longer=5, longest=6, **letters.get(case, {}))
    pairs = one.draw("train", np.random.default_rng(1), 60_000)
    words = pairs.question[pairs.axes["length"] == 3, 1:4]
    counts = np.unique(words, axis=0, return_counts=True)[1]
    kinds = {"letter-majority": 27 - 6, "repeat-copy": 27}.get(case, 6 * 5 * 4)
    assert len(counts) == kinds
    expected = counts.sum() / kinds
    assert ((counts - expected) ** 2 / expected).sum() < kinds + 5 * (2 * kinds) ** 0.5


@pytest.mark.parametrize("case", CASES)
def test_small_scales_train_on_all_short_inputs(case: str) -> None:
    """Kinds of inputs with few members are all trained on, so no short length is missing."""
    one = made(case, length=10, longer=16, longest=22)
    batch = one.batch("train", 0, 0, 4000)
    possible = one.draw("train", np.random.default_rng(0), 4000).axes["length"]
    assert set(batch.axes["length"].tolist()) == set(possible.tolist())
    for split in SPLITS:
        assert len(one.test_set(split, 50)) > 20


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: task("unique-copy", alphabet=100), "alphabet of at least 150"),
        (lambda: task("unique-copy", stride=0), "at least 1"),
        (lambda: task("unique-copy", stride=9, length=16), "at least 17"),
        (lambda: task("interleaved-majority", strings=0), "at least 1"),
        (lambda: task("interleaved-majority", longer=52), "at least 53"),
        (lambda: task("letter-majority", letters="aa"), "distinct characters"),
        (lambda: task("binary-addition", length=3), "at least 4"),
        (lambda: task("repeat-copy", longest=100), "at least 101"),
    ],
)
def test_mistakes_get_a_remedy(make: Any, message: str) -> None:
    with pytest.raises(WeftError) as caught:
        make()
    assert message in str(caught.value)
