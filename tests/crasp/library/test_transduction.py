"""Transduction programs against plain solvers of their tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise, permutations, product
from random import Random
from string import ascii_lowercase

import pytest

from weft.crasp import library, run
from weft.crasp.batched import run_batch
from weft.crasp.program import CraspProgram


@dataclass(frozen=True)
class Task:
    """A task: its inputs with their separators, and the answer to each."""

    name: str
    inputs: Callable[[], Iterable[str]]
    random_input: Callable[[Random], str]
    answer: Callable[[str], str]
    parameters: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *map(str, self.parameters.values())])

    @property
    def program(self) -> CraspProgram:
        return library.load(self.name, **self.parameters)


def words(letters: str, longest: int) -> Iterator[str]:
    for length in range(longest + 1):
        yield from ("".join(word) for word in product(letters, repeat=length))


def untied(inputs: Iterable[str]) -> Iterator[str]:
    """Inputs whose most frequent symbol is unique."""
    for word in inputs:
        top = Counter(word).most_common(2)
        if top and (len(top) == 1 or top[0][1] > top[1][1]):
            yield word + "|"


def random_untied(rng: Random, letters: str) -> str:
    while True:
        for word in untied(["".join(rng.choices(letters, k=rng.randint(1, 199)))]):
            return word


def distinct(letters: str) -> Iterator[str]:
    for length in range(len(letters) + 1):
        yield from ("".join(word) + "|" for word in permutations(letters, length))


def random_distinct(rng: Random, letters: str) -> str:
    return "".join(rng.sample(letters, rng.randint(0, len(letters)))) + "|"


def distinct_pairs(inputs: Iterable[str]) -> Iterator[str]:
    """Inputs in which no two neighbouring letters stand side by side twice."""
    for word in inputs:
        pairs = list(pairwise(word))
        if len(set(pairs)) == len(pairs):
            yield word + "|"


def random_pairs(rng: Random, letters: str) -> str:
    while True:
        for word in distinct_pairs(["".join(rng.choices(letters, k=rng.randint(0, 9)))]):
            return word


def interleaving(rng: Random, strings: int, length: int) -> str:
    parts = []
    while len(parts) < strings:
        part = "".join(rng.choices("01", k=length))
        if 2 * part.count("1") != length:
            parts.append(part)
    return "".join(map("".join, zip(*parts, strict=True))) + "|"


def all_interleavings(strings: int, longest: int) -> Iterator[str]:
    for length in range(1, longest + 1):
        odd = ["".join(bits) for bits in product("01", repeat=length)]
        odd = [part for part in odd if 2 * part.count("1") != length]
        for parts in product(odd, repeat=strings):
            yield "".join(map("".join, zip(*parts, strict=True))) + "|"


def majorities(strings: int, text: str) -> str:
    bits = [int(bit) for bit in text[:-1]]
    return "".join(
        str(int(sum(bits[place::strings]) > len(bits) / strings / 2)) for place in range(strings)
    )


def after_first(text: str) -> str:
    word, query = text.split("|")
    return word.partition(query)[2][:1]


TASKS = [
    Task(
        "majority-bit",
        lambda: untied(words("01", 9)),
        lambda rng: random_untied(rng, "01"),
        lambda text: str(int(text.count("1") > text.count("0"))),
    ),
    *(
        Task(
            "most-frequent",
            lambda letters=letters, longest=longest: untied(words(letters, longest)),
            lambda rng, letters=letters: random_untied(rng, letters),
            lambda text: Counter(text).most_common(1)[0][0],
            {"letters": len(letters)},
        )
        for letters, longest in (("abc", 6), ("ab", 8), ("abcde", 4))
    ),
    *(
        Task(
            "interleaved-majority",
            lambda strings=strings, longest=longest: all_interleavings(strings, longest),
            lambda rng, strings=strings: interleaving(rng, strings, rng.randint(1, 190 // strings)),
            lambda text, strings=strings: majorities(strings, text),
            {"strings": strings},
        )
        for strings, longest in ((3, 4), (1, 7), (2, 5), (4, 3))
    ),
    *(
        Task(
            name,
            lambda letters=letters: distinct(letters),
            lambda rng, letters=letters: random_distinct(rng, letters),
            answer,
            {"letters": len(letters)},
        )
        for name, answer in (
            ("unique-copy", lambda text: text[:-1]),
            ("unique-reverse", lambda text: text[-2::-1]),
            ("sort", lambda text: "".join(sorted(text[:-1]))),
        )
        for letters in ("abcd", "ab", "abcdef")
    ),
    *(
        Task(
            "bigram-copy",
            lambda letters=letters, longest=longest: distinct_pairs(words(letters, longest)),
            lambda rng, letters=letters: random_pairs(rng, letters),
            lambda text: text[:-1],
            {"letters": len(letters)},
        )
        for letters, longest in (("abc", 6), ("ab", 5))
    ),
    *(
        Task(
            "first-occurrence",
            lambda letters=letters, longest=longest: (
                f"{word}|{query}" for word in words(letters, longest) for query in letters
            ),
            lambda rng, letters=letters: (
                "".join(rng.choices(letters, k=rng.randint(0, 195))) + "|" + rng.choice(letters)
            ),
            after_first,
            {"letters": len(letters)},
        )
        for letters, longest in (("abc", 6), ("ab", 8), ("abcd", 4))
    ),
]


def check(task: Task, inputs: Iterable[str]) -> None:
    """The one right symbol may come next at each position of the answer, none at its end."""
    program = task.program
    pairs = [(text, task.answer(text)) for text in inputs]
    lines = run_batch(program, [text + answer for text, answer in pairs]).values
    allowed = {symbol: lines[name] for symbol, name in program.next_symbols.items()}
    for row, (text, answer) in enumerate(pairs):
        for place in range(len(answer) + 1):
            found = {symbol for symbol, may in allowed.items() if may[row, len(text) + place]}
            assert found == set(answer[place : place + 1]), text + answer[:place]


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_all_short_inputs(task: Task) -> None:
    check(task, task.inputs())


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_long_inputs(task: Task) -> None:
    rng = Random(task.name)
    check(task, [task.random_input(rng) for _ in range(20)])


@pytest.mark.parametrize("name", ["unique-copy", "unique-reverse", "sort"])
def test_many_letters(name: str) -> None:
    (task,) = (task for task in TASKS if task.name == name and task.parameters["letters"] == 4)
    rng = Random(0)
    large = Task(name, task.inputs, task.random_input, task.answer, {"letters": 12})
    check(large, [random_distinct(rng, ascii_lowercase[:12]) for _ in range(30)])


@pytest.mark.parametrize("name", sorted({task.name for task in TASKS}))
def test_example(name: str) -> None:
    """The reference interpreter writes the answer to the example, symbol by symbol."""
    (task,) = {task.name: task for task in reversed(TASKS) if task.name == name}.values()
    program, example = library.load(name), library.entry(name).example
    text = example
    for _ in range(len(example)):
        lines = run(program, text).values
        text += "".join(s for s, line in program.next_symbols.items() if lines[line][-1])
    assert text == example + task.answer(example)
