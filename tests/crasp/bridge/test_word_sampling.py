"""Random words of a program: as many are accepted as was promised, uniformly."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest

import weft
from weft.crasp import library, run
from weft.crasp.batched import run_batch
from weft.crasp.bridge.left_to_right import Plan
from weft.crasp.bridge.word_sampling import WordSampler


def sampler(name: str, length: int = 12) -> WordSampler:
    return WordSampler(Plan(library.load(name), length))


@pytest.mark.parametrize("name", ["dyck-1", "anbncn", "tomita-2", "ab-or-bbaa", "abab"])
def test_half_of_the_words_are_accepted(name: str) -> None:
    program, draw, rng = library.load(name), sampler(name).draw, random.Random(0)
    words = [draw(rng, 12) for _ in range(400)]
    assert all(len(word) == 12 for word in words)
    accepted = run_batch(program, words).accepted.mean()
    assert 0.4 < accepted < 0.85  # random words may be accepted too


def test_accepted_words_are_drawn_uniformly() -> None:
    program, draw, rng = library.load("dyck-1"), sampler("dyck-1").draw, random.Random(1)
    words = ["".join(word) for word in product("()", repeat=6)]
    wanted = {word for word in words if run(program, word).accepted}
    drawn = Counter("".join(draw(rng, 6)) for _ in range(3000))
    shares = [drawn[word] / sum(drawn[word] for word in wanted) for word in wanted]
    assert len(wanted) == 5
    assert all(abs(share - 1 / 5) < 0.04 for share in shares)


def test_words_of_a_length_without_accepted_ones_begin_longer_ones() -> None:
    draw, rng = sampler("anbn").draw, random.Random(2)
    words = Counter("".join(draw(rng, 5)) for _ in range(400))
    assert words["aaabb"] > 150  # the only beginning of a^3 b^3


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("sort", lambda word: "".join(sorted(word))),
        ("unique-copy", lambda word: word),
        ("bigram-copy", lambda word: word),
        ("unique-reverse", lambda word: word[::-1]),
        ("majority-bit", lambda word: max("01", key=word.count)),
        ("most-frequent", lambda word: max("abc", key=word.count)),
    ],
)
def test_inputs_of_transductions_come_with_their_answers(name: str, answer: object) -> None:
    program, rng = weft.program(f"crasp:{name}"), random.Random(3)
    for _ in range(20):
        question, _, written = "".join(program.sample(rng, 12)[1:]).partition("|")
        assert written == answer(question)  # type: ignore[operator]


def test_inputs_of_queries_and_of_interleaved_strings() -> None:
    rng = random.Random(4)
    queries, strings = map(weft.program, ("crasp:first-occurrence", "crasp:interleaved-majority"))
    for _ in range(20):
        text = "".join(queries.sample(rng, 12)[1:])
        word, query = text[:8], text[9]
        assert text == f"{word}|{query}{word.partition(query)[2][:1]}"
        bits = "".join(strings.sample(rng, 12)[1:])
        question, _, written = bits.partition("|")
        assert written == "".join(max("01", key=question[k::3].count) for k in range(3))
