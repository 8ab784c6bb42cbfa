"""Transduction: the answer to an input, one symbol at a time.

A sequence is the input, the separator `|` and the answer. At the separator and at every symbol of
the answer, the line `NEXT_a` of the symbol that comes next holds, and no other; if none holds, the
answer is complete. In the input these lines mean nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from string import ascii_lowercase

from weft.crasp.library.catalogue import check_range, library_program
from weft.crasp.program import CraspProgram
from weft.crasp.syntax.builder import (
    Boolean,
    CraspBuilder,
    all_of,
    any_of,
    count,
    exists,
    mod,
    previous,
    symbol,
)

SEPARATOR = "|"
BITS = "01"
BAR = symbol(SEPARATOR)
FIRST = ~previous(True)
"""Whether this is the first position."""


# Inputs that leave room for the answer within a length


def draw_bits(rng: Random, length: int) -> list[str]:
    """Bits without a tie."""
    return [*_untied(rng, BITS, length - 2), SEPARATOR]


def draw_letters(rng: Random, length: int, letters: int) -> list[str]:
    """Letters of which one is the most frequent."""
    return [*_untied(rng, ascii_lowercase[:letters], length - 2), SEPARATOR]


def draw_interleaved(rng: Random, length: int, strings: int) -> list[str]:
    """Interleaved strings of bits, each without a tie."""
    each = rng.randint(1, max(1, (length - 1 - strings) // strings))
    parts = [_untied(rng, BITS, each, exact=True) for _ in range(strings)]
    return [*(bit for bits in zip(*parts, strict=True) for bit in bits), SEPARATOR]


def draw_distinct(rng: Random, length: int, letters: int) -> list[str]:
    """Distinct letters, so few that there is room for the answer."""
    number = rng.randint(0, min(letters, max(0, (length - 1) // 2)))
    return [*rng.sample(ascii_lowercase[:letters], number), SEPARATOR]


def draw_pairs(rng: Random, length: int, letters: int) -> list[str]:
    """Letters of which no pair of neighbours occurs twice."""
    word, pairs = list[str](), set[str]()
    for _ in range(rng.randint(0, max(0, (length - 1) // 2))):
        before = word[-1] if word else ""
        free = [letter for letter in ascii_lowercase[:letters] if before + letter not in pairs]
        if not free:
            break
        word.append(rng.choice(free))
        pairs.add(before + word[-1])
    return [*word, SEPARATOR]


def draw_query(rng: Random, length: int, letters: int) -> list[str]:
    """A word and a letter to look up."""
    word = rng.choices(ascii_lowercase[:letters], k=max(0, length - 3))
    return [*word, SEPARATOR, rng.choice(word or ascii_lowercase[:letters])]


def _untied(rng: Random, symbols: str, length: int, *, exact: bool = False) -> list[str]:
    """Random symbols of which one is the most frequent."""
    size = max(1, length)
    while True:
        word = rng.choices(symbols, k=size if exact else rng.randint(1, size))
        (_, first), (_, second) = [*Counter(word).most_common(2), ("", 0)][:2]
        if first > second:
            return word


# Programs


@library_program("majority-bit", "the more frequent of two bits", "0110101|", draw_bits)
def majority_bit() -> CraspProgram:
    """At the separator, compare the counts of 0s and 1s."""
    return _most_frequent(BITS)


@library_program("most-frequent", "the most frequent letter", "abacba|", draw_letters)
def most_frequent(letters: int = 3) -> CraspProgram:
    """At the separator, compare each letter's count with that of every other."""
    return _most_frequent(_letters(letters))


def _most_frequent(symbols: str) -> CraspProgram:
    program = CraspBuilder(symbols + SEPARATOR)
    for winner in symbols:
        others = [other for other in symbols if other != winner]
        wins = [count(symbol(other)) < count(symbol(winner)) for other in others]
        program.allow(winner, all_of([BAR, *wins]))
    return program.build()


@library_program(
    "interleaved-majority",
    "the more frequent bit of each of several interleaved strings",
    "110100101|",
    draw_interleaved,
)
def interleaved_majority(strings: int = 3) -> CraspProgram:
    """Count the bits of each string by the remainder of their positions.

    Several bit strings are interleaved, one bit of each in turn; the answer is the more frequent
    bit of each. How far back the separator is says which string is next.
    """
    check_range("strings", strings, 1, 100)
    program = CraspBuilder(BITS + SEPARATOR)
    zero, one, _ = program.symbols
    program.answering = exists(BAR)
    zeros, ones = [], []
    for number in range(1, strings + 1):
        counted = mod(strings, number % strings) & ~program.answering
        zeros.append(program.define(f"zeros_{number}", count(zero & counted)))
        ones.append(program.define(f"ones_{number}", count(one & counted)))
    turns = [count(BAR, offsets=back) >= 1 for back in range(strings)]
    rounds = list(zip(turns, zeros, ones, strict=True))
    program.allow("0", any_of(turn & (fewer > more) for turn, fewer, more in rounds))
    program.allow("1", any_of(turn & (fewer < more) for turn, fewer, more in rounds))
    return program.build()


@library_program("unique-copy", "a word of distinct letters, copied", "cabd|", draw_distinct)
def unique_copy(letters: int = 4) -> CraspProgram:
    """An induction head: what follows this letter in the input comes next.

    Letters of the input are distinct. After the separator comes the letter at the first position.
    """
    symbols = _letters(letters)
    program = CraspBuilder(symbols + SEPARATOR)
    after = {a: program.define(f"after_{a}", previous(symbol(a))) for a in symbols}
    pairs = {
        a + b: program.define(f"pair_{a}{b}", exists(symbol(b) & after[a]))
        for a in symbols
        for b in symbols
        if a != b
    }
    for b in symbols:
        starts = BAR & exists(symbol(b) & FIRST)
        follows = [symbol(a) & pairs[a + b] for a in symbols if a != b]
        program.allow(b, any_of([starts, *follows]))
    return program.build()


@library_program("bigram-copy", "a word of distinct pairs of letters, copied", "aabac|", draw_pairs)
def bigram_copy(letters: int = 3) -> CraspProgram:
    """What follows this letter and the one before it in the input comes next.

    No pair of neighbouring letters occurs twice in the input. The first two letters of the answer
    are those at the first two positions.
    """
    symbols = _letters(letters)
    program = CraspBuilder(symbols + SEPARATOR)
    pairs = {
        a + b: program.define(f"pair_{a}{b}", symbol(b) & previous(symbol(a)))
        for a in symbols
        for b in symbols
    }
    for c in symbols:
        options = [BAR & exists(symbol(c) & FIRST)]
        for b in symbols:
            second = exists(symbol(c) & previous(symbol(b) & FIRST))
            options.append(symbol(b) & previous(BAR) & second)
        options += [pair & exists(symbol(c) & previous(pair)) for pair in pairs.values()]
        program.allow(c, any_of(options))
    return program.build()


@library_program("unique-reverse", "a word of distinct letters, reversed", "cabd|", draw_distinct)
def unique_reverse(letters: int = 4) -> CraspProgram:
    """What stands before this letter in the input comes next.

    Letters of the input are distinct. After the separator comes the letter before it. Pairs are
    looked for in the input only: in the answer they stand the other way round.
    """
    symbols = _letters(letters)
    program = CraspBuilder(symbols + SEPARATOR)
    program.answering = exists(BAR)
    pairs = {
        a + b: program.define(
            f"pair_{a}{b}", exists(symbol(b) & previous(symbol(a)) & ~program.answering)
        )
        for a in symbols
        for b in symbols
        if a != b
    }
    for a in symbols:
        starts = BAR & previous(symbol(a))
        follows = [symbol(b) & pairs[a + b] for b in symbols if b != a]
        program.allow(a, any_of([starts, *follows]))
    return program.build()


@library_program("sort", "distinct letters, in alphabetical order", "cab|", draw_distinct)
def sort(letters: int = 4) -> CraspProgram:
    """The next letter is the smallest of the input that is larger than this one.

    Letters of the input are distinct.
    """
    symbols = _letters(letters)
    program = CraspBuilder(symbols + SEPARATOR)
    program.reading = count(BAR) == 0
    inside = [
        program.define(f"in_{letter}", exists(symbol(letter) & program.reading))
        for letter in symbols
    ]
    for place, letter in enumerate(symbols):
        smaller = [SEPARATOR, *symbols[:place]]
        between = [_none(inside[start:place]) for start in range(len(smaller))]
        before = [
            all_of([symbol(current), *absent])
            for current, absent in zip(smaller, between, strict=True)
        ]
        program.allow(letter, all_of([inside[place], ~program.reading, any_of(before)]))
    return program.build()


@library_program(
    "first-occurrence", "the letter after the query's first occurrence", "cabcab|a", draw_query
)
def first_occurrence(letters: int = 3) -> CraspProgram:
    """Mark where each letter occurs first; what follows there answers the query.

    The input is a word, the separator and one letter, the query. The answer is the letter that
    follows the query's first occurrence in the word, and nothing if there is none.
    """
    symbols = _letters(letters)
    program = CraspBuilder(symbols + SEPARATOR)
    first = {a: program.define(f"first_{a}", symbol(a) & (count(symbol(a)) == 1)) for a in symbols}
    pairs = {
        a + b: program.define(f"pair_{a}{b}", exists(symbol(b) & previous(first[a])))
        for a in symbols
        for b in symbols
    }
    program.query = previous(BAR)
    for b in symbols:
        program.allow(b, program.query & any_of(symbol(a) & pairs[a + b] for a in symbols))
    return program.build()


def _letters(letters: int) -> str:
    check_range("letters", letters, 2, len(ascii_lowercase))
    return ascii_lowercase[:letters]


def _none(booleans: Sequence[Boolean]) -> list[Boolean]:
    return [~each for each in booleans]
