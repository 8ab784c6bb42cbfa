"""Binary numbers as rows of constructors, drawn and incremented for whole batches at a time.

A number is `01`, which is 1, `XO b`, which is 2b, or `X1 b`, which is 2b + 1; a row holds its
constructors, outermost first. The successor recurses on X1 alone:

    s(01) = XO 01        s(XO b) = X1 b        s(X1 b) = XO s(b)

so its recursion depth on a number is the number of X1 that it begins with. Of the numbers of L
constructors, 2^(L-2-d) have depth d <= L - 2, and one, X1 .. X1 01, has depth L - 1: the carry runs
through all of it, and the result has one more constructor. (Length, depth) is called a cell here.

The letters of shapes: b numbers, l positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.tasks.arrays import Ints, turned, within

ONE, XO, X1, CALL, EXTRA = range(4, 9)
"""The tokens of the three constructors, that of a call, and one that only some parts need."""
Floats = NDArray[np.float64]


def members(longest: int) -> Ints:
    """How many numbers each cell has, by length and depth, up to a length; at most 2^62.

    Example:
        >>> members(4)[4].tolist()
        [4, 2, 1, 1, 0]
    """
    lengths, depths = np.indices((longest + 1, longest + 1))
    counts = 2.0 ** np.clip(lengths - 2 - depths, 0, 62)
    inside = (depths <= lengths - 2) | (depths == lengths - 1)
    return np.where(inside, counts, 0).astype(np.int64)


def uniform_depths(longest: int) -> Floats:
    """The probability of each depth among all numbers of a length (length, depth).

    Example:
        >>> uniform_depths(4)[4].tolist()
        [0.5, 0.25, 0.125, 0.125, 0.0]
    """
    lengths, depths = np.indices((longest + 1, longest + 1))
    shares = 0.5 ** np.where(depths == lengths - 1, depths, depths + 1)
    return np.where(depths <= lengths - 1, shares, 0.0)


def drawn_cells(rng: np.random.Generator, shares: Floats, size: int) -> tuple[Ints, Ints]:
    """Lengths and depths of `size` numbers (b each), by the share of each cell."""
    bounds = np.cumsum(shares.ravel())
    cells = np.searchsorted(bounds, rng.random(size) * bounds[-1], side="right")
    lengths, depths = np.divmod(np.minimum(cells, len(bounds) - 1), shares.shape[1])
    return lengths, depths


def drawn_numbers(rng: np.random.Generator, lengths: Ints, depths: Ints, width: int) -> Ints:
    """Numbers of these lengths and depths (b l), uniform among those of their cell."""
    places = np.arange(width)
    drawn = rng.integers(XO, X1, (len(lengths), width), endpoint=True)
    drawn[places < depths[:, None]] = X1
    drawn[places == depths[:, None]] = XO
    drawn[places == lengths[:, None] - 1] = ONE
    return np.where(places < lengths[:, None], drawn, 0)


def drawn_decoys(
    rng: np.random.Generator, lengths: Ints, width: int, *, run: int, depth: int
) -> Ints:
    """Numbers with a run of at least `run` times X1 that the carry does not reach (b l).

    Each begins with at most `depth` times X1 and then XO. The run may start at any place behind.
    Lengths must be at least `run` + 2.
    """
    depths = rng.integers(0, np.minimum(depth, lengths - 2 - run), endpoint=True)
    room = lengths - 2 - depths  # between the first XO and 01
    runs = rng.integers(run, room, endpoint=True)
    starts = depths + 1 + rng.integers(0, room - runs, endpoint=True)
    places = np.arange(width)
    numbers = drawn_numbers(rng, lengths, depths, width)
    inside = (starts[:, None] <= places) & (places < (starts + runs)[:, None])
    return np.where(inside, X1, numbers)


def depth_of(numbers: Ints) -> Ints:
    """The recursion depth of the successor: how many X1 each number begins with (b)."""
    depths: Ints = np.argmax(numbers != X1, axis=1)
    return depths


def longest_run(numbers: Ints) -> Ints:
    """The length of the longest run of X1 in each number, wherever it is (b)."""
    places = np.arange(1, numbers.shape[1] + 1)
    last = np.maximum.accumulate(np.where(numbers != X1, places, 0), axis=1)
    runs: Ints = (places - last).max(axis=1)
    return runs


def reduct(numbers: Ints, lengths: Ints, steps: Ints) -> tuple[Ints, Ints]:
    """The terms after some steps of the successor of numbers (b l+1), and their lengths.

    After no step, a term is the call and the number; after as many as the depth, and one more, it
    is the result. Further steps change nothing.
    """
    depths = depth_of(numbers)
    size, width = numbers.shape
    ended = steps > depths
    padded = np.concatenate([numbers, np.zeros((size, 1), dtype=np.int64)], axis=1)
    behind = np.concatenate([np.zeros((size, 1), dtype=np.int64), numbers], axis=1)
    places = np.arange(width + 1)
    calls = np.where(places < steps[:, None], XO, behind)
    calls[places == steps[:, None]] = CALL
    last = numbers[np.arange(size), depths] == ONE
    results = np.where(places < depths[:, None], XO, padded)
    at = places == depths[:, None]
    results[at] = np.where(last, XO, X1)
    results[(places == depths[:, None] + 1) & last[:, None]] = ONE
    terms = np.where(ended[:, None], results, calls)
    return terms, np.where(ended, lengths + last, lengths + 1)


def traces(numbers: Ints, lengths: Ints, width: int, *, natural: bool) -> tuple[Ints, Ints]:
    """All reducts of the successor of numbers, with a mark (`EXTRA`) between two of them.

    The last one is the result.

    Args:
        numbers: b l.
        lengths: b.
        width: of the rows that are returned.
        natural: whether every term is written from the back.
    """
    depths = depth_of(numbers)
    rows = np.zeros((len(numbers), width + 1), dtype=np.int64)
    ends = np.zeros(len(numbers), dtype=np.int64)
    for step in range(1, int(depths.max(initial=0)) + 2):
        chosen = np.flatnonzero(step <= depths + 1)
        terms, term_lengths = reduct(
            numbers[chosen], lengths[chosen], np.full(len(chosen), step, dtype=np.int64)
        )
        terms = turned(terms, term_lengths) if natural else terms
        marked = np.concatenate([terms, np.zeros((len(chosen), 1), dtype=np.int64)], axis=1)
        marked[np.arange(len(chosen)), term_lengths] = EXTRA
        row, column = np.nonzero(within(term_lengths + 1, marked.shape[1]))
        rows[chosen[row], ends[chosen[row]] + column] = marked[row, column]
        ends[chosen] += term_lengths + 1
    rows[np.arange(len(rows)), ends - 1] = 0
    return rows[:, :width], ends - 1
