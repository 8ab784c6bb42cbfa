"""Brackets, against replacing `()` by nothing until nothing is left."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.tasks import score, task


def reduced(text: str, brackets: str) -> str:
    pairs = [brackets[place : place + 2] for place in range(0, len(brackets), 2)]
    while any(pair in text for pair in pairs):
        for pair in pairs:
            text = text.replace(pair, "")
    return text


def nests(text: str, brackets: str) -> bool:
    return not reduced(text, brackets)


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


def legal_next(prefix: str, brackets: str) -> set[str]:
    """What can follow a prefix: nothing but opening brackets may be left of it."""
    allowed = {one for one in brackets if set(reduced(prefix + one, brackets)) <= {*brackets[::2]}}
    return allowed | ({"<end>"} if nests(prefix, brackets) else set())


@pytest.mark.parametrize("split", ["train", "longer", "deeper"])
def test_the_sets_of_next_symbols_are_those_that_trial_gives(split: str) -> None:
    brackets = "()[]{}"
    made = task("dyck", format="next", brackets=brackets)
    for question, answer in made.examples(made.batch(split, 0, 0, 20)):
        text = "".join(question)
        assert len(answer) == len(text) + 1
        for length, said in enumerate(answer):
            assert set(said.split("|")) == legal_next(text[:length], brackets)


def test_only_whole_sets_and_legal_symbols_score() -> None:
    made = task("dyck", format="next")
    batch = made.test_set("train", 50)
    assert batch.legal is not None
    assert score(batch, batch.legal).all()
    assert score(batch, batch.targets).all()
    opening = np.full_like(batch.targets, made.vocabulary.index("("))
    assert score(batch, opening).all()  # an opening bracket is legal anywhere
    assert not score(batch, opening + 1).any()  # a closing one is not, at <start>
    missing = batch.legal.copy()
    missing[:, 0, made.vocabulary.index("[")] = False
    assert not score(batch, missing).any()


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
