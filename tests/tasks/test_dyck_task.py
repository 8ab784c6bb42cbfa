"""Brackets, against replacing `()` by nothing until nothing is left."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.tasks import task


def nests(text: str, brackets: str) -> bool:
    pairs = [brackets[place : place + 2] for place in range(0, len(brackets), 2)]
    while any(pair in text for pair in pairs):
        for pair in pairs:
            text = text.replace(pair, "")
    return not text


def heights(text: str, brackets: str) -> list[int]:
    prefixes = [Counter(text[: place + 1]) for place in range(len(text))]
    return [
        sum(p[opening] for opening in brackets[::2]) - sum(p[closing] for closing in brackets[1::2])
        for p in prefixes
    ]


@pytest.mark.parametrize("brackets", ["()", "()[]{}"])
@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(0, 9), st.integers(2, 9), st.integers(0, 99)
)
def test_brackets_nest_as_deep_as_is_said(
    brackets: str, depth: int, deeper: int, room: int, more: int, seed: int
) -> None:
    length = 2 * (depth + deeper) + room
    made = task(
        "dyck",
        brackets=brackets,
        depth=depth,
        deeper=depth + deeper,
        length=length,
        longer=length + more,
    )
    for split, said in made.splits.items():
        pairs = made.draw(split, np.random.default_rng(seed), 30)
        batch = made.lay_out(pairs)
        for row, (question, answer) in enumerate(made.examples(batch)):
            text = "".join(question)
            assert nests(text, brackets)
            assert len(text) == batch.axes["length"][row]
            assert max(heights(text, brackets)) == batch.axes["depth"][row]
            assert answer == made.reference(question)
        for axis, (low, high) in said.axes.items():
            assert low <= batch.axes[axis].min() <= batch.axes[axis].max() <= high


def test_the_number_of_open_brackets_can_be_asked_for() -> None:
    made = task("dyck", answer="open")
    assert made.outputs == 9
    for question, answer in made.examples(made.batch("train", 0, 0, 100)):
        assert list(map(int, answer)) == heights("".join(question), "()[]")


def test_the_bracket_that_closes_is_the_one_that_comes() -> None:
    """Where the string first falls below a prefix's height, it has the bracket that was named."""
    made = task("dyck")
    for question, answer in made.examples(made.batch("train", 0, 0, 50)):
        levels = heights("".join(question), "()[]")
        for place, (level, said) in enumerate(zip(levels, answer, strict=True)):
            below = [later for later in range(place, len(levels)) if levels[later] < level]
            assert said == (question[below[0]] if below else "none")


def test_depths_are_drawn_evenly() -> None:
    batch = task("dyck").batch("train", 0, 0, 20_000)
    for depth in range(1, 5):
        assert abs((batch.axes["depth"] == depth).mean() - 0.25) < 0.05


def test_the_library_agrees() -> None:
    made = task("dyck", answer="open", depth=2, deeper=4, length=8, longer=10)
    program = weft.program("dyck")
    for question, answer in made.examples(made.test_set("train", 10)):
        well, depths = weft.run(program, "".join(question)).result
        assert well
        assert depths == list(map(int, answer))
