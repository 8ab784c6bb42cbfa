"""Predicting accuracies on arithmetic tasks, length by length."""

from __future__ import annotations

import weft
from measure import Figure, seconds
from weft.theory.arithmetic import counting, coverage, predict_arithmetic, products

MODULI = (50, 51, 100, 101, 150, 151, 200, 201)


def figures() -> list[Figure]:
    return [
        Figure(
            "modular addition, eight moduli at lengths up to 12",
            seconds(lambda: _predict("modular-addition", 4), 3),
            "s",
            most=1,
        ),
        Figure(
            "modular multiplication, the same by counting residues",
            seconds(lambda: _predict("modular-multiplication", 3), 3),
            "s",
            most=3,
        ),
        Figure(
            f"products modulo p' = {products.LARGEST_EXACT - 1}, the limit",
            seconds(lambda: _limit(products.LARGEST_EXACT - 1), 1),
            "s",
        ),
    ]


def _predict(name: str, digits: int) -> None:
    """All of it anew: nothing is kept from the time before."""
    for cached in (counting._share, products.product_counts, coverage.numbers):
        cached.cache_clear()
    for modulus in MODULI:
        task = weft.task(name, modulus=modulus, domain=f"D{digits}", longer=12, width=12)
        assert len(predict_arithmetic(task).rows) == 12


def _limit(factor: int) -> None:
    assert products.ProductCounts(factor, 10**3).limit
