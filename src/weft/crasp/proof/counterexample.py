"""Before anything is called wrong, it is run: words on which model and program may differ.

If a comparison has no margin, the first words are aimed at it: its counts are at the threshold, in
the longest words, in several orders. If it counts more than symbols, words are drawn, and those are
chosen in which it comes near its threshold late. Then come all short words, and long ones at random
and in blocks.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from weft.crasp.batched import run_batch
from weft.crasp.expressions import (
    Comparison,
    Counting,
    Exists,
    Expression,
    Integer,
    Subtract,
)
from weft.crasp.program import CraspProgram, Line
from weft.crasp.proof.diagrams import Diagrams, Quantity
from weft.errors import WeftError
from weft.models.slots import Layout
from weft.models.transformer import Transformer
from weft.proofs import Shown
from weft.proofs.rounding import Array

SHORT_WORDS = 400
"""How many short words are run."""

SECONDS = 6.0
"""After this many seconds, no more words are tried."""

PAIRS = 1 << 23
"""How many pairs of positions are run at once, if these are more than one word."""

MAX_LENGTH = 1 << 12
"""Longer words are not tried: attention takes memory with the square of the length."""

DRAWN = 200
"""How many words are drawn for a comparison of more than symbols."""

CHOSEN = 24
"""How many of them are run."""

Word = tuple[str, ...]


@dataclass(frozen=True)
class Counterexample:
    """A word on which a model was run, and what differs."""

    word: Word
    shown: Shown


@dataclass(frozen=True)
class Aim:
    """What words are aimed at: a comparison whose unit should be just below and at its level.

    Attributes:
        comparison: the comparison.
        weights: by how much each symbol raises the quantity that it tests; None if that depends on
            more than the symbols.
        level: the level of the quantity.
        position: the first position at which the comparison may fail.
    """

    comparison: Expression
    weights: tuple[int, ...] | None
    level: int
    position: int


def aim_at(
    diagrams: Diagrams, quantity: Quantity, comparison: Expression, level: int, position: int
) -> Aim:
    """How to reach a level of a quantity that a comparison tests."""
    roots = np.unique(quantity.function.roots[1:])
    weights = diagrams.values_by_symbol(int(roots[0])) if len(roots) == 1 else None
    return Aim(comparison, weights, level, position)


def find_word(
    model: Transformer, program: CraspProgram, longest: int, aim: Aim | None = None
) -> Counterexample | None:
    """A word on which model and program differ, among those that are tried.

    Args:
        model: the model.
        program: the program.
        longest: the largest number of symbols.
        aim: what to aim words at.
    """
    model.refresh()
    began = time.perf_counter()
    for batch in _batches(_words(program, min(longest, MAX_LENGTH), aim)):
        result = compare(model, program, batch)
        if result is not None or time.perf_counter() - began > SECONDS:
            return result
    return None


def _batches(words: Iterator[Word]) -> Iterator[list[Word]]:
    """Words of similar lengths, as many as fit."""
    batch: list[Word] = []
    for word in words:
        size = 1 + max(map(len, [word, *batch]))
        if batch and size**2 * (len(batch) + 1) > PAIRS:
            yield batch
            batch = []
        batch.append(word)
    if batch:
        yield batch


def compare(
    model: Transformer, program: CraspProgram, words: Sequence[Word]
) -> Counterexample | None:
    """The first of some words on which the model differs from the program.

    The model may differ in a line that the layout names, or in its outputs.
    """
    lengths = torch.tensor([len(word) + 1 for word in words])
    numbers = {symbol: number for number, symbol in enumerate(program.alphabet)}
    tokens = torch.zeros(len(words), int(lengths.max()), dtype=torch.long)
    for row, word in enumerate(words):
        tokens[row, : len(word) + 1] = torch.tensor(
            [len(program.alphabet), *(numbers[symbol] for symbol in word)]
        )
    device = model.embedding.device
    try:
        with torch.inference_mode():
            output = model(tokens.to(device), lengths.to(device))
    except (WeftError, RuntimeError, IndexError) as error:
        what = str(error).splitlines()[0]
        return Counterexample(words[0], Shown(_on(words[0]), f"an error, {what!r}", "values"))
    expected = run_batch(program, words)
    stream, logits = (part.double().cpu().numpy() for part in (output.stream, output.logits))
    places = np.arange(1, tokens.shape[1] + 1)
    wrong: list[tuple[str, Array, Array, Array]] = []
    for name, kind, held in _held(model.stream_layout, program, stream):
        wanted = np.asarray(expected.values[name], np.float64)
        if kind == "count":
            differs, held = ~(np.abs(held * places - wanted) < 0.5), held * places
        else:
            differs = held != wanted
        wrong.append((f"the line '{name}'", differs & expected.mask, held, wanted))
    for what, chosen, wanted in _outputs(program, logits, expected.values):
        wrong.append((what, (chosen != wanted) & expected.mask, chosen * 1.0, wanted * 1.0))
    for row, word in enumerate(words):
        for what, differs, held, wanted in wrong:
            if differs[row].any():
                position = int(np.argmax(differs[row]))
                place = f"position {position}" if position else "the begin symbol"
                where = f"{what} at {place} {_on(word)}"
                found, right = f"{held[row, position]:.7g}", f"{wanted[row, position]:g}"
                return Counterexample(word, Shown(where, found, right))
    return None


def _held(
    layout: Layout | None, program: CraspProgram, stream: Array
) -> Iterator[tuple[str, str, Array]]:
    """What the stream holds for each line."""
    for name, kind in program.kinds.items():
        if layout is not None and name in layout and layout[name].start < stream.shape[-1]:
            yield name, kind, stream[..., layout[name].start]


def _outputs(
    program: CraspProgram, logits: Array, lines: Mapping[str, Array]
) -> Iterator[tuple[str, Array, Array]]:
    """The decisions of the outputs, and what they should be."""
    if not program.next_symbols:
        if logits.shape[-1] == 2:
            accepted = logits.argmax(-1) == 1
            yield "acceptance", accepted, np.asarray(lines[program.accepting], bool)
        return
    if logits.shape[-1] == len(program.alphabet) + 1:
        for number, symbol in enumerate(program.alphabet):
            line = program.next_symbols.get(symbol)
            allowed = logits[..., number] > logits[..., -1]
            wanted = np.zeros_like(allowed) if line is None else np.asarray(lines[line], bool)
            yield f"the next symbol '{symbol}'", allowed, wanted


def _on(word: Word) -> str:
    """A word as a message shows it: in blocks if it is long."""
    if not word:
        return "on the empty word"
    joined = ("" if all(len(symbol) == 1 for symbol in word) else " ").join(word)
    if len(word) <= 60:
        return f"on the word '{joined}'"
    runs = [(symbol, len(list(group))) for symbol, group in itertools.groupby(word)]
    if len(runs) <= 12:
        blocks = " ".join(f"{symbol}^{count}" for symbol, count in runs)
        return f"on the word of {len(word):,} symbols {blocks}"
    return f"on the word of {len(word):,} symbols '{joined}'"


# Words


def _words(program: CraspProgram, longest: int, aim: Aim | None) -> Iterator[Word]:
    rng = random.Random(0)
    if aim is not None:
        yield from _aimed(program, longest, aim, rng)
    yield from _short(program, longest)
    yield from _long(program, longest, rng)


def _short(program: CraspProgram, longest: int) -> Iterator[Word]:
    """All short words, while they are few."""
    left = SHORT_WORDS
    for length in range(longest + 1):
        count = len(program.alphabet) ** length
        if count > left:
            return
        left -= count
        yield from itertools.product(program.alphabet, repeat=length)


def _long(program: CraspProgram, longest: int, rng: random.Random) -> Iterator[Word]:
    """Words of growing lengths: at random, with some symbols rare, in blocks, and periodic."""
    alphabet = program.alphabet
    lengths = sorted({min(longest, length) for length in (12, 30, 100, 300, longest)})
    for length in lengths:
        for _ in range(24 if length <= 100 else 4):
            shares = [rng.random() ** 3 for _ in alphabet]
            yield tuple(rng.choices(alphabet, shares, k=length))
        for first, second in itertools.permutations(alphabet[:4], 2):
            for part in (length // 2, length // 2 + 1, length // 3, length - 1, length):
                yield (first,) * part + (second,) * (length - part)
        for pattern in itertools.islice(itertools.product(alphabet, repeat=3), 27):
            yield tuple(itertools.islice(itertools.cycle(pattern), length))


def _aimed(program: CraspProgram, longest: int, aim: Aim, rng: random.Random) -> Iterator[Word]:
    """Words whose quantity is at the level, or just below it, in several orders."""
    if aim.weights is None:
        yield from _drawn_near(program, longest, aim, rng)
        return
    weights = aim.weights
    first = min(max(1, aim.position), longest)
    for length in dict.fromkeys((longest, longest - 1, (first + longest) // 2, first)):
        for target in (aim.level, aim.level - 1):
            for counts in _counts(weights, length, target):
                letters = [
                    symbol
                    for symbol, count in zip(program.alphabet, counts, strict=True)
                    for _ in range(count)
                ]
                yield tuple(letters)
                yield tuple(reversed(letters))
                yield tuple(letters[0::2] + letters[1::2])
                for _ in range(2):
                    rng.shuffle(letters)
                    yield tuple(letters)


def _drawn_near(
    program: CraspProgram, longest: int, aim: Aim, rng: random.Random
) -> Iterator[Word]:
    """Of words that are drawn, those in which a comparison is near its threshold latest."""
    match aim.comparison:
        case Comparison(_, left, right):
            difference = Subtract(left, right)
        case Exists(body, local):
            difference = Subtract(Counting(body, local), Integer(1))
        case _:
            return
    name = "difference"
    while name in program.kinds:
        name += "_"
    extended = replace(program, lines=(*program.lines, Line(name, difference)))
    words = [*_long(program, longest, rng)]
    for _ in range(DRAWN):
        parts = [rng.choice(program.alphabet) for _ in range(rng.randint(2, 5))]
        cuts = sorted(rng.randint(0, longest) for _ in parts[1:])
        lengths = np.diff([0, *cuts, longest]).tolist()
        words.append(tuple(s for part, n in zip(parts, lengths, strict=True) for s in [part] * n))
    words = [word for word in words if len(word) == longest]
    near = np.abs(np.asarray(run_batch(extended, words).values[name], np.int64)) <= 1
    latest = np.where(near, np.arange(near.shape[1]), 0).max(1)
    for number in np.argsort(-latest, kind="stable")[:CHOSEN].tolist():
        if latest[number] >= aim.position:
            yield words[number]


def _counts(weights: Sequence[int], length: int, target: int) -> Iterator[list[int]]:
    """How often each symbol may occur in a word of a length, so that the weights add up."""
    for first, second in itertools.combinations(range(len(weights)), 2):
        # x of the first and length - x of the second: x (w - v) = target - length v
        difference = weights[first] - weights[second]
        rest = target - length * weights[second]
        if difference and rest % difference == 0 and 0 <= rest // difference <= length:
            counts = [0] * len(weights)
            counts[first] = rest // difference
            counts[second] = length - counts[first]
            yield counts
