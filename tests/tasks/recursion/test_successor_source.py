"""The vectorised successor: numbers, reductions and splits, against the calculus and integers."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.recursion import Notation, decode_term, definition, encode_term, iterate
from weft.tasks import Task, task
from weft.tasks.hashing import hashed
from weft.tasks.recursion import Recursion, binary
from weft.tasks.recursion.binary import ONE, X1, XO

SUCCESSOR = definition("successor")
NAMES = {ONE: "01", XO: "XO", X1: "X1", binary.CALL: SUCCESSOR.token}
PARTS = ("evaluate", "atomic", "step", "trace", "rounds", "branch", "combine")


def rows(numbers: list[int]) -> tuple[Any, Any]:
    """Numbers as rows of constructors, least significant first."""
    words = [[X1 if bit == "1" else XO for bit in f"{n:b}"[:0:-1]] + [ONE] for n in numbers]
    lengths = np.array([len(word) for word in words])
    table = np.zeros((len(words), int(lengths.max())), dtype=np.int64)
    for row, word in zip(table, words, strict=True):
        row[: len(word)] = word
    return table, lengths


def value(row: list[int]) -> int:
    bits = {ONE: "1", XO: "0", X1: "1"}
    return int("".join(bits[token] for token in reversed([token for token in row if token])), 2)


def words(row: Any) -> list[str]:
    return [NAMES[token] for token in row.tolist() if token]


def test_reductions_are_those_of_the_calculus() -> None:
    numbers = list(range(1, 300))
    table, lengths = rows(numbers)
    kind = SUCCESSOR.parameters[0][1]
    for step in range(10):
        terms, sizes = binary.reduct(table, lengths, np.full(len(numbers), step))
        for row, size, start in zip(terms, sizes, table, strict=True):
            call = SUCCESSOR.call(decode_term(words(start), kind))
            every = [call, *(each.after for each in islice(iterate(call), step))]
            assert words(row) == encode_term(every[-1])
            assert size == len(words(row))


@given(st.lists(st.integers(1, 2**60), min_size=1, max_size=20))
@settings(max_examples=50, deadline=None)
def test_the_last_reduct_is_the_number_plus_one(numbers: list[int]) -> None:
    table, lengths = rows(numbers)
    terms, _ = binary.reduct(table, lengths, binary.depth_of(table) + 1)
    assert [value(row) for row in terms.tolist()] == [number + 1 for number in numbers]
    runs = [max(map(len, f"{number:b}"[1:].split("0"))) for number in numbers]
    assert binary.longest_run(table).tolist() == runs


def test_cells_are_counted_and_drawn_uniformly() -> None:
    counts = binary.members(9)
    for length in range(1, 10):
        table, _ = rows(list(range(2 ** (length - 1), 2**length)))
        found = Counter(binary.depth_of(table).tolist())
        assert {d: int(counts[length, d]) for d in range(10) if counts[length, d]} == found
    assert np.allclose(binary.uniform_depths(9)[9], counts[9] / 256)
    rng = np.random.default_rng(0)
    drawn = binary.drawn_numbers(rng, np.full(6000, 6), np.full(6000, 1), 7)
    every = Counter(map(tuple, drawn.tolist()))
    assert len(every) == counts[6, 1] == 8
    assert max(every.values()) < 6000 / 8 * 1.2


def test_the_training_distribution_is_uniform_over_values_or_depths() -> None:
    for sampling, depths in (("uniform", [0.5, 0.25, 0.125]), ("depth", [1 / 8] * 3)):
        made = task("recursion", shortest=8, length=8, longer=9, sampling=sampling, held_out=0.01)
        drawn = made.draw("train", np.random.default_rng(0), 20_000).axes["depth"]
        shares = np.bincount(drawn, minlength=8)[:3] / 20_000
        assert np.abs(shares - depths).max() < 0.02


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_shares_of_cases_are_added(share: float) -> None:
    rng = np.random.default_rng(0)
    usual, carries, deep = (
        task("recursion", **kinds).draw("train", rng, 20_000).axes
        for kinds in ({}, {"deepest_share": share}, {"deep_share": share})
    )
    for axes, case in (
        (carries, lambda axes: axes["depth"] == axes["size"] - 1),
        (deep, lambda axes: (axes["depth"] >= 10) & (axes["depth"] <= axes["size"] - 2)),
    ):
        wanted = share + (1 - share) * case(usual).mean()
        assert abs(case(axes).mean() - wanted) < 0.02


def test_splits_hold_their_edge_cases() -> None:
    made = task("recursion")
    tests = {split: made.test_set(split, 100) for split in made.splits}
    texts = {
        split: [" ".join(q) for q, _ in made.examples(batch)] for split, batch in tests.items()
    }
    assert sorted(texts["all-carry"], key=len) == [
        " ".join(["X1"] * (length - 1) + ["01"]) for length in range(5, 20, 2)
    ]
    assert len(texts["all-carry-longer"]) == 20
    assert all(text.endswith("X1 XO 01") for text in texts["carry-to-last"])
    assert set(texts["shorter"]) == {
        "01", "XO 01", "X1 01", "XO XO 01", "XO X1 01", "X1 XO 01", "X1 X1 01",
    }  # fmt: skip
    for text in texts["decoy"]:
        depth = len(text.split("XO")[0].split())
        assert depth <= 2
        assert "X1 " * 10 in text
    deeper = tests["deeper"].axes
    assert deeper["depth"].min() >= 20
    assert (deeper["depth"] <= deeper["size"] - 2).all()


def test_what_is_kept_back_is_in_no_batch_and_in_no_test_of_train() -> None:
    made = task("recursion", length=8, longer=9, deepest_share=0.5)
    for batch in (made.batch("train", 0, 0, 3000), made.test_set("train", 500)):
        sizes, depths = batch.axes["size"], batch.axes["depth"]
        assert not ((depths >= sizes - 2) & (sizes % 2 == 1)).any()
    assert (made.batch("train", 0, 0, 3000).axes["depth"] == 7).any()
    with pytest.raises(WeftError, match="no number of 1 to 1"):
        task("recursion", shortest=1, length=1, longer=2).batch("train", 0, 0, 1)


def test_no_depth_beyond_the_limit_is_trained_on() -> None:
    made = task("recursion", depth=3)
    assert made.batch("train", 0, 0, 2000).axes["depth"].max() == 3
    assert made.test_set("deep", 500).axes["depth"].min() == 4
    assert made.test_set("train", 500).axes["depth"].max() <= 3


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("order", ["constructor", "natural"])
def test_every_part_has_the_answers_of_the_reference(part: str, order: str) -> None:
    more = {"unroll": 2} if part in ("step", "rounds") else {}
    for form in ("seq2seq", "lm", "tag"):
        if form == "tag" and part in ("trace", "branch"):
            continue
        made = task("recursion", part=part, order=order, format=form, length=9, longer=12, **more)
        for split in ("train", "all-carry-longer"):
            for question, answer in made.examples(made.test_set(split, 40)):
                assert made.reference(question) == answer


def identities(made: Task, split: str, size: int) -> set[int]:
    assert isinstance(made, Recursion)
    drawn = made.draw(split, np.random.default_rng(5), size)
    held = made.is_held_out(drawn)
    return set(hashed(made._inputs(drawn))[held].tolist())


def test_parts_and_notations_hold_out_the_same_inputs() -> None:
    plain = task("recursion", length=10, longer=12)
    batch = plain.test_set("train", 100)
    starts = {tuple(question) for question, _ in plain.examples(batch)}
    steps = task("recursion", length=10, longer=12, part="step", order="natural")
    for question, _ in steps.examples(steps.batch("train", 0, 0, 3000)):
        term = tuple(question)[::-1]
        if term[0] == SUCCESSOR.token:  # the call on an input
            assert term[1:] not in starts
    assert identities(plain, "train", 500) == identities(steps, "train", 500)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"part": "trace", "format": "tag"}, "not aligned"),
        ({"unroll": 2}, "part is evaluate"),
        ({"deepest_share": 0.7, "deep_share": 0.7}, "more than all"),
        ({"deepest_share": -0.1}, "Give a share"),
        ({"deepest_share": 0.1, "depth": 3}, "leaves out the deepest"),
        ({"deep_share": 0.1, "depth": 3}, "leaves out inputs 4 deep"),
        ({"longer": 10_000}, "at most 512"),
        ({"definition": "succesor"}, "Did you mean"),
        ({"definition": "nothing.py:f"}, "nothing.py"),
        ({"notation": "roman"}, "notation"),
        ({"longer": 20}, "longer"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(WeftError, match=said):
        task("recursion", **parameters)


def test_notation_is_that_of_the_calculus() -> None:
    fast = task("recursion", order="natural", length=8, longer=9, part="step")
    assert isinstance(fast, Recursion)
    kind, functions = SUCCESSOR.result, SUCCESSOR.functions
    for question, answer in fast.examples(fast.test_set("train", 60)):
        notation = Notation(order="natural")
        term = decode_term(question, kind, notation, functions)
        after = next(iterate(term)).after
        assert tuple(encode_term(after, notation)) == answer
