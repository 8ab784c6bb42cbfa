"""Brackets: against taking pairs out of the text until nothing changes, on all short texts."""

from __future__ import annotations

import itertools

import pytest

import weft
from weft.compiler.check import check
from weft.programs.dyck import Dyck


def nested(text: str, pairs: list[str], depth: int) -> bool:
    """Whether `depth` rounds of taking out the innermost pairs leave nothing."""
    for _ in range(depth):
        marked = text
        for pair in pairs:
            marked = marked.replace(pair, "..")
        while ".." in marked:  # pairs that stood side by side go in the same round
            marked = marked.replace("..", "")
        text = marked
    return not text


def test_all_short_texts_of_two_kinds() -> None:
    texts = ["".join(t) for n in range(7) for t in itertools.product("()[]", repeat=n)]
    found = weft.run_batch(Dyck("()[]", depth=3), texts).results
    assert [valid for valid, _ in found] == [nested(t, ["()", "[]"], 3) for t in texts]


def test_depths_are_those_of_counting() -> None:
    text = "([]{()[{}]})"
    heights = itertools.accumulate(1 if bracket in "([{" else -1 for bracket in text)
    assert weft.run(Dyck, text).result == (True, list(heights))


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", (True, [])),
        ("(", (False, [1])),
        (")", (False, [])),
        ("()", (True, [1, 0])),
        ("(]", (False, [1])),
        ("())(", (False, [1, 0])),
        ("(((())))", (True, [1, 2, 3, 4, 3, 2, 1, 0])),
        ("((((()))))", (False, [1, 2, 3, 4])),  # too deep
        ("([)]", (False, [1, 2])),
    ],
)
def test_by_hand(text: str, result: tuple[bool, list[int]]) -> None:
    run = weft.run(Dyck, text)
    assert run.result == result
    assert run.layers == len(text) + 1


def test_other_brackets_and_depths_in_weights() -> None:
    program = Dyck("<>", depth=2)
    assert weft.run(program, "<<>><>").result == (True, [1, 2, 1, 0, 1, 0])
    assert check(weft.compile(program), samples=40, max_length=30).difference is None


def test_an_unknown_bracket_is_refused() -> None:
    with pytest.raises(weft.WeftError, match="no token '<'"):
        weft.run(Dyck, "(<>)")
