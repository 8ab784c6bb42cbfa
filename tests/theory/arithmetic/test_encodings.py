"""What is claimed about positional encodings, and distances in layouts as tasks write them."""

from __future__ import annotations

from typing import Any

import pytest

from weft.errors import WeftError
from weft.models.config import POSITIONS
from weft.models.positions.t5 import bucket
from weft.tasks import task
from weft.tasks.arithmetic import Arithmetic
from weft.tasks.task import MARK
from weft.theory.arithmetic.encodings import (
    ALIASES,
    CAUSAL_BUCKETS,
    ENCODINGS,
    claim,
    constant_distance,
    encoding_name,
    has_one_rule,
)

REVERSED: dict[str, Any] = {"reverse_operands": True, "reverse_result": True}


def arithmetic(name: str = "addition", **parameters: Any) -> Arithmetic:
    made = task(name, **parameters)
    assert isinstance(made, Arithmetic)
    return made


def behaviour(made: Arithmetic, encoding: str, random_offset: int = 0, longest: int = 8) -> str:
    return claim(made, encoding_name(encoding), random_offset, longest).behaviour


def distances(made: Arithmetic) -> set[int]:
    """From every digit of a result to the first operand's digit of its place, in real examples."""
    found: set[int] = set()
    for split in ("train", "longer"):
        batch = made.test_set(split, 20)
        places = made.digit_places(batch.tokens)
        for row, tokens in zip(places.tolist(), batch.tokens.tolist(), strict=True):
            mark = tokens.index(MARK)
            sign = next(at for at, place in enumerate(row) if place == 0)
            first = {place: at for at, place in enumerate(row[:sign])}
            written = {place: at for at, place in enumerate(row) if at > mark and place}
            found |= {at - first[place] for place, at in written.items() if place in first}
    return found


def test_all_encodings_of_models_are_known() -> None:
    assert set(ENCODINGS) == set(POSITIONS)
    assert set(ALIASES.values()) <= set(POSITIONS)


@pytest.mark.parametrize("width", [0, 6, 8])
@pytest.mark.parametrize("reverse_operands", [False, True])
@pytest.mark.parametrize("reverse_result", [False, True])
@pytest.mark.parametrize("name", ["addition", "sum-of-three"])
def test_the_distance_is_that_of_real_examples(
    width: int, reverse_operands: bool, reverse_result: bool, name: str
) -> None:
    orders = {"reverse_operands": reverse_operands, "reverse_result": reverse_result}
    made = arithmetic(name, digits=3, longer=6, width=width, **orders)
    found, derived = distances(made), constant_distance(made)
    assert (derived is None) == (len(found) > 1)
    if derived is not None:
        assert found == {derived}


def test_the_formulas_of_the_reference() -> None:
    one_way = arithmetic(width=12, longer=10, **REVERSED)
    assert constant_distance(one_way) == 2 * 12 + 2
    assert constant_distance(arithmetic(width=12, longer=10)) == 2 * 12 + 3
    assert constant_distance(arithmetic(width=12, longer=10, reverse_result=True)) is None


def test_absolute_positions_truncate() -> None:
    assert behaviour(arithmetic(), "absolute") == "truncated"
    assert behaviour(arithmetic("multiplication"), "learned") == "truncated"


@pytest.mark.parametrize("encoding", ["distance", "relative", "rotary"])
def test_relative_positions_share_a_rule_at_constant_distances(encoding: str) -> None:
    assert behaviour(arithmetic(width=10, **REVERSED), encoding) == "shared"
    assert behaviour(arithmetic(width=10), encoding) == "shared"
    assert behaviour(arithmetic(width=10, reverse_result=True), encoding) == "unknown"
    assert behaviour(arithmetic(**REVERSED), encoding) == "unknown"
    assert behaviour(arithmetic(width=10, format="seq2seq", **REVERSED), encoding) == "unknown"


@pytest.mark.parametrize("encoding", ["distance", "rotary", "abacus", "t5"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("multiplication", {}),
        ("subtraction", {}),
        ("multiply-add", {}),
        ("modular-addition", {"digits": 3, "modulus": 7}),
        ("modular-multiplication", {"digits": 3, "modulus": 7}),
    ],
)
def test_other_rules_change_with_the_place(
    encoding: str, name: str, parameters: dict[str, Any]
) -> None:
    made = arithmetic(name, width=10, **REVERSED, **parameters)
    assert not has_one_rule(made)
    assert behaviour(made, encoding, random_offset=10) == "unknown"


@pytest.mark.parametrize("width", [5, 6, 7, 8, 20])
def test_t5_has_to_tell_distances_apart(width: int) -> None:
    made = arithmetic(digits=3, longer=5, width=width, **REVERSED)
    needed = 2 * width + 2
    apart = all(bucket(d) not in (bucket(d - 1), bucket(d + 1)) for d in range(1, needed + 1))
    assert (behaviour(made, "t5", longest=5) == "shared") == apart
    assert bucket(CAUSAL_BUCKETS) == bucket(CAUSAL_BUCKETS + 1)
    assert bucket(CAUSAL_BUCKETS - 1) < bucket(CAUSAL_BUCKETS)


def test_abacus_needs_aligned_numbers_and_trained_places() -> None:
    made = arithmetic(digits=5, **REVERSED)
    assert behaviour(made, "abacus", 5, longest=10) == "shared"
    assert behaviour(made, "abacus", 4, longest=10) == "unknown"
    assert behaviour(made, "abacus", 0, longest=10) == "unknown"
    assert behaviour(arithmetic(digits=5), "abacus", 9, longest=10) == "unknown"
    assert behaviour(arithmetic(digits=5, width=10), "abacus", 9, longest=10) == "shared"
    mixed = arithmetic(digits=5, width=10, reverse_result=True)
    assert behaviour(mixed, "abacus", 9, longest=10) == "unknown"


@pytest.mark.parametrize(
    "encoding", ["none", "sinusoidal", "alibi", "nape", "fire", "randomised+rotary", "me.py:Mine"]
)
def test_of_others_nothing_is_derived(encoding: str) -> None:
    assert behaviour(arithmetic(width=10, **REVERSED), encoding, 10) == "unknown"


def test_a_scratchpad_is_another_task() -> None:
    made = arithmetic(width=10, scratchpad="carries", **REVERSED)
    assert {behaviour(made, each) for each in ("learned", "distance")} == {"unknown"}


def test_a_misspelt_encoding() -> None:
    with pytest.raises(WeftError, match=r"there is no positional encoding 'rotray'.*'rotary'"):
        encoding_name("rotray")
