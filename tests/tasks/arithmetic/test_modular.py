"""Modular addition against Python's integers: every pair is in exactly one set."""

from __future__ import annotations

import pytest

from weft.tasks import task


@pytest.mark.parametrize("modulus", [5, 12, 31])
def test_modular_sums_are_right_and_every_pair_has_its_place(modulus: int) -> None:
    made = task("modular-addition", modulus=modulus)
    every = {(str(a), "+", str(b)) for a in range(modulus) for b in range(modulus)}
    sets = {name: made.test_set(name, modulus**2) for name in made.splits}
    found = {name: {q for q, _ in made.examples(batch)} for name, batch in sets.items()}
    batches = [made.batch("train", 0, step, 5000) for step in range(3)]
    trained = {question for batch in batches for question, _ in made.examples(batch)}
    validated = {question for question, _ in made.examples(made.validation_set(modulus**2))}
    assert trained | validated | found["train"] == every
    assert len(trained) + len(validated) + len(found["train"]) == len(every)
    assert found["mirrored"] | found["unseen"] == found["train"]
    assert found["mirrored"] == {q for q in found["train"] if q[::-1] in trained}
    assert found["unseen"] == {q for q in found["train"] if q[::-1] not in trained}
    for question, answer in made.examples(sets["train"]):
        assert answer == (str((int(question[0]) + int(question[2])) % modulus),)


def test_the_share_of_pairs_is_a_parameter() -> None:
    for share in (0.1, 0.7):
        made = task("modular-addition", held_out=share)
        tested, validated = len(made.test_set("train", 97**2)), len(made.validation_set(97**2))
        assert abs(tested / 97**2 - share * 3 / 4) < 0.02
        assert abs(validated / 97**2 - share / 4) < 0.02


def test_a_modular_question_ends_with_its_mark() -> None:
    made = task("modular-addition", modulus=7)
    batch = made.batch("train", 0, 0, 3)
    for row in range(3):
        assert [made.vocabulary[token] for token in batch.tokens[row]][1::2] == ["+", "="]
        assert (batch.targets[row] >= 0).tolist() == [False, False, False, True]
    sums = batch.axes["a"] + batch.axes["b"]
    assert (batch.axes["wraps"] == (sums >= 7)).all()


def test_pairs_are_those_of_earlier_versions() -> None:
    """Computed when numbers were always tokens, so finished runs keep their meaning."""
    made = task("modular-addition", modulus=31)
    drawn = [made.test_set(split, 100).content_hash[:12] for split in made.splits]
    assert drawn == ["3978d897e282", "2317930b1bdc", "935ebea41707"]
    assert made.batch("train", 1, 2, 100).content_hash[:12] == "5518497f0e97"
    assert made.validation_set(100).content_hash[:12] == "37c5560774c5"


def test_modular_products_are_right() -> None:
    made = task("modular-multiplication", modulus=11)
    questions = set()
    for split in ("train", "mirrored", "unseen"):
        for question, answer in made.examples(made.test_set(split, 121)):
            a, sign, b = question
            assert (sign, answer) == ("*", (str(int(a) * int(b) % 11),))
            questions.add(question)
    assert len(questions) > 30
