"""Compare the interpreters and the weights of a C-RASP program on words.

Every line is compared at every position: on all short words, and on random ones up to a length.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from weft.crasp.batched import BatchRun, run_batch
from weft.crasp.construction import CompiledCrasp
from weft.crasp.reference import run
from weft.models.slots import counted

SHORT = 300
"""How many of the shortest words are compared."""
REFERENCE = 60
"""On how many words the reference interpreter, which is slow, is compared too."""
REFERENCE_LENGTH = 12
BATCH_TOKENS = 8192
"""Words are run in batches of about this many tokens."""

Word = tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The first position of the shortest word at which a line differs.

    Attributes:
        word: the word.
        line: the line.
        position: from 0, the begin symbol.
        expected: the value that the reference gives it.
        found: the value that it has.
        source: where it was found: in the weights, or in the batched interpreter.
    """

    word: Word
    line: str
    position: int
    expected: Any
    found: Any
    source: str

    def __str__(self) -> str:
        return (
            f"{self.line} is {self.found} at position {self.position} in the {self.source}, and "
            f"should be {self.expected}"
        )


@dataclass(frozen=True)
class CraspReport:
    """The result of a check.

    Attributes:
        words: how many words were compared.
        positions: how many positions they have in total.
        longest: the length of the longest.
        difference: the first difference; None if there is none.
    """

    words: int
    positions: int
    longest: int
    difference: Difference | None


def check_crasp(
    compiled: CompiledCrasp,
    *,
    samples: int = 20,
    max_length: int | None = None,
    seed: int = 0,
    progress: Callable[[int], None] = lambda done: None,
) -> CraspReport:
    """Compare a compiled program with its interpreters, shortest words first.

    Args:
        compiled: what `compile_crasp` returned.
        samples: how many random words to draw, besides the shortest ones.
        max_length: the length of the longest; that of the model by default.
        seed: of the random words.
        progress: called with the number of words that are done.

    Example:
        >>> from weft.crasp import library
        >>> from weft.crasp.construction import compile_crasp
        >>> check_crasp(compile_crasp(library.load("dyck-1"), max_length=50)).difference is None
        True
    """
    longest = min(max_length or compiled.max_length, compiled.max_length)
    words = [*_short_words(compiled.program.alphabet, longest)]
    words += _random_words(compiled.program.alphabet, samples, longest, random.Random(seed))
    words = sorted(dict.fromkeys(words), key=len)
    done = 0
    for batch in _batches(words):
        expected = run_batch(compiled.program, batch)
        difference = _interpreters(compiled, batch, expected, max(0, REFERENCE - done))
        difference = difference or compare_weights(compiled, expected)
        done += len(batch)
        progress(done)
        if difference is not None:
            return _report(words[:done], difference)
    return _report(words, None)


def _report(words: Sequence[Word], difference: Difference | None) -> CraspReport:
    positions = sum(len(word) + 1 for word in words)
    return CraspReport(len(words), positions, max(map(len, words)), difference)


def _short_words(alphabet: Sequence[str], longest: int) -> Iterator[Word]:
    """The shortest words."""
    every = (word for length in range(longest + 1) for word in product(alphabet, repeat=length))
    return islice(every, SHORT)


def _random_words(
    alphabet: Sequence[str], samples: int, longest: int, rng: random.Random
) -> list[Word]:
    """Words of random lengths with random shares of symbols, some of them of the largest length."""
    words = []
    for number in range(samples):
        length = longest if number % 4 == 0 else rng.randint(0, longest)
        weights = [rng.random() ** 2 for _ in alphabet]
        words.append(tuple(rng.choices(alphabet, weights, k=length)))
    return words


def _batches(words: Sequence[Word]) -> Iterator[list[Word]]:
    batch: list[Word] = []
    for word in words:
        if batch and (len(batch) + 1) * (len(word) + 1) > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(word)
    if batch:
        yield batch


def _interpreters(
    compiled: CompiledCrasp, words: Sequence[Word], batched: BatchRun, count: int
) -> Difference | None:
    """The first difference between the interpreters on the first short words."""
    for number, word in enumerate(words[:count]):
        if len(word) > REFERENCE_LENGTH:
            break
        expected, found = run(compiled.program, word).values, batched[number].values
        for name, values in expected.items():
            for position, value in enumerate(values):
                if found[name][position] != value:
                    return Difference(
                        word, name, position, value, found[name][position], "batched interpreter"
                    )
    return None


@torch.inference_mode()
def compare_weights(compiled: CompiledCrasp, expected: BatchRun) -> Difference | None:
    """The first difference between the weights and the values of an interpreter.

    A Boolean must be exactly 0 or 1, a count within 1/2 of the integer.
    """
    words = [compiled.program.read_word(word) for word in expected.words]
    device = compiled.model.embedding.device
    lengths = torch.tensor([len(word) + 1 for word in words], device=device)
    stream = compiled.model(compiled.tokens(words).to(device), lengths).stream.double().cpu()
    first: tuple[tuple[int, int, int], Difference] | None = None
    for name, kind in compiled.program.kinds.items():
        slot = compiled.model.layout[name]
        held = stream[..., slot.dimensions]
        found: NDArray[np.float64] = (
            counted(held).round() if kind == "count" else held[..., 0]
        ).numpy()
        wrong = (found != expected.values[name]) & expected.mask
        for row, position in np.argwhere(wrong)[:1].tolist():
            value = expected.values[name][row, position]
            difference = Difference(
                words[row], name, position, value.item(), float(found[row, position]), "weights"
            )
            key = (len(words[row]), row, position)
            if first is None or key < first[0]:
                first = key, difference
    return None if first is None else first[1]
