"""Rules from plain Python: how many, and how long it takes to derive them."""

from __future__ import annotations

import paper_listings as listings
from measure import Figure, seconds


def figures() -> list[Figure]:
    addition = listings.figures_12_13().rules
    return [
        Figure(
            "addition (figures 12/13): rules derived in",
            seconds(lambda: len(listings.figures_12_13().rules)),
            "s",
            most=1,
        ),
        Figure("addition: rules (released sparse listing: 16,466)", len(addition), most=16_466),
        Figure(
            "parser (figures 16/17, 78 positions): rules derived in",
            seconds(lambda: len(listings.figures_16_17(78).rules)),
            "s",
            most=10,
        ),
        Figure("parser: rules", len(listings.figures_16_17(78).rules)),
        Figure("parser: guarded updates", len(listings.figures_16_17(78).updates)),
    ]
