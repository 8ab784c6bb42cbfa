"""Evaluate the verifier's functions on a word, one position at a time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from weft.crasp.proof.diagrams import SYMBOL, Diagrams
from weft.crasp.proof.nodes import Function, Node


def evaluate(
    diagrams: Diagrams, function: Function, alphabet: Sequence[str], word: Sequence[str]
) -> list[tuple[Fraction, Fraction]]:
    """At each position the constant of the leaf that is reached, and its total."""
    places = {symbol: place for place, symbol in enumerate(alphabet)}

    @cache
    def total(number: int, i: int) -> Fraction:
        here = diagrams_by_number[number]
        value, inner = at(here, i)
        assert inner == 0
        return value + (total(number, i - 1) if i else 0)

    diagrams_by_number = {f.number: f for f in diagrams._functions.values()}

    def at(here: Function, i: int) -> tuple[Fraction, Fraction]:
        item = diagrams.items[int(here.roots[i])]
        while isinstance(item, Node):
            quantity, offset, level = item.test
            j = i - offset
            if quantity == SYMBOL:
                assert j >= 1
                value = Fraction(places[word[j - 1]])
            else:
                tested = diagrams.quantities[quantity]
                assert tested is not None
                value = total(tested.function.number, j)
                assert tested.low[j] <= value <= tested.high[j]
            item = diagrams.items[item.high if value >= level else item.low]
        return item.constant, Fraction(0) if item.total is None else total(item.total.number, i)

    return [at(function, i) for i in range(len(word) + 1)]
