"""What is trained on, what is tested, and that no question is in both."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.tasks import Batch, task
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.arithmetic.digits import integers

Row = tuple[int, ...]


def made_task(name: str = "addition", **given: Any) -> Arithmetic:
    made = task(name, **given)
    assert isinstance(made, Arithmetic)
    return made


def rows(made: Arithmetic, batch: Batch) -> list[Row]:
    """The operands of each question, read from its tokens."""
    return list(zip(*(integers(d, made.base) for d in made.operands(batch)), strict=True))


NOTATIONS: list[dict[str, Any]] = [
    {},
    {"width": 8},
    {"width": 12, "result_width": 24},
    {"reverse_operands": True},
    {"reverse_operands": True, "reverse_result": True, "width": 8},
    {"scratchpad": "carries"},
    {"format": "seq2seq"},
]
EVERY = {"domain": "D~2", "longer": 8, "held_out": 0.25}


def test_the_same_operands_are_tested_in_every_notation() -> None:
    """Padded or not, in either digit order: no test of one is trained on in another."""
    plain = made_task(**EVERY)
    tests = rows(plain, plain.test_set("train", 500))
    trained = rows(plain, plain.batch("train", 0, 0, 2000))
    validated = rows(plain, plain.validation_set(100))
    for notation in NOTATIONS:
        other = made_task(**EVERY, **notation)
        assert rows(other, other.test_set("train", 500)) == tests
        assert rows(other, other.batch("train", 0, 0, 2000)) == trained
        assert rows(other, other.validation_set(100)) == validated
    assert not set(tests) & set(trained)
    assert not set(tests) & set(validated)


def test_operations_hold_out_the_same_pairs() -> None:
    names = ["addition", "subtraction", "multiplication"]
    pairs = list(itertools.product(range(10, 40), repeat=2))
    held = []
    for name in names:
        made = made_task(name, **EVERY)
        digits = [
            np.array([[n % 10, n // 10] for n in column]) for column in zip(*pairs, strict=True)
        ]
        held.append(made.is_held_out(made.pairs(digits)).tolist())
    assert held[0] == held[1] == held[2]
    assert 0.15 < np.mean(held[0]) < 0.35


def test_swapped_operands_are_another_question() -> None:
    made = made_task(**EVERY)
    tests = set(rows(made, made.test_set("train", 5000)))
    validated = set(rows(made, made.validation_set(5000)))
    swapped = {(b, a) for a, b in tests if a != b}
    share = len(swapped & (tests | validated)) / len(swapped)
    assert 0.15 < share < 0.35  # held out as often as any other question


@pytest.mark.parametrize("notation", NOTATIONS, ids=str)
def test_every_pair_of_a_length_is_in_exactly_one_set(notation: dict[str, Any]) -> None:
    made = made_task(**EVERY, base=6, **notation)
    pool = list(itertools.product(range(6, 36), repeat=2))
    tests, validated = made.test_set("train", 900), made.validation_set(900)
    trained = made.draw("train", np.random.default_rng(0), 20_000)
    trained_rows = rows(made, made.lay_out(trained))
    kept = {row for row, held in zip(trained_rows, made.is_held_out(trained), strict=True)
            if not held}  # fmt: skip
    sets = [rows(made, tests), rows(made, validated), sorted(kept)]
    assert sorted(itertools.chain(*sets)) == pool
    assert abs(len(sets[0]) / len(pool) - 0.25 * 0.75) < 0.05


@pytest.mark.parametrize(
    "given",
    [
        {"domain": "D4"},
        {"domain": "D~4"},
        {"domain": "D4:1+D5:3"},
        {"domain": "D2+D4", "width": 10},
        {"digits": 3},
        {"domain": "D4", "restrict": "even-digits"},
        {"domain": "D4", "restrict": "high-digits", "reverse_operands": True},
        {"domain": "D3", "restrict": "no-carries"},
        {"domain": "D4", "pool": 1000},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["addition", "modular-addition"])
def test_no_test_is_trained_on_and_none_is_twice(name: str, given: dict[str, Any]) -> None:
    made = made_task(name, **given)
    trained = {row for step in range(4) for row in rows(made, made.batch("train", 0, step, 500))}
    validated = set(rows(made, made.validation_set(300)))
    assert not trained & validated
    for split in made.splits:
        tests = rows(made, made.test_set(split, 150))
        assert len(tests) == len(set(tests)) > 5
        assert not set(tests) & trained
        assert not set(tests) & validated


def lengths(row: Row) -> list[int]:
    return [len(str(number)) for number in row]


def test_splits_are_downward_and_upward_by_digit_count() -> None:
    made = made_task(domain="D4", longer=7)
    assert {name: split.axes["digits"] for name, split in made.splits.items()} == {
        "train": (4, 4), "shorter": (1, 3), "longer": (5, 7), "carries": (1, 4),
        **{f"digits-{m}": (m, m) for m in range(1, 8)},
    }  # fmt: skip
    for split, found in made.splits.items():
        longest = {max(lengths(row)) for row in rows(made, made.test_set(split, 400))}
        low, high = found.axes["digits"]
        assert longest == set(range(low, high + 1))
    assert made.tested == ("train", "shorter", "longer", "carries")
    assert set(made.testable) == set(made.splits)


def test_a_split_between_trained_lengths_is_downward() -> None:
    made = made_task(domain="D2+D4", longer=6)
    found = {max(lengths(row)) for row in rows(made, made.test_set("shorter", 300))}
    assert found == {1, 3}
    assert {max(lengths(row)) for row in rows(made, made.batch("train", 0, 0, 300))} == {2, 4}


def test_short_numbers_that_are_not_trained_on_are_all_tested() -> None:
    made = made_task(domain="D4")
    assert sorted(rows(made, made.test_set("digits-1", 1000))) == sorted(
        itertools.product(range(10), repeat=2)
    )
    both = [row for row in itertools.product(range(100), repeat=2) if max(row) > 9]
    assert sorted(rows(made, made.test_set("digits-2", 20_000))) == both


def test_tests_of_d_tilde_have_two_numbers_of_a_length() -> None:
    made = made_task(domain="D~3")
    for split in ("train", "digits-2", "digits-5"):
        found = rows(made, made.test_set(split, 200))
        assert all(len(set(lengths(row))) == 1 for row in found)
    mixed = made_task(domain="D~3", test_domain="D")
    found = rows(mixed, mixed.test_set("digits-5", 400))
    assert any(len(set(lengths(row))) == 2 for row in found)


# Gaps


def allowed(restrict: str, row: Row) -> bool:
    if restrict == "no-carries":
        return all(x + y < 10 for x, y in zip(*(f"{n:09}" for n in row), strict=True)
                   for x, y in [(int(x), int(y))])  # fmt: skip
    digits = {int(digit) for number in row for digit in str(number)}
    return digits <= ({6, 7, 8, 9} if restrict == "high-digits" else {0, 2, 4, 6, 8})


@pytest.mark.parametrize("restrict", ["high-digits", "even-digits", "no-carries"])
@pytest.mark.parametrize("domain", ["D4", "D~3", ""])
def test_a_gap_is_left_out_of_training_alone(restrict: str, domain: str) -> None:
    made = made_task(domain=domain, digits=4 if "4" in domain else 3, restrict=restrict)
    for batch in (made.batch("train", 0, 0, 400), made.test_set("train", 200),
                  made.validation_set(200)):  # fmt: skip
        assert all(allowed(restrict, row) for row in rows(made, batch))
    assert not any(allowed(restrict, row) for row in rows(made, made.test_set("left-out", 300)))
    found = [allowed(restrict, row) for row in rows(made, made.test_set("digits-3", 400))]
    assert not all(found)
    assert "left-out" not in made_task(domain="D4").splits
    pairs = made.draw("digits-3", np.random.default_rng(1), 300)
    for split, wanted in (("train", True), ("left-out", False)):
        low, high = made.splits[split].axes["digits"]
        holds = [
            allowed(restrict, row) == wanted and low <= 3 <= high
            and (domain != "D~3" or len(set(lengths(row))) == 1)
            for row in rows(made, made.lay_out(pairs))
        ]  # fmt: skip
        assert made.splits[split].holds(pairs).tolist() == holds


def test_high_digits_of_another_base() -> None:
    made = made_task(base=16, restrict="high-digits")
    used = {digit for d in made.operands(made.batch("train", 0, 0, 500)) for digit in d.ravel()}
    assert used - {0} == set(range(10, 16))  # 0 pads shorter numbers


# Pools


def test_a_pool_is_all_that_is_trained_on() -> None:
    made = made_task(domain="D3", pool=300)
    pool = rows(made, made.training_pool())
    assert len(set(pool)) == 300
    trained = {row for step in range(20) for row in rows(made, made.batch("train", 0, step, 256))}
    assert trained == set(pool)
    other = {row for step in range(20) for row in rows(made, made.batch("train", 9, step, 256))}
    assert other == trained  # another seed draws other batches of the same pool
    tests = {*rows(made, made.test_set("train", 500)), *rows(made, made.validation_set(200))}
    assert not tests & trained


@pytest.mark.parametrize("size", [1000, 10_000, 100_000])
def test_pools_of_the_sizes_of_the_study(size: int) -> None:
    made = made_task("modular-addition", domain="D4", modulus=150, pool=size)
    batch = made.training_pool()
    assert len(batch) == size
    packed = np.array(rows(made, batch)) @ [10**4, 1]
    assert len(np.unique(packed)) == size
    smaller = made_task("modular-addition", domain="D4", modulus=150, pool=1000)
    assert rows(smaller, smaller.training_pool()) == rows(made, batch.take(slice(1000)))


def test_a_pool_that_cannot_be_filled_is_refused() -> None:
    with pytest.raises(WeftError, match=r"there are only \d\d examples for a pool of 500"):
        made_task(domain="D1", pool=500).batch("train", 0, 0, 5)
    with pytest.raises(WeftError, match="it has no pool"):
        made_task().training_pool()


@pytest.mark.parametrize("name", ["addition", "subtraction", "multiplication", "modular-addition"])
@pytest.mark.parametrize("notation", [*NOTATIONS, {"scratchpad": "carries", "width": 8}], ids=str)
def test_widths_depend_on_the_split_only(name: str, notation: dict[str, Any]) -> None:
    """Whatever examples a batch has, so that batches of several draws can be joined."""
    if name == "modular-addition":
        notation = {key: value for key, value in notation.items() if key != "format"}
    made = made_task(name, digits=3, longer=8, **notation)
    for split in ("train", "longer"):
        rng = np.random.default_rng(0)
        drawn = [made.draw(split, rng, size) for size in (1, 1, 1, 50)]
        shapes = {(pairs.question.shape[1], pairs.answer.shape[1]) for pairs in drawn}
        assert len(shapes) == 1
