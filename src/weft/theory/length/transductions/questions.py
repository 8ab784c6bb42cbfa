"""What a task asks, and all of its inputs of a length.

An algorithmic task asks at the mark and at every symbol of the answer: which symbol comes next, or
is the answer complete? `formal-language` asks at every prefix of a word: which symbols may come
next, and is this a word; or, as membership, is this a word? A program answers by its lines
`NEXT_a` and, for words, by its last Boolean line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from weft.tasks import Task
from weft.tasks.algorithmic import InterleavedMajority
from weft.tasks.algorithmic.rewriting import FILLER, DistinctTask, UniqueCopy
from weft.tasks.formal import FormalLanguage
from weft.theory.length.word_functions import Word

END = "<end>"


@dataclass(frozen=True)
class Prompt:
    """A word, and what is asked along it.

    Attributes:
        word: in the symbols of the program.
        asked: by position, from 0 for the begin symbol on: the symbols that may come next, with
            `<end>` if the word may end here. Positions that are not asked about are missing.
        length: of the input, without mark and answer.
    """

    word: Word
    asked: Mapping[int, frozenset[str]]
    length: int


def input_prompt(
    task: Task, symbols: Sequence[str], names: Mapping[str, str], mark: str = "|"
) -> Prompt:
    """An input with its mark and answer, and what comes next at each symbol of the answer.

    Args:
        task: whose own answer is asked for.
        symbols: of the input, as the task calls them.
        names: what the program calls the symbols of the task.
        mark: what the program calls the mark.
    """
    given = [names[a] for a in symbols]
    answer = [names[a] for a in task.reference(("<start>", *symbols))]
    after = [frozenset({a}) for a in answer] + [frozenset({END})]
    asked = {len(given) + 1 + place: allowed for place, allowed in enumerate(after)}
    return Prompt((*given, mark, *answer), asked, len(given))


def word_prompt(task: FormalLanguage, word: Word) -> Prompt:
    """A word of a formal language, and what is asked at each prefix."""
    answers = task.reference(word)
    if task.target == "membership":
        allowed = [frozenset({END} if answer == "yes" else ()) for answer in answers]
    else:
        allowed = [frozenset(answer.split("|")) - {""} for answer in answers]
    return Prompt(word, dict(enumerate(allowed)), len(word))


# All inputs of a length


def all_inputs(task: Task, symbols: Sequence[str], length: int) -> Iterator[Word]:
    """All inputs of a task of a length, made of some of its symbols.

    Inputs that the task excludes, such as ties, are left out.
    """
    if isinstance(task, DistinctTask):
        yield from _distinct_inputs(task, symbols, length)
        return
    strings = task.strings if isinstance(task, InterleavedMajority) else 1
    if length and length % strings == 0:
        for word in product(symbols, repeat=length):
            if all(_has_winner(word[first::strings]) for first in range(strings)):
                yield word


def _has_winner(word: Word) -> bool:
    """Whether one symbol is more frequent than every other."""
    (_, first), (_, second) = [*Counter(word).most_common(2), ("", 0)][:2]
    return first > second


def _distinct_inputs(task: DistinctTask, symbols: Sequence[str], length: int) -> Iterator[Word]:
    fillers, step = 0, 1
    if isinstance(task, UniqueCopy):
        fillers, step = task.stride - 1, task.stride
    free = length - fillers
    if free > 0 and free % step == 0:
        for word in permutations(symbols, free):
            yield (FILLER,) * fillers + word


def prefixes_by_length(task: FormalLanguage, longest: int) -> Iterator[list[Word]]:
    """By length, the strings that the task can ask about: prefixes of words, or all strings."""
    level: list[Word] = [()]
    for _ in range(longest + 1):
        yield level
        level = [(*word, a) for word in level for a in _following(task, word)]


def _following(task: FormalLanguage, word: Word) -> list[str]:
    if task.target == "membership":
        return list(task.symbols)
    return [a for a in task.reference(word)[-1].split("|") if a not in ("", END)]
