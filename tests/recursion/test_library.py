"""The definitions that ship, against Python's numbers and lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.recursion import DEFINITIONS, InputSampler, definition, definition_name, size
from weft.recursion.library import binary, expressions, lists, peano, trees
from weft.recursion.library.binary import binary_to_int, positive_to_int, to_binary, to_positive
from weft.recursion.library.lists import from_list, to_list, to_nats
from weft.recursion.library.peano import nat_to_int, to_nat
from weft.recursion.measures import leading_run, longest_run, occurrences, spine
from weft.recursion.terms import subterms

SMALL = st.integers(0, 12)
LARGE = st.integers(1, 10**30)
WORDS = st.text("abcdefgh", max_size=12)


@given(LARGE, LARGE)
def test_binary_arithmetic(m: int, n: int) -> None:
    left, right = to_positive(m), to_positive(n)
    assert positive_to_int(left) == m
    assert positive_to_int(binary.successor.evaluate(left)) == m + 1
    assert positive_to_int(binary.add.evaluate(left, right)) == m + n
    assert positive_to_int(binary.add_carry.evaluate(left, right)) == m + n + 1
    assert size(left) == m.bit_length()
    trailing = (~m & (m + 1)).bit_length() - 1
    assert binary.successor.axes["run"](left) == min(trailing, m.bit_length() - 1)
    assert binary.successor.depth(left) == min(trailing, m.bit_length() - 1)
    runs = max(len(run) for run in bin(m)[3:].split("0"))
    assert binary.successor.axes["longest-run"](left) == runs


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_carries(m: int, n: int) -> None:
    left, right = to_positive(m + 1), to_positive(n + 1)
    carry, places = 0, []
    for place in range(40):
        carry = ((m + 1) >> place & 1) + ((n + 1) >> place & 1) + carry >> 1
        places.append("1" if carry else "0")
    assert binary.add.axes["carries"](left, right) == places.count("1")
    longest = max(len(run) for run in "".join(places).split("0"))
    assert binary.add.axes["carry-run"](left, right) == longest


def test_numbers_with_zero() -> None:
    for m in range(20):
        assert binary_to_int(binary.binary_successor(to_binary(m))) == m + 1
        for n in range(20):
            total = binary.binary_add(to_binary(m), to_binary(n))
            assert binary_to_int(total) == m + n


@given(SMALL, SMALL)
def test_peano_arithmetic(m: int, n: int) -> None:
    left, right = to_nat(m), to_nat(n)
    assert nat_to_int(peano.plus(left, right)) == m + n
    assert nat_to_int(peano.times.evaluate(left, right)) == m * n
    assert nat_to_int(peano.double(left)) == 2 * m
    assert nat_to_int(peano.maximum(left, right)) == max(m, n)
    assert repr(peano.at_most(left, right)) == ("yes" if m <= n else "no")


@given(st.integers(0, 300))
@settings(deadline=None)
def test_conversions_are_inverse_and_translate_the_successor(number: int) -> None:
    unary, digits = to_nat(number), to_binary(number)
    assert peano.to_digits.evaluate(unary) == digits
    assert peano.to_unary.evaluate(digits) == unary
    assert peano.to_unary.evaluate(peano.to_digits.evaluate(unary)) == unary
    assert peano.to_digits.evaluate(peano.S(unary)) == binary.binary_successor.evaluate(digits)


@given(WORDS, WORDS)
def test_lists(one: str, other: str) -> None:
    left, right = to_list(one), to_list(other)
    assert "".join(from_list(left)) == one
    assert "".join(from_list(lists.append(left, right))) == one + other
    assert "".join(from_list(lists.reverse(left))) == one[::-1]
    assert "".join(from_list(lists.reverse_onto(left, right))) == one[::-1] + other
    assert "".join(from_list(lists.stutter(left))) == "".join(2 * letter for letter in one)
    shifted = "".join(chr(ord(letter) + 1) for letter in one)
    assert "".join(from_list(lists.shift_all(left))) == shifted


def test_the_letter_after_z_is_a() -> None:
    assert from_list(lists.shift_all(to_list("yz"))) == ["z", "a"]


def numbers_of(term: Any) -> list[int]:
    found = []
    while term:
        found.append(nat_to_int(term[0]))
        term = term[1]
    return found


@given(st.lists(st.integers(0, 6), max_size=7), st.integers(0, 6))
def test_insertion(numbers: list[int], one: int) -> None:
    assert numbers_of(lists.insertion_sort(to_nats(numbers))) == sorted(numbers)
    inserted = lists.insert(to_nat(one), to_nats(sorted(numbers)))
    assert numbers_of(inserted) == sorted([*numbers, one])
    assert numbers_of(lists.increment_all(to_nats(numbers))) == [n + 1 for n in numbers]


def traversed(tree: Any, order: str) -> str:
    if not tree:
        return ""
    label, left, right = tree
    found = {"l": traversed(left, order), "n": label.symbol, "r": traversed(right, order)}
    return "".join(found[place] for place in order)


def depth_of(tree: Any) -> int:
    return 1 + max(depth_of(tree[1]), depth_of(tree[2])) if tree else 0


def test_trees() -> None:
    sampler = InputSampler(trees.in_order)
    for (tree,) in sampler.sample(np.random.default_rng(0), 100, size=(0, 12)):
        for function, order in (
            (trees.pre_order, "nlr"),
            (trees.in_order, "lnr"),
            (trees.post_order, "lrn"),
        ):
            assert "".join(from_list(function(tree))) == traversed(tree, order)
        assert traversed(trees.mirror(tree), "lnr") == traversed(tree, "rnl")
        assert trees.mirror(trees.mirror(tree)) == tree
        assert nat_to_int(trees.tree_depth(tree)) == depth_of(tree)
        assert trees.in_order.depth(tree) == depth_of(tree) == trees.TREE_AXES["height"](tree)
        assert trees.in_order(tree) == lists.reverse(trees.in_order(trees.mirror(tree)))


def test_search_trees_stay_sorted() -> None:
    sampler = InputSampler(trees.tree_insert)
    drawn = sampler.sample(np.random.default_rng(0), 40, size=(0, 12), cases={"search-tree": 1})
    for letter, tree in drawn:
        before = traversed(tree, "lnr")
        assert "".join(sorted(before)) == before
        after = traversed(trees.tree_insert(letter, tree), "lnr")
        assert after == "".join(sorted(before + letter.symbol))


def value_of(expression: Any, x: int) -> int:
    kind = type(expression).__name__
    if kind in ("Nought", "Unit", "Unknown"):
        return {"Nought": 0, "Unit": 1, "Unknown": x}[kind]
    left, right = (value_of(one, x) for one in expression)
    return left + right if kind == "Sum" else left * right


def test_expressions() -> None:
    sampler = InputSampler(expressions.simplify)
    for (expression,) in sampler.sample(np.random.default_rng(0), 150, size=(1, 13)):
        simple = expressions.simplify(expression)
        for x in (0, 1, 3):
            assert value_of(simple, x) == value_of(expression, x)
            value = expressions.evaluate.evaluate(expression, to_nat(x))
            assert nat_to_int(value) == value_of(expression, x)
        for one in subterms(simple):
            if isinstance(one, (expressions.Sum, expressions.Product)):
                assert expressions.Nought() not in one
            if isinstance(one, expressions.Product):
                assert expressions.Unit() not in one
        assert expressions.simplify(simple) == simple


def test_measures() -> None:
    term = binary.X1(binary.X1(binary.XO(binary.X1(binary.One()))))
    assert leading_run(term, binary.X1) == longest_run(term, binary.X1) == 2
    assert leading_run(term, binary.XO) == leading_run(binary.One(), binary.X1) == 0
    assert occurrences(term, binary.X1) == 3
    assert spine(term, 0) == 4
    assert leading_run(to_nat(10_000), peano.S) == longest_run(to_nat(10_000), peano.S) == 10_000


def test_what_has_no_term_is_refused() -> None:
    with pytest.raises(WeftError, match="0 is not positive"):
        to_positive(0)
    with pytest.raises(WeftError, match="-1 is negative"):
        to_nat(-1)
    with pytest.raises(WeftError, match="there is no symbol '1'"):
        to_list("a1")


@pytest.mark.parametrize("name", DEFINITIONS)
def test_definitions_have_names_docs_and_axes(name: str) -> None:
    function = definition(name)
    assert function is DEFINITIONS[name]
    assert definition_name(function) == name
    assert function.doc.endswith(".")
    assert {"size", "depth"} <= set(function.axes)
    assert function.digest == DEFINITIONS[name].digest
    tokens = [one.token for one in function.functions]
    assert len(tokens) == len(set(tokens))
    for (arguments,) in (
        InputSampler(function).sample(np.random.default_rng(0), 1, size=(1, 5)) for _ in range(3)
    ):
        assert all(isinstance(axis(*arguments), int) for axis in function.axes.values())


def test_digests_differ() -> None:
    digests = {one.digest for one in DEFINITIONS.values()}
    assert len(digests) == len(DEFINITIONS)
