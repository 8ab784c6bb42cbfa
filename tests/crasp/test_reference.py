"""The reference interpreter against definitions in plain Python."""

from __future__ import annotations

from itertools import product

import pytest

from weft.crasp import (
    And,
    Comparison,
    Conditional,
    Counting,
    CraspProgram,
    Exists,
    Integer,
    Line,
    Local,
    Name,
    Not,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
    run,
)

A, B = Symbol("a"), Symbol("b")


def ab(*lines: tuple[str, object]) -> CraspProgram:
    return CraspProgram(("a", "b"), tuple(Line(name, what) for name, what in lines))  # type: ignore[arg-type]


def words(length: int) -> list[str]:
    return ["".join(word) for n in range(length + 1) for word in product("ab", repeat=n)]


def balanced(word: str) -> bool:
    depth = 0
    for symbol in word:
        depth += 1 if symbol == "a" else -1
        if depth < 0:
            return False
    return depth == 0


def test_dyck_1_accepts_the_balanced_words_and_the_empty_one() -> None:
    dyck = ab(
        ("bad", Comparison("<", Counting(A), Counting(B))),
        (
            "accept",
            And(
                (
                    Comparison("==", Counting(Name("bad")), Integer(0)),
                    Comparison("==", Counting(A), Counting(B)),
                )
            ),
        ),
    )
    for word in words(10):
        assert run(dyck, word).accepted == balanced(word)


def test_even_length_is_judged_at_the_begin_symbol_for_the_empty_word() -> None:
    even = ab(("accept", Position(Periodic(2, (0,)))))
    assert [run(even, "a" * n).accepted for n in range(5)] == [True, False, True, False, True]


def test_the_begin_symbol_is_never_counted() -> None:
    everything = ab(("n", Counting(Not(A))), ("accept", Comparison(">=", Name("n"), Integer(1))))
    assert run(everything, "bab").values["n"] == (0, 1, 1, 2)


def test_previous_is_false_at_the_first_position() -> None:
    program = ab(("accept", Previous(Not(A))))
    assert run(program, "bab").values["accept"] == (False, False, True, False)


@pytest.mark.parametrize("offsets", [(0,), (1,), (2,), (0, 1), (1, 3)])
def test_local_counts_look_at_their_offsets_only(offsets: tuple[int, ...]) -> None:
    program = ab(("n", Counting(A, Local(offsets))), ("accept", Exists(A, Local(offsets))))
    for word in words(7):
        expected = [
            sum(1 for d in offsets if i - d >= 1 and word[i - d - 1] == "a")
            for i in range(len(word) + 1)
        ]
        values = run(program, word).values
        assert list(values["n"]) == expected
        assert list(values["accept"]) == [count >= 1 for count in expected]


def test_conditional_counts_and_negative_numbers() -> None:
    program = ab(
        ("n", Conditional(A, Subtract(Counting(B), Counting(A)), Integer(-7))),
        ("accept", Comparison("<", Name("n"), Integer(0))),
    )
    assert run(program, "abba").values["n"] == (-7, -1, -7, -7, 0)
