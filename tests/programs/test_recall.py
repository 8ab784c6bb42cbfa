"""The latest value of a name, against a dictionary and as weights."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.programs.recall import LatestValue

PROGRAM = LatestValue()


def recalled(text: str) -> str:
    """What follows each token, by searching backwards."""
    following = "."
    for place, token in enumerate(text):
        earlier = text.rfind(token, 0, place)
        while earlier >= 0 and not text[earlier + 1].isdigit():
            earlier = text.rfind(token, 0, earlier)
        name = token.isalpha()
        following += "." if not name else text[earlier + 1] if earlier >= 0 else "?"
    return following


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["a", "b", "c", "a1", "a2", "b3", "c4", "a5"]), max_size=6))
def test_it_is_the_last_digit_behind_the_name(words: list[str]) -> None:
    text = "".join(words)
    (result,) = weft.run_batch(PROGRAM, [PROGRAM.encode(text)]).results
    assert result == recalled(text) == PROGRAM.task(PROGRAM.encode(text))


@pytest.mark.parametrize("writes", range(7))
def test_every_write_is_found(writes: int) -> None:
    text = "".join(f"a{digit}" for digit in range(writes)) + "a"
    assert weft.generate(PROGRAM, text) == [str(writes - 1) if writes else "?"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a1b2a1b2a1b2a1", "7 writes"),
        ("1", "'1' comes after 's'"),
        ("a12", "'2' comes after '1'"),
    ],
)
def test_what_it_cannot_read_is_refused(text: str, what: str) -> None:
    with pytest.raises(weft.WeftError, match=what):
        PROGRAM.encode(text)


@pytest.mark.slow
def test_20_names_and_99_writes_are_recalled_and_proved() -> None:
    program = LatestValue(names="abcdefghijklmnopqrtu", writes=99)
    rng = random.Random(0)
    inputs = [program.sample(rng, rng.randint(150, 201)) for _ in range(100)]
    assert weft.run_batch(program, inputs).results == [
        recalled("".join(tokens[1:])) for tokens in inputs
    ]
    compiled = weft.compile(program)
    assert compiled.hidden_units < 2_500
    assert weft.prove(compiled).verdict == "proved"
