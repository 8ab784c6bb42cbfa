"""Every language of the library against an independent definition."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest
from crasp_languages import LANGUAGES, Language

from weft.crasp import library, run
from weft.crasp.batched import run_batch

QUICK = {1: 12, 2: 12, 3: 8}
"""The longest words of quick tests, by the number of letters; 6 for more letters."""


def check_all_words(language: Language, length: int) -> None:
    """Compare all words up to a length, as the prefixes of those of that length."""
    program = library.load(language.name, **language.parameters)
    words = ["".join(word) for word in product(program.alphabet, repeat=length)]
    accepted = run_batch(program, words).values[program.accepting]
    for end in range(length + 1):
        step = len(program.alphabet) ** (length - end)  # the first word with each prefix
        wanted = [language.contains(word[:end]) for word in words[::step]]
        for place in np.flatnonzero(accepted[::step, end] != wanted):
            raise AssertionError(f"{language} is wrong on {words[place * step][:end]!r}")


@pytest.mark.parametrize("language", LANGUAGES, ids=str)
def test_all_short_words(language: Language) -> None:
    size = len(library.load(language.name, **language.parameters).alphabet)
    check_all_words(language, QUICK.get(size, 6) if size <= 5 else 5)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES, ids=str)
def test_all_words_to_length_10(language: Language) -> None:
    size = len(library.load(language.name, **language.parameters).alphabet)
    if size > 4:
        pytest.skip("five letters or more")
    check_all_words(language, 10)


@pytest.mark.parametrize("language", LANGUAGES, ids=str)
def test_long_words(language: Language) -> None:
    """Members, random words, and members with one or two symbols changed, up to length 200."""
    program = library.load(language.name, **language.parameters)
    rng = Random(language.name)
    words = []
    for _ in range(25):
        member = language.member(rng, rng.randint(8, 160))
        assert language.contains(member)
        changed = list(member)
        for place in rng.choices(range(len(member)), k=rng.randint(0, 2)):
            changed[place] = rng.choice(program.alphabet)
        words += ["".join(changed), "".join(rng.choices(program.alphabet, k=len(changed)))]
    assert 120 < max(map(len, words)) <= 200
    accepted = run_batch(program, words).values[program.accepting]
    verdicts = set()
    for word, row in zip(words, accepted, strict=True):
        for end in {0, len(word), *rng.choices(range(len(word)), k=8)}:
            assert row[end] == language.contains(word[:end]), word[:end]
            verdicts.add(bool(row[end]))
    assert verdicts == {True, False}


@pytest.mark.parametrize("name", sorted({language.name for language in LANGUAGES}))
def test_example_is_accepted(name: str) -> None:
    assert run(library.load(name), library.entry(name).example).accepted


def test_every_language_is_tested() -> None:
    untested = set(library.names()) - {language.name for language in LANGUAGES}
    assert all(library.load(name).next_symbols for name in untested)
