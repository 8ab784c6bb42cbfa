"""Transduction: the answer to an input, one symbol at a time.

A sequence is the input, the separator `|` and the answer. At the separator and at every symbol of
the answer, the line `NEXT_a` of the symbol that comes next holds, and no other; if none holds, the
answer is complete. Before the separator these lines mean nothing.
"""

from __future__ import annotations

from string import ascii_lowercase

from weft.crasp.expressions import Constant, Expression, Name
from weft.crasp.library.catalogue import check_range, library_program
from weft.crasp.library.notation import (
    compare,
    count,
    every,
    exists,
    modulo,
    negation,
    previous,
    program,
    q,
    some,
)
from weft.crasp.program import NEXT, CraspProgram

SEPARATOR = "|"
FIRST = negation(previous(Constant(True)))
"""This is the first position (or the begin symbol)."""


@library_program("majority-bit", "the more frequent of two bits", "0110101|")
def majority_bit() -> CraspProgram:
    """At the separator, compare the counts of 0s and 1s."""
    return _most_frequent(["0", "1"])


@library_program("most-frequent", "the most frequent letter", "abacba|")
def most_frequent(letters: int = 3) -> CraspProgram:
    """At the separator, compare each letter's count with that of every other."""
    return _most_frequent(_letters(letters))


def _most_frequent(symbols: list[str]) -> CraspProgram:
    lines = {
        NEXT + symbol: every(
            q(SEPARATOR),
            *(compare(count(other), "<", count(symbol)) for other in symbols if other != symbol),
        )
        for symbol in symbols
    }
    return program([*symbols, SEPARATOR], **lines)


@library_program(
    "interleaved-majority", "the majority of every third bit, for each remainder", "110100101|"
)
def interleaved_majority(strings: int = 3) -> CraspProgram:
    """Count the bits of each string by the remainder of their positions.

    Several bit strings are interleaved, one bit of each in turn; the answer is the more frequent
    bit of each. How far back the separator is says which string is next.
    """
    check_range("strings", strings, 1, 100)
    lines: dict[str, Expression] = {"answering": exists(q(SEPARATOR))}
    inside = negation(Name("answering"))
    turns = []
    for number in range(strings):
        position = modulo(strings, (number + 1) % strings)
        zeros, ones = (count(every(q(bit), position, inside)) for bit in "01")
        lines[f"zeros_{number + 1}"], lines[f"ones_{number + 1}"] = zeros, ones
        turns.append(compare(count(SEPARATOR, number), ">=", 1))

    def wins(winner: str, loser: str) -> Expression:
        return some(
            *(
                every(turn, compare(Name(f"{loser}_{number}"), "<", Name(f"{winner}_{number}")))
                for number, turn in enumerate(turns, 1)
            )
        )

    lines |= {NEXT + "0": wins("zeros", "ones"), NEXT + "1": wins("ones", "zeros")}
    return program(["0", "1", SEPARATOR], **lines)


@library_program("unique-copy", "a word of distinct letters, copied", "cabd|")
def unique_copy(letters: int = 4) -> CraspProgram:
    """An induction head: what follows this letter in the input comes next.

    Letters of the input are distinct. After the separator comes the letter at the first position.
    """
    symbols = _letters(letters)
    lines = {f"after_{first}": previous(q(first)) for first in symbols}
    for first in symbols:
        for second in symbols:
            if first != second:
                body = every(q(second), Name(f"after_{first}"))
                lines[f"pair_{first}{second}"] = exists(body)
    for symbol in symbols:
        starts = every(q(SEPARATOR), exists(every(q(symbol), FIRST)))
        follows = [
            every(q(first), Name(f"pair_{first}{symbol}")) for first in symbols if first != symbol
        ]
        lines[NEXT + symbol] = some(starts, *follows)
    return program([*symbols, SEPARATOR], **lines)


@library_program("unique-reverse", "a word of distinct letters, reversed", "cabd|")
def unique_reverse(letters: int = 4) -> CraspProgram:
    """What stands before this letter in the input comes next.

    Letters of the input are distinct. After the separator comes the letter before it. Pairs are
    looked for in the input only: in the answer they stand the other way round.
    """
    symbols = _letters(letters)
    lines: dict[str, Expression] = {"answering": exists(q(SEPARATOR))}
    inside = negation(Name("answering"))
    for first in symbols:
        for second in symbols:
            if first != second:
                body = every(q(second), previous(q(first)), inside)
                lines[f"pair_{first}{second}"] = exists(body)
    for symbol in symbols:
        starts = every(q(SEPARATOR), previous(q(symbol)))
        follows = [
            every(q(second), Name(f"pair_{symbol}{second}"))
            for second in symbols
            if second != symbol
        ]
        lines[NEXT + symbol] = some(starts, *follows)
    return program([*symbols, SEPARATOR], **lines)


@library_program("sort", "distinct letters, in alphabetical order", "cab|")
def sort(letters: int = 4) -> CraspProgram:
    """The next letter is the smallest of the input that is larger than this one.

    Letters of the input are distinct.
    """
    symbols = _letters(letters)
    lines: dict[str, Expression] = {"reading": compare(count(SEPARATOR), "==", 0)}
    for symbol in symbols:
        lines[f"in_{symbol}"] = exists(every(q(symbol), Name("reading")))
    for place, symbol in enumerate(symbols):
        after: list[Expression] = []
        for start, current in enumerate([SEPARATOR, *symbols[:place]]):
            absent = [negation(Name(f"in_{between}")) for between in symbols[start:place]]
            after.append(every(q(current), *absent))
        lines[NEXT + symbol] = every(Name(f"in_{symbol}"), some(*after))
    return program([*symbols, SEPARATOR], **lines)


@library_program("first-occurrence", "the letter after the query's first occurrence", "cabcab|a")
def first_occurrence(letters: int = 3) -> CraspProgram:
    """Mark where each letter occurs first; what follows there answers the query.

    The input is a word, the separator and one letter, the query. The answer is the letter that
    follows the query's first occurrence in the word, and nothing if there is none.
    """
    symbols = _letters(letters)
    lines: dict[str, Expression] = {
        f"first_{symbol}": every(q(symbol), compare(count(symbol), "==", 1)) for symbol in symbols
    }
    for first in symbols:
        for second in symbols:
            body = every(q(second), previous(Name(f"first_{first}")))
            lines[f"pair_{first}{second}"] = exists(body)
    lines["query"] = previous(q(SEPARATOR))
    for symbol in symbols:
        follows = [every(q(first), Name(f"pair_{first}{symbol}")) for first in symbols]
        lines[NEXT + symbol] = every(Name("query"), some(*follows))
    return program([*symbols, SEPARATOR], **lines)


def _letters(letters: int) -> list[str]:
    check_range("letters", letters, 2, len(ascii_lowercase))
    return list(ascii_lowercase[:letters])
