"""Linear programs on totals, against all words."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.crasp.proof.diagrams import Diagrams
from weft.crasp.proof.feasibility import Bound, never_together

COUNT = 6


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_bounds_that_are_excluded_hold_together_on_no_word(data: st.DataObject) -> None:
    make = Diagrams(COUNT, 3)
    small = st.integers(-2, 2)
    given_, weights = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        values = data.draw(st.lists(small, min_size=3, max_size=3))
        begin, bound = data.draw(small), data.draw(st.integers(-6, 6))
        is_lower = data.draw(st.booleans())
        function = make.of_symbol(begin, values)
        given_.append(Bound(function, is_lower, np.full(COUNT, float(bound))))
        weights.append((begin, values, is_lower, bound))
    excluded = never_together(make, given_, np.arange(COUNT))
    for position in range(COUNT):
        possible = any(
            all(
                (total >= bound) if is_lower else (total <= bound)
                for begin, values, is_lower, bound in weights
                for total in [begin + sum(values[symbol] for symbol in word)]
            )
            for word in itertools.product(range(3), repeat=position)
        )
        if excluded[position]:
            assert not possible


def test_a_count_is_at_most_the_number_of_positions() -> None:
    make = Diagrams(COUNT, 2)
    a, everything = make.of_symbol(0, [1, 0]), make.of_symbol(0, [1, 1])
    less = make.add(everything, make.scale(a, make.items[make.leaf(-1)].constant))  # type: ignore[union-attr]
    bounds = [Bound(less, False, np.full(COUNT, -1.0))]
    assert never_together(make, bounds, np.arange(COUNT)).all()
    at_least = [Bound(a, True, np.full(COUNT, 3.0))]
    assert never_together(make, at_least, np.arange(COUNT)).tolist() == [True] * 3 + [False] * 3
    both = [Bound(a, True, np.full(COUNT, 2.0)), Bound(less, True, np.full(COUNT, 2.0))]
    assert never_together(make, both, np.arange(COUNT)).tolist() == [True] * 4 + [False] * 2
