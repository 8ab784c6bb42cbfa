"""States: packed, merged, projected and counted as plain Python counts them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.interpreter import states as module
from weft.interpreter.states import Packing, StateSet, distinct, merge_rows, states_of
from weft.language.ranges import UNDEFINED

BITS = ["", "1", "0", "101", "1101001", "11111111", "10"]
SIZES = st.lists(st.sampled_from([1, 2, 3, 500, 1 << 31]), min_size=1, max_size=8)


def traced(program: weft.Program, inputs: list[str]) -> Counter[Any]:
    """All states by the reference interpreter, position by position."""
    counter: Counter[Any] = Counter()
    for text in inputs:
        trace = weft.run(program, text, trace=True).trace
        assert trace is not None
        for layer in trace.layers:
            for position in range(layer.attended.positions):
                counter[tuple(layer.attended.at(position).items())] += 1
    return counter


def as_counter(states: StateSet) -> Counter[Any]:
    return Counter({tuple(s.items()): int(n) for s, n in zip(states, states.counts, strict=True)})


@pytest.mark.parametrize("name", ["parity", "parity-absolute(positions=9)", "dyck", "sort"])
def test_states_are_counted_as_the_reference_interpreter_meets_them(name: str) -> None:
    program = weft.program(name)
    texts = {"dyck": ["([])", "(]", ""], "sort": ["3 1 2", "0"]}.get(name, BITS)
    assert as_counter(states_of(program, texts)) == traced(program, texts)


@pytest.mark.parametrize("merge_at", [1, 5])
@pytest.mark.parametrize("table", [0, 1 << 16])
def test_neither_merging_nor_parts_nor_tables_change_the_counts(
    merge_at: int, table: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = weft.program("parity")
    expected = states_of(program, BITS)
    monkeypatch.setattr(module, "MERGE_AT", merge_at)
    monkeypatch.setattr(module, "TABLE_SIZE", table)
    monkeypatch.setattr(module, "POSITIONS_AT_ONCE", 3)
    found = states_of(program, BITS)
    assert (found.codes == expected.codes).all()
    assert (found.counts == expected.counts).all()


@given(SIZES, st.data())
def test_packed_codes_come_back(sizes: list[int], data: Any) -> None:
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    codes = np.array(data.draw(st.lists(row, max_size=6)), np.int64).reshape(-1, len(sizes))
    packing = Packing(sizes)
    rows = packing.pack(list(codes.T), len(codes))
    assert packing.unpack(rows).tolist() == codes.tolist()
    assert len({tuple(r) for r in rows.tolist()}) == len({tuple(c) for c in codes.tolist()})


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2**64 - 1), st.integers(1, 5)), max_size=40
)


@given(ROWS, st.booleans())
def test_merging_sums_the_counts_of_equal_rows(rows: Any, collide: bool) -> None:
    """Also if all hashes are equal."""
    words = np.array([row[:2] for row in rows], np.uint64).reshape(-1, 2)
    counts = np.array([row[2] for row in rows], np.int64)
    expected: Counter[tuple[int, int]] = Counter()
    for first, second, count in rows:
        expected[first, second] += count
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(module, "hash_rows", lambda given: np.zeros(len(given), np.uint64))
        merged, sums = merge_rows(words, counts)
        places, kinds = distinct(words)
    listed = [tuple(row) for row in merged.tolist()]
    assert dict(zip(listed, sums.tolist(), strict=True)) == expected
    assert len(listed) == len(expected)
    assert (words[places][kinds] == words).all()
    assert len(places) == len(expected)


def test_projections_add_counts() -> None:
    program = weft.program("parity")
    states = states_of(program, BITS)
    projected = states.project(["done_left", "parity"])
    expected: Counter[Any] = Counter()
    for state, count in zip(states, states.counts.tolist(), strict=True):
        expected[("done_left", state["done_left"]), ("parity", state["parity"])] += count
    assert as_counter(projected) == expected
    assert projected.total == states.total


def test_values_come_back_as_they_were_given() -> None:
    variables = weft.program("parity").variables
    listed = [
        {"parity": 1, "done": 0, "parity_left": UNDEFINED, "done_left": 1},
        {"parity": 0, "done": 1, "parity_left": 0, "done_left": UNDEFINED},
    ]
    states = StateSet.from_values(variables, [*listed, listed[0]])
    assert as_counter(states) == Counter(tuple(s.items()) for s in [*listed, listed[0]])
    assert states.values(1) in listed
    assert states.once().counts.tolist() == [1, 1]
    assert states.one_hot().sum(1).tolist() == [3, 3]  # an undefined head is zero
