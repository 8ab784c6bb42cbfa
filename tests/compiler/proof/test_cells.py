"""Bounds over cells: against the feed-forward itself, in every state."""

from __future__ import annotations

import itertools
import random

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.compiler.proof.cells import Cells, Network, exact_column, network_of, prove_cells
from weft.proofs.rounding import PRECISIONS, grid, is_exact_product

SIZES = (2, 3, 2)


def network(seed: int, clipped: bool, depth: int, scale: float) -> tuple[Network, list[np.ndarray]]:
    """A random feed-forward on three one-hot variables, and its matrices."""
    rng = np.random.default_rng(seed)
    widths = [sum(SIZES), *rng.integers(1, 5, depth), 2]
    weights = [
        stored(np.round(rng.normal(size=(after, before)) * 2) * scale)
        for before, after in itertools.pairwise(widths)
    ]
    biases = [stored(np.round(rng.normal(size=after)) * scale) for after in widths[1:]]
    starts = np.cumsum([0, *SIZES])
    columns = tuple(
        exact_column(str(n), weights[0][:, starts[n] : starts[n + 1]], np.eye(size))
        for n, size in enumerate(SIZES)
    )
    made = network_of(
        columns,
        tuple(weights[1:]),
        tuple(biases),
        clipped=clipped,
        precision=PRECISIONS["float32"],
        held=np.zeros((1, 2)),
    )
    return made, [*weights, *biases]


def stored(weights: np.ndarray) -> np.ndarray:
    """As float32 has them."""
    return weights.astype(np.float32).astype(np.float64)


def computed(matrices: list[np.ndarray], state: tuple[int, ...], clipped: bool) -> np.ndarray:
    """What PyTorch gives in float32."""
    half = len(matrices) // 2
    hot = [np.eye(size)[code] for size, code in zip(SIZES, state, strict=True)]
    x = torch.tensor(np.concatenate(hot), dtype=torch.float32)
    for place, (weight, bias) in enumerate(zip(matrices[:half], matrices[half:], strict=True)):
        x = torch.tensor(weight, dtype=torch.float32) @ x + torch.tensor(bias, dtype=torch.float32)
        if place < half - 1:
            x = x.clamp(0, 1) if clipped else x.relu()
    return x.double().numpy()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from([1.0, 0.25, 0.3, 1 / 3]),
)
def test_bounds_hold_for_every_state_of_a_cell(
    seed: int, clipped: bool, depth: int, scale: float
) -> None:
    made, matrices = network(seed, clipped, depth, scale)
    rng = random.Random(seed)
    masks = []
    for size in SIZES:
        chosen = rng.sample(range(size), rng.randint(1, size))
        masks.append(np.isin(np.arange(size), chosen)[None])
    low, high, _ = made.bounds(tuple(masks))
    close = made.close_bounds(tuple(masks))
    pruned = made.pruned(tuple(masks)).bounds(tuple(masks))
    for state in itertools.product(*(np.flatnonzero(mask[0]).tolist() for mask in masks)):
        found = computed(matrices, state, clipped)
        for least, most in ((low, high), close, pruned[:2]):
            assert (least[0] <= found).all(), (state, found)
            assert (found <= most[0]).all(), (state, found)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3))
def test_whole_networks_are_decided_exactly(seed: int, clipped: bool, depth: int) -> None:
    """One cell per state: right results are proved, and a wrong one is found."""
    made, matrices = network(seed, clipped, depth, 1.0)
    states = list(itertools.product(*map(range, SIZES)))
    results = np.stack([computed(matrices, state, clipped) for state in states])
    codes = np.asarray(states)
    masks = tuple(np.eye(size, dtype=bool)[codes[:, n]] for n, size in enumerate(SIZES))
    assert prove_cells(made, Cells(masks, results, results)).doubt is None
    wrong = results.copy()
    wrong[seed % len(states), 0] += 1
    doubt = prove_cells(made, Cells(masks, wrong, wrong)).doubt
    assert doubt is not None
    assert [int(mask.argmax()) for mask in doubt] == list(states[seed % len(states)])


@given(st.floats(-1e6, 1e6, allow_subnormal=False))
def test_the_grid_of_a_number_is_its_lowest_bit(value: float) -> None:
    exponent = int(grid(np.asarray([value]))[0])
    if value == 0:
        assert exponent > 1000
    else:
        multiple = value / 2.0**exponent
        assert multiple == int(multiple)
        assert int(multiple) % 2 == 1


def test_products_that_round_are_told_from_those_that_do_not() -> None:
    third = np.asarray([[float(np.float32(1 / 3))]])
    assert is_exact_product(np.ones((1, 3)), np.full((3, 1), 5.0), 24)
    assert is_exact_product(third, np.ones((1, 1)), 24)
    assert not is_exact_product(np.repeat(third, 3, 1), np.ones((3, 1)), 24)
    assert not is_exact_product(np.full((1, 2), 2.0**23 + 1), np.ones((2, 1)), 24)
