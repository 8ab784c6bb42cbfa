"""Formal languages against plain definitions, on words, prefixes and legal next symbols."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.tasks import by_axis, score, task
from weft.tasks.formal import COUNTERS, WordSampler, machine
from weft.tasks.formal.formal_language import longest_run


def matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda word: compiled.fullmatch(word) is not None


def bounded(depth: int) -> Callable[[str], bool]:
    def inside(word: str) -> bool:
        heights = [0, *itertools.accumulate({"a": 1, "b": -1}[letter] for letter in word)]
        return min(heights) >= 0 and max(heights) <= depth and heights[-1] == 0

    return inside


def tomita_3(word: str) -> bool:
    return re.search(r"(^|0)1(11)*0(00)*(1|$)", word) is None


def nested(brackets: str) -> Callable[[str], bool]:
    def inside(word: str) -> bool:
        for opening, closing in zip(brackets[::2], brackets[1::2], strict=True):
            steps = [{opening: 1, closing: -1}.get(letter, 0) for letter in word]
            heights = [0, *itertools.accumulate(steps)]
            if min(heights) < 0 or heights[-1]:
                return False
        return True

    return inside


def equal_runs(letters: str) -> Callable[[str], bool]:
    def inside(word: str) -> bool:
        count = len(word) // len(letters)
        return word == "".join(letter * count for letter in letters)

    return inside


def boolean(arity: int) -> Callable[[str], bool]:
    operators = "abcde"[:arity]

    def rest(word: str) -> str | None:
        if not word:
            return None
        left: str | None = word[1:]
        for _ in range(operators.find(word[0]) + 1):
            left = None if left is None else rest(left)
        return left

    return lambda word: rest(word) == ""


ORACLES: dict[str, Callable[[str], bool]] = {
    "tomita-1": matches("1*"),
    "tomita-2": matches("(10)*"),
    "tomita-3": tomita_3,
    "tomita-4": lambda word: "000" not in word,
    "tomita-5": lambda word: word.count("0") % 2 == word.count("1") % 2 == 0,
    "tomita-6": lambda word: (word.count("0") - word.count("1")) % 3 == 0,
    "tomita-7": matches("0*1*0*1*"),
    "d-2": bounded(2),
    "d-3": bounded(3),
    "d-4": bounded(4),
    "d-12": bounded(12),
    "aa*bb*cc*dd*ee*": matches("a+b+c+d+e+"),
    "[ab]*d[bc]*": matches("[ab]*d[bc]*"),
    "[012]*02*": matches("[012]*02*"),
    "(aa)*": matches("(aa)*"),
    "(aaaa)*": matches("(aaaa)*"),
    "(abab)*": matches("(abab)*"),
    "(ab|aabb)*": matches("(ab|aabb)*"),
    "dyck-1": nested("()"),
    "shuffle-2": nested("()[]"),
    "anbn": equal_runs("ab"),
    "anbncn": equal_runs("abc"),
    "4-count": equal_runs("abcd"),
    "boolean-3": boolean(3),
    "boolean-5": boolean(5),
}


def made(language: str, **parameters: Any) -> Any:
    return task("formal-language", language=language, **parameters)


def every_word(letters: tuple[str, ...], longest: int) -> list[str]:
    words = (itertools.product(letters, repeat=length) for length in range(longest + 1))
    return ["".join(word) for word in itertools.chain.from_iterable(words)]


@pytest.mark.parametrize("name", ORACLES)
def test_membership_of_all_short_words(name: str) -> None:
    table = machine(name, "", 20)
    length = {1: 20, 2: 10, 3: 7, 4: 6, 5: 5, 7: 4}[len(table.alphabet)]
    for word in every_word(table.alphabet, length):
        letters = np.array([[table.alphabet.index(letter) for letter in word]], dtype=np.int64)
        assert table.accepting[table.states(letters)[0, -1]] == ORACLES[name](word), word


@pytest.mark.parametrize("split", ["train", "longer", "longest"])
@pytest.mark.parametrize("name", ORACLES)
def test_words_are_in_the_language_and_their_prefixes_are_marked(name: str, split: str) -> None:
    one = made(name)
    pairs = one.draw(split, np.random.default_rng(0), 100)
    low, high = one.splits[split].axes["length"]
    for question, answer in one.examples(one.lay_out(pairs)):
        word = "".join(question)
        assert low <= len(word) <= high
        assert ORACLES[name](word)
        for place in {0, len(word) // 3, len(word) - 1, len(word)}:
            assert ("<end>" in answer[place].split("|")) == ORACLES[name](word[:place])
        for place, letter in enumerate(word):
            assert letter in answer[place].split("|")


@pytest.mark.parametrize("name", sorted(set(ORACLES) - {"boolean-5", "d-12", "aa*bb*cc*dd*ee*"}))
def test_legal_symbols_are_those_that_some_word_continues_with(name: str) -> None:
    """All words up to a length, by trial: a symbol is legal if a word has the prefix and it."""
    one = made(name, length=8, longer=16, longest=24)
    letters = one.symbols
    tries = {1: 20, 2: 12, 3: 8, 4: 8, 5: 7}[len(letters)]
    prefixes: set[str] = set()
    for word in filter(ORACLES[name], every_word(letters, tries)):
        prefixes |= {word[:place] for place in range(len(word) + 1)}
    half = tries // 2  # prefixes of this length can be completed within the words tried
    if name in ("anbncn", "4-count"):
        half = tries // len(letters)
    if name == "boolean-3":
        half = 2
    for question, answer in one.examples(one.lay_out(one.draw("train", _rng(), 200))):
        word = "".join(question)
        for place in range(min(len(word), half - 1) + 1):
            said = set(answer[place].split("|")) - {"<end>"}
            assert said == {letter for letter in letters if word[:place] + letter in prefixes}


def _rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("name", ["tomita-4", "tomita-7", "d-3", "dyck-1", "boolean-3"])
def test_words_of_a_length_are_equally_likely(name: str) -> None:
    length = {"boolean-3": 4, "tomita-7": 6, "tomita-4": 6, "d-3": 10, "dyck-1": 10}[name]
    table = machine(name, "", 12)
    sampler = WordSampler(table, 12)
    expected = [word for word in every_word(table.alphabet, length) if len(word) == length]
    expected = list(filter(ORACLES[name], expected))
    assert round(float(np.exp(sampler.log_counts[length]))) == len(expected)
    drawn = sampler.draw(_rng(), 12, np.full(200 * len(expected), length))[:, :length]
    words, counts = np.unique(drawn, axis=0, return_counts=True)
    texts = ["".join(table.alphabet[letter] for letter in word) for word in words]
    assert sorted(texts) == sorted(expected)
    chi = ((counts - 200) ** 2 / 200).sum()
    assert chi < len(expected) + 4 * (2 * len(expected)) ** 0.5


def test_long_words_are_drawn_without_underflow() -> None:
    sampler = WordSampler(machine("boolean-5", "", 1500), 1500)
    rows = sampler.draw(_rng(), 1500, np.full(5, 1500))
    assert (
        machine("boolean-5", "", 1500)
        .accepting[machine("boolean-5", "", 1500).states(rows)[:, -1]]
        .all()
    )


@pytest.mark.parametrize("name", ["[012]*02*", "(ab|aabb)*", "(aa)*", "dyck-1", "tomita-5"])
def test_membership_has_members_and_near_misses(name: str) -> None:
    one = made(name, target="membership")
    batch = one.batch("train", 0, 0, 1000)
    assert batch.legal is None
    assert one.outputs == 2
    for row, (question, answer) in enumerate(one.examples(batch)):
        word = "".join(question)
        expected = [ORACLES[name](word[:place]) for place in range(len(word) + 1)]
        assert [said == "yes" for said in answer] == expected
        assert batch.axes["member"][row] == expected[-1]
        assert one.reference(question) == answer
    assert 0.4 < batch.axes["member"].mean() < 0.9
    assert score(batch, batch.targets).all()
    tests = one.test_set("longer", 300)
    assert set(tests.axes["member"].tolist()) == {0, 1}


def test_flip_flops_have_long_gaps_after_every_letter() -> None:
    one = made("[012]*02*")
    batch = one.batch("train", 0, 0, 4000)
    words = ["".join(question) for question, _ in one.examples(batch)]
    for word, gap in zip(words, batch.axes["gap"], strict=True):
        assert max(map(len, re.findall("2*", word))) == gap
    for letter in "01":
        assert np.mean([letter + 10 * "2" in word for word in words]) > 0.08
    plain = made("[012]*02*", sampling="uniform")
    short = ["".join(question) for question, _ in plain.examples(plain.batch("train", 0, 0, 500))]
    assert "gap" not in plain.batch("train", 0, 0, 8).axes
    assert max(len(run) for word in short for run in re.findall("2*", word)) < 15
    tests = one.test_set("longest", 500)
    groups = by_axis(tests, score(tests, tests.legal), "gap")
    assert len(groups) > 40
    assert all(share.share == 1.0 for share in groups.values())


def test_longest_runs() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (200, 12))
    texts = ["".join(map(str, row)) for row in rows]
    expected = [max(map(len, text.split("0"))) for text in texts]
    assert longest_run(rows == 1).tolist() == expected


@pytest.mark.parametrize("name", ["(aa)*", "tomita-1", "anbn", "(aaaa)*", "4-count"])
def test_languages_with_few_words_are_tested_on_all_longer_ones(name: str) -> None:
    one = made(name)
    step = int(one._possible("train")[0])
    for split in ("longer", "longest"):
        low, high = one.splits[split].axes["length"]
        words = [length for length in range(low, high + 1) if length % step == 0]
        tests = one.test_set(split, 500)
        assert sorted(tests.axes["length"].tolist()) == words
        assert one.splits[split].description.endswith(f": {len(words)} words")
    trained = set(one.batch("train", 0, 0, 2000).axes["length"].tolist())
    tested = set(one.test_set("train", 500).axes["length"].tolist())
    validated = set(one.validation_set(500).axes["length"].tolist())
    assert len(trained) + len(tested) + len(validated) == len(range(step, 51, step))
    assert tested
    assert validated
    assert trained | tested | validated == set(range(step, 51, step))
    assert max(trained) == max(range(step, 51, step))
    with pytest.raises(WeftError, match="Train on another split"):
        one.batch("longer", 0, 0, 4)


def test_bins_are_disjoint_and_held_out_words_stay_apart() -> None:
    one = made("d-3")
    batch = one.batch("train", 0, 0, 4000)
    words = {question for question, _ in one.examples(batch)}
    for split in one.splits:
        tests = list(one.examples(one.test_set(split, 1000)))
        assert len({question for question, _ in tests}) == 1000
        assert not words & {question for question, _ in tests}
    again = made("d-3").batch("train", 0, 0, 4000)
    assert again.content_hash == batch.content_hash


def test_automata_of_files_and_expressions(tmp_path: Path) -> None:
    path = tmp_path / "even.json"
    table = {"even": {"go": "odd", "stay": "even"}, "odd": {"go": "even", "stay": "odd"}}
    plain = {"alphabet": ["go", "stay"], "start": "even", "accepting": ["even"]}
    path.write_text(json.dumps({**plain, "transitions": table}))
    one = made(str(path), length=6, longer=8, longest=10)
    for question, answer in one.examples(one.batch("train", 0, 0, 100)):
        assert question.count("go") % 2 == 0
        assert answer[-1] == "<end>|go|stay"
    wider = made("b*", alphabet="ab", length=6, longer=8, longest=10)
    assert wider.symbols == ("a", "b")
    assert all("a" not in question for question, _ in wider.examples(wider.test_set("longer", 9)))


def test_counters_have_depths() -> None:
    one = made("dyck-1")
    batch = one.batch("train", 0, 0, 200)
    for row, (question, _) in enumerate(one.examples(batch)):
        heights = itertools.accumulate(1 if letter == "(" else -1 for letter in question)
        assert batch.axes["depth"][row] == max(heights)
    assert all(counter.description for counter in COUNTERS.values())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"language": "tomita-44"}, "Did you mean 'tomita-4'?"),
        ({"language": "(ab"}, ") is missing"),
        ({"language": "ab"}, "no words of 51 to 100 symbols"),
        ({"language": "(=a)*"}, "which Weft uses itself"),
        ({"language": "tomita-4", "sampling": "gaps"}, "no neutral symbol"),
        ({"language": "missing.json"}, "missing.json"),
        ({"language": "(aaaa)*", "length": 3, "longer": 9, "longest": 19}, "1 to 3 symbols"),
        ({"target": "members"}, "membership"),
    ],
)
def test_mistakes_get_a_remedy(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(WeftError) as caught:
        task("formal-language", **parameters)
    assert message.lower() in str(caught.value).lower()
