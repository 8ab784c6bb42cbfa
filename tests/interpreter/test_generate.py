"""Causal programs: no position sees a later one, and generation goes on until it stops."""

from __future__ import annotations

import random

import pytest

import weft


class CountDown(weft.Program):
    """Counts down to 0, one token at a time, and stops."""

    tokens = list("01234.")
    causal, stop, layers = True, ".", 1
    token = weft.var(6, token="01234.".index)
    following = weft.var(6, default=5)
    output = following

    def step(z):
        z.following = 5 if z.token in (0, 5) else z.token - 1


class Last(weft.Program):
    """Each position's share of ones so far, as a bit: more than half or not."""

    tokens = [0, 1]
    causal, layers = True, 1
    one = weft.number([0, 1], token=lambda t: t)
    all = weft.var(1)
    share = weft.attend(all, all, one, output=weft.number([k / 60 for k in range(61)]))
    most = weft.var(2)
    output = most

    def step(z):
        z.most = int(z.share > 0.5)


def test_a_position_sees_only_itself_and_what_is_to_its_left() -> None:
    rng = random.Random(0)
    for _ in range(20):
        bits = rng.choices([0, 1], k=rng.randint(1, 5))
        expected = tuple(int(sum(bits[: i + 1]) / (i + 1) > 0.5) for i in range(len(bits)))
        assert weft.run(Last, bits).outputs == expected
        assert weft.run_batch(Last, [bits]).outputs == [expected]


def test_what_comes_later_changes_nothing_earlier() -> None:
    run = weft.run(Last, [1, 0, 1, 1])
    assert weft.run(Last, [1, 0]).outputs == run.outputs[:2]


def test_a_prompt_is_continued_until_the_stop_token() -> None:
    assert weft.generate(CountDown, "4") == ["3", "2", "1", "0"]


def test_generation_stops_at_the_limit() -> None:
    class Same(weft.Program):
        tokens, causal, layers = ["a", "b"], True, 0
        token = weft.var(2, token="ab".index)
        output = token

    assert weft.generate(Same, "ab", max_tokens=3) == ["b", "b", "b"]


def test_a_program_that_is_not_causal_cannot_generate() -> None:
    with pytest.raises(weft.WeftError, match="not causal"):
        weft.generate(weft.program("parity"), "101")


def test_an_output_that_is_no_token_cannot_be_generated() -> None:
    class Wide(weft.Program):
        tokens, causal, layers = ["a"], True, 0
        token = weft.var(2, token=lambda t: 0)
        output = token

    with pytest.raises(weft.WeftError, match="not all tokens"):
        weft.generate(Wide, "a")


def test_there_must_be_something_to_continue() -> None:
    with pytest.raises(weft.WeftError, match="nothing to continue"):
        weft.generate(CountDown, "")
