"""Words on which functions and programs are compared: all short ones, and random longer ones."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from weft.theory.length.word_functions import Word

BATCH = 4096
"""Words that are asked about at once."""


def longest_length(symbols: int, length: int, budget: int) -> int:
    """The longest length, up to a given one, with at most so many words in all; at least 1."""
    total, reached = 1, 0
    while reached < length and (total + symbols ** (reached + 1) <= budget or reached == 0):
        reached += 1
        total += symbols**reached
    return reached


def random_words(
    rng: random.Random, symbols: tuple[str, ...], count: int, length: int
) -> list[Word]:
    """Random words of up to a length: with equal or skewed chances of symbols, repeats, and runs.

    Runs have one length as a rule, so that counters reach values that short words do not reach.
    """
    words: list[Word] = []
    for number in range(count):
        long = rng.randint(max(1, length // 2), length)
        if number % 4 == 0:
            words.append(tuple(rng.choices(symbols, k=long)))
        elif number % 4 == 1:
            weights = [rng.random() ** 3 + 0.02 for _ in symbols]
            words.append(tuple(rng.choices(symbols, weights, k=long)))
        elif number % 4 == 2:
            block = rng.choices(symbols, k=rng.randint(1, 4))
            words.append(tuple((block * long)[:long]))
        else:
            runs = rng.randint(1, max(2, len(symbols)))
            order = rng.sample(symbols, len(symbols)) if rng.random() < 0.5 else list(symbols)
            size = max(1, long // runs)
            sizes = [size + (rng.random() < 0.2) for _ in range(runs)]
            word = [a for k, size in enumerate(sizes) for a in [order[k % len(order)]] * size]
            words.append(tuple(word[:length]))
    return words


def word_batches(words: Iterable[Word]) -> Iterator[list[Word]]:
    """Lists of at most `BATCH` words."""
    batch: list[Word] = []
    for word in words:
        batch.append(word)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
