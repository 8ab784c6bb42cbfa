"""Named languages: their expressions against direct definitions, on all short words."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from weft.automata import LANGUAGES, language
from weft.automata.languages import TABLE
from weft.errors import WeftError


def runs(word: str) -> list[tuple[str, int]]:
    return [(letter, len(list(group))) for letter, group in itertools.groupby(word)]


def nested(depth: int) -> Callable[[str], bool]:
    def accepts(word: str) -> bool:
        heights = list(itertools.accumulate((1 if a == "a" else -1 for a in word), initial=0))
        return min(heights) >= 0 and max(heights) <= depth and heights[-1] == 0

    return accepts


DEFINITIONS: dict[str, Callable[[str], bool]] = {
    "tomita-1": lambda w: "0" not in w,
    "tomita-2": lambda w: w == "10" * (len(w) // 2),
    "tomita-3": lambda w: not any(
        one[0] == "1" and one[1] % 2 and two[1] % 2 for one, two in itertools.pairwise(runs(w))
    ),
    "tomita-4": lambda w: "000" not in w,
    "tomita-5": lambda w: w.count("0") % 2 == 0 and w.count("1") % 2 == 0,
    "tomita-6": lambda w: (w.count("0") - w.count("1")) % 3 == 0,
    "tomita-7": lambda w: len(runs("0" + w + "1")) <= 4,
    "d-1": nested(1),
    "d-2": nested(2),
    "d-3": nested(3),
    "d-4": nested(4),
    "d-12": nested(12),
    "aa-star": lambda w: len(w) % 2 == 0,
    "aaaa-star": lambda w: len(w) % 4 == 0,
    "abab": lambda w: w == "abab" * (len(w) // 4),
    "012-02": lambda w: w.rstrip("2").endswith("0"),
    "ab-d-bc": lambda w: (
        w.count("d") == 1 and "c" not in w.split("d")[0] and "a" not in w.split("d")[1]
    ),
    "sorted-blocks": lambda w: set(w) == set("abcde") and list(w) == sorted(w),
    "parity": lambda w: w.count("1") % 2 == 0,
    "ends-in-b": lambda w: w.endswith("b"),
    "ends-in-ab": lambda w: w.endswith("ab"),
    "ends-in-ab-ternary": lambda w: w.endswith("ab"),
    "last-b-binary": lambda w: "b" in w,
    "last-b": lambda w: w.rstrip("e").endswith("b"),
    "contains-ab": lambda w: "ab" in w,
    "contains-ab-binary": lambda w: "ab" in w,
    "b-or-aa": lambda w: all(n % 2 == 0 for letter, n in runs(w) if letter == "a"),
    "first-a": lambda w: w.startswith("a"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_expression_is_the_definition(name: str) -> None:
    given = language(name)
    longest = {1: 20, 2: 12, 3: 7, 4: 6, 5: 6}[len(given.alphabet)]
    for length in range(longest + 1):
        for letters in itertools.product(given.alphabet, repeat=length):
            word = "".join(letters)
            assert given.dfa.accepts(word) == DEFINITIONS[name](word), word


def test_the_table_has_its_seventeen_languages_with_flags() -> None:
    assert len(TABLE) == 17
    assert sum(bool(each.ape) for each in TABLE) == 13
    assert sum(bool(each.nope) for each in TABLE) == 9
    assert all(each.in_table for each in TABLE)
    assert all(each.ape or not each.nope for each in TABLE)


def test_every_language_has_a_live_start_and_a_unique_name() -> None:
    for name, each in LANGUAGES.items():
        assert each.name == name
        assert each.dfa.start in each.dfa.live()
        assert each.dfa.alphabet == tuple(each.alphabet)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(WeftError, match="Did you mean 'tomita-4'"):
        language("tomita4")
