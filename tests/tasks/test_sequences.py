"""Copy, reverse and sort against Python's lists and strings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.tasks import task

EXPECTED = {"copy": list, "reverse": lambda x: list(x)[::-1], "sort": sorted}
CASES = [(n, f) for n in EXPECTED for f in ("lm", "seq2seq", "tag") if (n, f) != ("copy", "tag")]


@pytest.mark.parametrize(("name", "form"), CASES)
@settings(max_examples=20, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 9), st.integers(0, 99), st.sampled_from(["ab", "abcdxyz"])
)
def test_rows_are_what_python_makes_of_them(
    name: str, form: str, length: int, more: int, seed: int, letters: str
) -> None:
    made = task(name, format=form, length=length, longer=length + more, letters=letters)
    batch = made.batch("longer", seed, 0, 20)
    for row, (question, answer) in enumerate(made.examples(batch)):
        assert list(answer) == EXPECTED[name](question)  # type: ignore[operator]
        assert length < len(question) == batch.axes["length"][row] <= length + more
        assert batch.axes["kinds"][row] == len(set(question))


@pytest.mark.parametrize("name", EXPECTED)
def test_letters_can_be_all_different(name: str) -> None:
    made = task(name, unique=True, length=5, longer=10)
    for split in made.splits:
        for question, _ in made.examples(made.batch(split, 0, 0, 200)):
            assert len(set(question)) == len(question)


@pytest.mark.parametrize("name", EXPECTED)
def test_lengths_and_letters_are_drawn_evenly(name: str) -> None:
    made = task(name, length=4, longer=5, letters="abcd")
    questions = [q for q, _ in made.examples(made.batch("train", 0, 0, 5000))]
    for length in range(2, 5):  # of length 1, one in four may be held out
        assert abs(sum(len(q) == length for q in questions) / 5000 - 0.25) < 0.05
    letters = "".join(map("".join, questions))
    assert all(abs(letters.count(letter) / len(letters) - 0.25) < 0.05 for letter in "abcd")


@pytest.mark.parametrize("name", ["copy", "reverse", "sort", "sort-unique"])
def test_the_library_agrees(name: str) -> None:
    kind = name.removesuffix("-unique")
    made = task(kind, length=6, longer=8, unique=name.endswith("unique"))
    program = weft.program(name)
    assert name in made.programs
    for question, answer in made.examples(made.test_set("train", 10)):
        assert weft.run(program, "".join(question)).result == "".join(answer)
