"""Both sorts against Python's own, on all short inputs, and in as many layers as they say."""

from __future__ import annotations

import itertools

import pytest

import weft
from weft.compiler.check import check
from weft.programs.sorting import Sort, SortUnique


def test_all_short_words_are_sorted() -> None:
    words = ["".join(w) for n in range(6) for w in itertools.product("210", repeat=n)]
    assert weft.run_batch(Sort("012"), words).results == ["".join(sorted(w)) for w in words]


def test_all_orders_of_few_items_are_sorted() -> None:
    words = ["".join(w) for n in range(6) for w in itertools.permutations("24579", n)]
    assert weft.run_batch(SortUnique(), words).results == ["".join(sorted(w)) for w in words]


def test_the_longest_input_of_unique_items() -> None:
    assert weft.run(SortUnique(), "9876543210").result == "0123456789"


@pytest.mark.parametrize("length", [1, 2, 7, 30])
def test_sort_takes_a_layer_for_each_item(length: int) -> None:
    items = ("9876543210" * 3)[:length]
    run = weft.run(Sort(), items)
    assert (run.layers, run.result) == (length, "".join(sorted(items)))


def test_the_order_is_that_of_the_alphabet_given() -> None:
    assert weft.run(SortUnique(items="zebra"), "abez").result == "zeba"
    assert weft.run(Sort(items="zyx"), "xyzzyx").result == "zzyyxx"


def test_long_inputs_in_weights() -> None:
    assert check(weft.compile(Sort()), samples=10, max_length=60).difference is None


def test_marks_and_repeats_are_refused() -> None:
    with pytest.raises(weft.WeftError, match=r"'3' occurs twice\. .*`sort` takes repeats"):
        weft.run(SortUnique(), "313")
    with pytest.raises(weft.WeftError, match=r"the items contain a mark.*0123456789"):
        weft.run(Sort(), "1s2")
    with pytest.raises(weft.WeftError, match="no token 'x'"):
        weft.run(Sort(), "1x2")
