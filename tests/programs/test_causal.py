"""Causal programs: what they generate, and that weights generate the same."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import weft
from weft.compiler.execution import run_model
from weft.language.program import token_numbers
from weft.programs.causal import AnBn, CountSoFar, InductionHead


def generate_by_weights(program: weft.Program, prompt: str) -> list[Any]:
    """What the compiled model goes on with, taking the likeliest token each time."""
    model = weft.compile(program).model
    tokens = list(program.encode(prompt))
    made: list[Any] = []
    while True:
        outputs = run_model(model, [token_numbers(program, [*tokens, *made])]).outputs[0]
        token = program.vocabulary.name(outputs[-1])
        if token == program.stop:
            return made
        made.append(token)


PROMPTS = [
    (InductionHead, "badge", "badge"),
    (InductionHead, "b", "b"),
    (InductionHead, "abcdefgh", "abcdefgh"),
    (InductionHead, "|face|fa", "ce"),
    (CountSoFar, "abaaba", "3"),
    (CountSoFar, "c", "0"),
    (CountSoFar, "a" * 10, "9"),
    (AnBn, "a", "b"),
    (AnBn, "aaab", "bb"),
    (AnBn, "aabb", ""),
    (AnBn, "a" * 16, "b" * 16),
]


@pytest.mark.parametrize(("program", "prompt", "expected"), PROMPTS)
def test_a_prompt_is_continued(program: type[weft.Program], prompt: str, expected: str) -> None:
    assert "".join(weft.generate(program, prompt)) == expected
    assert "".join(generate_by_weights(program(), prompt)) == expected


def test_every_letter_is_counted_so_far() -> None:
    words = ["".join(w) for n in range(1, 7) for w in itertools.product("ab", repeat=n)]
    found = weft.run_batch(CountSoFar(), words).results
    assert found == [
        "." + "".join(str(sum(b == a for b in word[:i])) for i, a in enumerate(word))
        for word in words
    ]


def test_all_beginnings_of_words_of_a_and_b() -> None:
    most = AnBn().most
    for a in range(1, most + 1):
        for b in (0, a - 1, a):
            expected = "b" if b < a else "."
            assert weft.run(AnBn, "a" * a + "b" * b).result[-1] == expected


@pytest.mark.parametrize(
    ("program", "text", "match"),
    [
        (InductionHead, "abca", "'a' occurs twice.*distinct letters"),
        (AnBn, "aba", "no word of a.n b.n begins like this"),
        (AnBn, "abb", "no word of a.n b.n begins like this"),
        (AnBn, "", "no word of a.n b.n begins like this"),
        (AnBn, "a" * 17, "17 a are too many. Give up to 16"),
        (CountSoFar, "a" * 12, "13 tokens; the program has 12 positions"),
    ],
)
def test_mistakes_are_named(program: type[weft.Program], text: str, match: str) -> None:
    with pytest.raises(weft.WeftError, match=match):
        weft.run(program, text)


def test_layers() -> None:
    assert weft.run(InductionHead, "abc").layers == 2
    assert weft.run(CountSoFar, "abc").layers == 1
    assert weft.run(AnBn, "aab").layers == 1
