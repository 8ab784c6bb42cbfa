"""The batched interpreter against the reference, value by value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

from weft.crasp import (
    Add,
    And,
    Comparison,
    Conditional,
    Counting,
    CraspProgram,
    Exists,
    Integer,
    Line,
    Local,
    Maximum,
    Name,
    Not,
    Periodic,
    Position,
    Subtract,
    Symbol,
    run,
)
from weft.crasp.batched import run_batch
from weft.errors import WeftError

A, B = Symbol("a"), Symbol("b")


def agree(program: CraspProgram, given_words: list[tuple[str, ...]]) -> None:
    batch = run_batch(program, given_words)
    assert len(batch) == len(given_words)
    for index, word in enumerate(given_words):
        expected = run(program, word)
        assert batch[index] == expected
        for name, values in expected.values.items():
            assert type(batch[index].values[name][0]) is type(values[0])
            assert not batch.values[name][index, len(word) + 1 :].any()  # padding


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_random_programs_on_batches_of_different_lengths(data: st.DataObject) -> None:
    program = data.draw(programs())
    agree(program, data.draw(st.lists(words(program), max_size=6)))


def test_long_words() -> None:
    program = CraspProgram(
        ("a", "b"),
        (
            Line("near", Counting(A, Local((0, 3, 70)))),
            Line("odd", And((B, Position(Periodic(2, (1,)))))),
            Line(
                "n",
                Conditional(
                    Name("odd"), Subtract(Counting(Name("odd")), Name("near")), Integer(-1)
                ),
            ),
            Line("best", Maximum((Name("n"), Name("near"), Integer(1)))),
            Line("accept", Exists(Comparison("==", Name("best"), Name("n")))),
        ),
    )
    rng = np.random.default_rng(0)
    agree(program, [tuple(rng.choice(["a", "b"], size=n)) for n in (0, 1, 3, 69, 70, 71, 72, 120)])


def test_constants_and_positions_alone_have_full_shapes() -> None:
    program = CraspProgram(
        ("a",),
        (
            Line("two", Integer(2)),
            Line("third", Position(Periodic(3, (0,)))),
            Line("thirds", Counting(Name("third"))),
            Line("accept", Comparison("<", Integer(1), Name("two"))),
        ),
    )
    batch = run_batch(program, ["", "aaaa"])
    assert batch.values["two"].tolist() == [[2, 0, 0, 0, 0], [2, 2, 2, 2, 2]]
    assert batch.values["thirds"].tolist() == [[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]
    assert batch.accepted.tolist() == [True, True]
    agree(program, [(), ("a",) * 4])


@pytest.mark.parametrize("doublings", [5, 27, 40, 62, 70, 200])
def test_counts_of_any_size_are_exact(doublings: int) -> None:
    lines = [Line("n0", Counting(A))]
    lines += [
        Line(f"n{k}", Add(Name(f"n{k - 1}"), Name(f"n{k - 1}"))) for k in range(1, doublings + 1)
    ]
    last = Name(f"n{doublings}")
    big = Integer(3 * 2**doublings)
    lines += [
        Line("difference", Conditional(B, Subtract(last, big), Subtract(big, last))),
        Line("accept", Comparison("==", last, big)),
    ]
    program = CraspProgram(("a", "b"), tuple(lines))
    agree(program, [tuple("aabab"), tuple("abbaabaa"), ()])
    assert run_batch(program, ["aaba", "aab"]).accepted.tolist() == [True, False]


@pytest.mark.parametrize("batch", [[], [()], [(), ()]])
def test_batches_without_symbols(batch: list[tuple[str, ...]]) -> None:
    agree(CraspProgram(("a",), (Line("accept", Not(Exists(A))),)), batch)


def test_words_are_read_as_the_reference_reads_them() -> None:
    characters = CraspProgram(("a", "€", "𝄞"), (Line("accept", Symbol("€")),))
    batch = run_batch(characters, ["a€", "a 𝄞 €", ["𝄞"], ""])
    assert batch.accepted.tolist() == [True, True, False, False]
    assert batch[1].word == ("a", "𝄞", "€")
    tokens = CraspProgram(("left", "right"), (Line("accept", Symbol("left")),))
    batch = run_batch(tokens, ["right left", ("left", "right"), "left"])
    assert batch.accepted.tolist() == [True, False, True]
    assert batch.lengths.tolist() == [2, 2, 1]


@pytest.mark.parametrize("word", ["axb", "a\nb", "a\ud800", "\U0010ffff", ["a", "ab"]])
def test_a_symbol_that_is_not_in_the_alphabet_is_named(word: str | list[str]) -> None:
    program = CraspProgram(("a", "b"), (Line("accept", A),))
    with pytest.raises(WeftError, match="is not in the alphabet"):
        run_batch(program, ["ab", word])
