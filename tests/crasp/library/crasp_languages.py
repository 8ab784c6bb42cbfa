"""Independent definitions of the library's languages: plain Python, `re`, automata.

`contains` decides a word. `member` draws a word of the language, of about a given size, so that
long words are not all rejected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

OPERATORS = "abcdefghij"


@dataclass(frozen=True)
class Language:
    """A library program with a definition of its language that shares nothing with it."""

    name: str
    contains: Callable[[str], bool]
    member: Callable[[Random, int], str]
    parameters: Mapping[str, int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *map(str, self.parameters.values())])


def pattern(text: str) -> Callable[[str], bool]:
    compiled = re.compile(text)
    return lambda word: compiled.fullmatch(word) is not None


def automaton(transitions: str) -> Callable[[str], bool]:
    """A deterministic automaton, whose state 0 is the start and accepts.

    A transition is written as state, symbol, next state; a missing one rejects.
    """
    table = {(start, symbol): end for start, symbol, end in transitions.split()}

    def contains(word: str) -> bool:
        state: str | None = "0"
        for symbol in word:
            state = table.get((state, symbol)) if state is not None else None
        return state == "0"

    return contains


def reducible(*pairs: str, word: str) -> bool:
    """Whether brackets vanish if neighbouring pairs are removed again and again."""
    while True:
        shorter = word
        for pair in pairs:
            shorter = shorter.replace(pair, "")
        if shorter == word:
            return not word
        word = shorter


def shuffled(pairs: tuple[str, ...], word: str) -> bool:
    """Whether the brackets of each kind alone are well nested."""
    return all(
        reducible(pair, word="".join(symbol for symbol in word if symbol in pair)) for pair in pairs
    )


def depths(word: str) -> list[int]:
    return [word[:end].count("a") - word[:end].count("b") for end in range(len(word) + 1)]


def bounded(depth: int) -> Callable[[str], bool]:
    def contains(word: str) -> bool:
        heights = depths(word)
        return min(heights) >= 0 and max(heights) <= depth and heights[-1] == 0

    return contains


def expression(arity: int) -> Callable[[str], bool]:
    """Prefix expressions, by recursive descent."""

    def end_of(word: str, start: int) -> int | None:
        if start >= len(word):
            return None
        if word[start] in "01":
            return start + 1
        place: int | None = start + 1
        for _ in range(OPERATORS.index(word[start]) + 1):
            place = end_of(word, place) if place is not None else None
        return place

    assert arity <= len(OPERATORS)
    return lambda word: end_of(word, 0) == len(word)


def is_subsequence(wanted: str, word: str) -> bool:
    rest = iter(word)
    return all(letter in rest for letter in wanted)


def runs(word: str) -> str:
    """A word with each run of equal letters shortened to one."""
    return re.sub(r"(.)\1*", r"\1", word)


# Members


def shuffle(rng: Random, text: str) -> str:
    return "".join(rng.sample(text, len(text)))


def ones(rng: Random, size: int, least: float, most: float) -> str:
    number = rng.randint(math.ceil(least * size), int(most * size))
    return shuffle(rng, "1" * number + "0" * (size - number))


def nested(rng: Random, size: int, limit: int = 10**6, pair: str = "ab") -> str:
    word, depth = "", 0
    for left in range(size - size % 2, 0, -1):
        opens = depth < min(left, limit) and (depth == 0 or rng.random() < 0.5)
        word += pair[0] if opens else pair[1]
        depth += 1 if opens else -1
    return word


def interleaved(rng: Random, *words: str) -> str:
    """A random shuffle of words, each in its own order."""
    order = [place for place, word in enumerate(words) for _ in word]
    rng.shuffle(order)
    letters = [iter(word) for word in words]
    return "".join(next(letters[place]) for place in order)


def blocks(rng: Random, size: int, letters: str, least: int = 0) -> str:
    """Blocks of these letters in order, each at least so long."""
    rest = max(0, size - least * len(letters))
    cuts = sorted(rng.choices(range(rest + 1), k=len(letters) - 1))
    sizes = [end - start for start, end in pairwise([0, *cuts, rest])]
    return "".join(letter * (least + size) for letter, size in zip(letters, sizes, strict=True))


def repeated(rng: Random, size: int, *parts: str) -> str:
    word = ""
    while len(word) < size:
        word += rng.choice(parts)
    return word


def prefix_expression(rng: Random, size: int, arity: int) -> str:
    word, missing = "", 1
    while missing:
        room = len(word) + missing < size
        operands = rng.randint(1, arity) if room and rng.random() < 0.7 else 0
        word += OPERATORS[operands - 1] if operands else rng.choice("01")
        missing += operands - 1
    return word


def no_triple_zero(rng: Random, size: int) -> str:
    return repeated(rng, size, "1", "01", "001")


def random_word(rng: Random, size: int, letters: str) -> str:
    return "".join(rng.choices(letters, k=size))


LANGUAGES = [
    Language(
        "majority",
        lambda word: word.count("1") > word.count("0"),
        lambda rng, size: ones(rng, size, 0.5, 1) + "1",
    ),
    Language(
        "at-least-half",
        lambda word: 2 * word.count("1") >= len(word),
        lambda rng, size: ones(rng, 2 * (size // 2), 0.5, 1),
    ),
    Language(
        "tie",
        lambda word: sorted(word)[: len(word) // 2] == ["0"] * (len(word) // 2)
        and word.count("1") * 2 == len(word),
        lambda rng, size: ones(rng, 2 * (size // 2), 0.5, 0.5),
    ),
    *(
        Language(
            "super-majority",
            lambda word, part=part, whole=whole: whole * word.count("1") > part * len(word),
            lambda rng, size, part=part, whole=whole: ones(rng, size, part / whole, 1) + "1",
            {"part": part, "whole": whole},
        )
        for part, whole in ((2, 3), (3, 4), (1, 5))
    ),
    *(
        Language(
            "at-most",
            lambda word, most=most: word.count("1") <= most,
            lambda rng, size, most=most: shuffle(
                rng, "1" * rng.randint(0, most) + "0" * (size - most)
            ),
            {"ones": most},
        )
        for most in (3, 0, 1, 6)
    ),
    *(
        Language(
            "parity-up-to",
            lambda word, most=most: word.count("1") in range(1, most + 1, 2),
            lambda rng, size, most=most: shuffle(
                rng, "1" * rng.randrange(1, most + 1, 2) + "0" * (size - most)
            ),
            {"ones": most},
        )
        for most in (3, 1, 4, 7)
    ),
    Language(
        "dyck-1",
        lambda word: reducible("()", word=word),
        lambda rng, size: nested(rng, size, pair="()"),
    ),
    *(
        Language(
            "bounded-dyck",
            bounded(depth),
            lambda rng, size, depth=depth: nested(rng, size, depth),
            {"depth": depth},
        )
        for depth in (2, 1, 3, 4, 12)
    ),
    *(
        Language(
            "shuffle",
            lambda word, kinds=kinds: shuffled(kinds, word),
            lambda rng, size, kinds=kinds: interleaved(
                rng, *(nested(rng, size // len(kinds), pair=pair) for pair in kinds)
            ),
            {"pairs": len(kinds)},
        )
        for kinds in (("()", "[]"), ("()",), ("()", "[]", "{}"))
    ),
    Language(
        "anbn",
        lambda word: word == "a" * (len(word) // 2) + "b" * (len(word) // 2),
        lambda rng, size: "a" * (size // 2) + "b" * (size // 2),
    ),
    Language(
        "anbncn",
        lambda word: word == "".join(letter * (len(word) // 3) for letter in "abc"),
        lambda rng, size: "".join(letter * (size // 3) for letter in "abc"),
    ),
    *(
        Language(
            "counter",
            lambda word, letters=letters: word
            == "".join(letter * (len(word) // len(letters)) for letter in letters),
            lambda rng, size, letters=letters: "".join(
                letter * (size // len(letters)) for letter in letters
            ),
            {"letters": len(letters)},
        )
        for letters in ("abcd", "ab", "abcde")
    ),
    *(
        Language(
            "prefix-expressions",
            expression(arity),
            lambda rng, size, arity=arity: prefix_expression(rng, size, arity),
            {"arity": arity},
        )
        for arity in (3, 2, 5)
    ),
    Language("tomita-1", pattern("1*"), lambda rng, size: "1" * size),
    Language("tomita-2", pattern("(10)*"), lambda rng, size: "10" * (size // 2)),
    Language("tomita-4", lambda word: "000" not in word, no_triple_zero),
    Language("tomita-7", pattern("0*1*0*1*"), lambda rng, size: blocks(rng, size, "0101")),
    *(
        Language(
            "sorted-blocks",
            pattern("".join(letter + "+" for letter in letters)),
            lambda rng, size, letters=letters: blocks(rng, size, letters, 1),
            {"letters": len(letters)},
        )
        for letters in ("abcde", "ab", "abc")
    ),
    *(
        Language(
            "alternating-blocks",
            lambda word, number=number: runs(word) == ("ab" * number)[:number],
            lambda rng, size, number=number: blocks(rng, size, ("ab" * number)[:number], 1),
            {"blocks": number},
        )
        for number in (3, 1, 2, 6)
    ),
    Language(
        "ab-d-bc",
        pattern("[ab]*d[bc]*"),
        lambda rng, size: random_word(rng, size // 2, "ab")
        + "d"
        + random_word(rng, size // 2, "bc"),
    ),
    Language(
        "contains-ab",
        lambda word: "ab" in word,
        lambda rng, size: blocks(rng, size // 2, "cba") + "ab" + blocks(rng, size // 2, "cba"),
    ),
    Language(
        "contains-ab-binary",
        lambda word: "ab" in word,
        lambda rng, size: blocks(rng, size // 2, "ba") + "ab" + blocks(rng, size // 2, "ba"),
    ),
    Language("ends-in-b", pattern(".*b"), lambda rng, size: random_word(rng, size, "ab") + "b"),
    *(
        Language(
            "subsequence",
            lambda word, wanted=wanted: is_subsequence(wanted, word),
            lambda rng, size, wanted=wanted: interleaved(
                rng, wanted, random_word(rng, size, wanted)
            ),
            {"pattern": wanted},
        )
        for wanted in ("abc", "a", "abba", "abcd")
    ),
    *(
        Language(
            "no-subsequence",
            lambda word, wanted=wanted: not is_subsequence(wanted, word),
            lambda rng, size, wanted=wanted: blocks(rng, size, wanted[:-1], 1),
            {"pattern": wanted},
        )
        for wanted in ("aba", "ab", "abcb")
    ),
    Language(
        "ab-or-bbaa",
        automaton("0a1 1b0 0b2 2b3 3a4 4a0"),
        lambda rng, size: repeated(rng, size, "ab", "bbaa"),
    ),
    Language(
        "ab-or-aabb",
        automaton("0a1 1b0 1a2 2b3 3b0"),
        lambda rng, size: repeated(rng, size, "ab", "aabb"),
    ),
    Language(
        "b-or-abc",
        pattern("(b|abc)*"),
        lambda rng, size: repeated(rng, size, "b", "abc"),
    ),
    Language(
        "bcab-or-cbac",
        automaton("0b1 1c2 2a3 3b0 0c4 4b5 5a6 6c0"),
        lambda rng, size: repeated(rng, size, "bcab", "cbac"),
    ),
    Language("even-length", pattern("(aa)*"), lambda rng, size: "aa" * (size // 2)),
    *(
        Language(
            "length-multiple",
            pattern(f"({'a' * period})*"),
            lambda rng, size, period=period: "a" * (size - size % period),
            {"period": period},
        )
        for period in (4, 1, 3)
    ),
    Language("abab", pattern("(abab)*"), lambda rng, size: "abab" * (size // 4)),
]  # fmt: skip
