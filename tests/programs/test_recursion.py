"""Structural recursion: arithmetic for the successor, trees as tuples for the traversal."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

import weft
from weft.programs.recursion import DEEPEST, Successor, Traversal, number_of
from weft.programs.walk import TreeWalk
from weft.tasks import task


@pytest.mark.parametrize("order", ["constructor", "natural"])
def test_the_successor_of_many_numbers(order: str) -> None:
    numbers = [*range(1, 3000), *(2**n + k for n in (12, 20, 60) for k in (-2, -1, 0, 1))]
    batch = weft.run_batch(Successor(order=order), [str(number) for number in numbers])
    assert batch.results == [number + 1 for number in numbers]
    ones = [len(bits) - len(bits.rstrip("1")) for bits in (f"{n:b}" for n in numbers)]
    lengths = [n.bit_length() for n in numbers]
    depths = [min(o, length - 1) for o, length in zip(ones, lengths, strict=True)]
    assert list(batch.layers) == [depth + 2 for depth in depths]


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("01", "XO 01"),
        ("XO 01", "X1 01"),
        ("X1 XO 01", "XO X1 01"),
        ("X1 X1 01", "XO XO XO 01"),
        ("X1 XO XO 01", "XO X1 XO 01"),
    ],
)
def test_the_constructors_of_the_result_in_both_orders(words: str, result: str) -> None:
    for order, turn in (("constructor", 1), ("natural", -1)):
        run = weft.run(Successor(order=order), " ".join(words.split()[::turn]))
        written = [run.program.vocabulary.name(int(output)) for output in run.outputs]
        assert [word for word in written if word not in "s_"] == result.split()[::turn]


@pytest.mark.parametrize("text", ["0", "", "X1", "X1 X2 01", "01 X1", "-3"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(weft.WeftError, match=r"not a binary number of at least 1\. Write it as 11"):
        weft.run(Successor, text)


def test_each_order_refuses_numbers_in_the_other() -> None:
    with pytest.raises(weft.WeftError, match="Write it as 11, or as X1 X1 XO 01"):
        weft.run(Successor, "01 X1 XO")
    with pytest.raises(weft.WeftError, match="Write it as 11, or as 01 XO X1 X1"):
        weft.run(Successor(order="natural"), "XO X1 01")
    with pytest.raises(weft.WeftError, match="Choose constructor or natural"):
        Successor(order="reverse")


Tree = Any  # None, or a letter with two trees


@cache
def trees(nodes: int) -> list[Tree]:
    """All shapes with so many nodes, labelled a, b, c, ... in order."""
    if nodes == 0:
        return [None]
    return [
        ("x", first, second)
        for left in range(nodes)
        for first in trees(left)
        for second in trees(nodes - 1 - left)
    ]


def labelled(tree: Tree, letters: Iterator[str]) -> Tree:
    if tree is None:
        return None
    return next(letters), labelled(tree[1], letters), labelled(tree[2], letters)


def prefix(tree: Tree) -> str:
    return "." if tree is None else tree[0] + prefix(tree[1]) + prefix(tree[2])


def walk(tree: Tree, order: str) -> str:
    if tree is None:
        return ""
    first, second = walk(tree[1], order), walk(tree[2], order)
    places = {"pre": 0, "in": len(first), "post": len(first + second)}
    return (first + second)[: places[order]] + tree[0] + (first + second)[places[order] :]


@pytest.mark.parametrize("order", ["pre", "in", "post"])
def test_all_small_trees_in_every_order(order: str) -> None:
    every = [labelled(tree, iter("hgfedcba")) for nodes in range(6) for tree in trees(nodes)]
    batch = weft.run_batch(Traversal(order), [prefix(tree) for tree in every])
    assert batch.results == [walk(tree, order) for tree in every]
    assert list(batch.layers) == [4 * len(result) + 2 for result in batch.results]


@pytest.mark.parametrize("order", ["pre", "in", "post"])
def test_a_walk_visits_all_small_trees_in_every_order(order: str) -> None:
    every = [labelled(tree, iter("hgfedcba")) for nodes in range(6) for tree in trees(nodes)]
    batch = weft.run_batch(TreeWalk(order), [prefix(tree) for tree in every])
    assert batch.results == [walk(tree, order) for tree in every]


@pytest.mark.parametrize("order", ["pre", "in", "post"])
def test_deep_trees(order: str) -> None:
    rng = random.Random(order)
    left: Tree = None
    right: Tree = None
    for letter in "abcdefgh" * 3:
        left, right = (letter, left, None), (letter, None, right)
    random_trees = [grown(rng, 30) for _ in range(20)]
    every = [left, right, *(tree for tree in random_trees if len(prefix(tree)) < 60)]
    program = Traversal(order, depth=30)
    texts = [prefix(tree) for tree in every]
    expected = [walk(tree, order) for tree in every]
    assert weft.run_batch(program, texts).results == expected
    assert weft.run_batch(TreeWalk(order), texts).results == expected
    assert max(program.height(iter(text)) or 0 for text in texts) >= 24


def grown(rng: random.Random, height: int) -> Tree:
    """A random tree that gets thin quickly, so that it can be deep."""
    if height == 0 or rng.random() < 0.35:
        return None
    return rng.choice("abcdefgh"), grown(rng, height - 1), grown(rng, rng.randint(0, height - 1))


def test_letters_may_repeat() -> None:
    assert weft.run(Traversal, "aa..a..").result == "aaa"


def test_the_deepest_and_the_fullest_tree() -> None:
    assert weft.run(Traversal(depth=5), "abcde......").result == "edcba"
    full = "".join(prefix(("a", ("b", None, None), ("c", None, None))) for _ in range(2))
    assert weft.run(Traversal(depth=3), "d" + full).result == "bacdbac"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("ab..c.", "does not have two subtrees"),
        ("ab..c...", "does not have two subtrees"),
        ("as..", "does not have two subtrees"),
        ("abcdef.......", "it is 6 deep. Write a tree of depth 5 at most"),
        ("az..", "no token 'z'"),
    ],
)
def test_what_is_no_tree_is_refused(text: str, match: str) -> None:
    with pytest.raises(weft.WeftError, match=match):
        weft.run(Traversal, text)


@pytest.mark.parametrize("program", [Traversal, TreeWalk])
def test_there_are_three_orders(program: type[Traversal]) -> None:
    with pytest.raises(weft.WeftError, match=r"there is no order 'level'\. Choose pre, in or post"):
        program("level")


LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("order", ["constructor", "natural"])
def test_the_successor_solves_the_deepest_tests_of_its_task(order: str) -> None:
    made = task("recursion", definition="successor", order=order, length=10, longer=40)
    for split in ("train", "deeper", "all-carry-longer"):
        batch = made.test_set(split, 20)
        results = weft.run_batch(Successor(order=order), made.asked(batch)).results
        answers = [answer for _, answer in made.examples(batch)]
        assert results == [
            number_of(answer[:: -1 if order == "natural" else 1]) for answer in answers
        ]


@pytest.mark.parametrize(
    "order", ["in", *(pytest.param(order, marks=pytest.mark.slow) for order in ("pre", "post"))]
)
def test_walks_solve_the_deepest_tests_of_their_task(order: str) -> None:
    made = task("recursion", definition=f"{order}-order", length=8, longer=16)
    for split in ("deepest", "longer"):
        batch = made.test_set(split, 10)
        results = weft.run_batch(TreeWalk(order, LETTERS), made.asked(batch)).results
        lists = [answer for _, answer in made.examples(batch)]
        assert results == ["".join(word for word in words if len(word) == 1) for words in lists]


def test_marks_are_no_letters() -> None:
    assert weft.run(TreeWalk("pre", LETTERS), "ss..z..").result == "ssz"
    for program, letters in ((Traversal, LETTERS), (Traversal, "aa"), (TreeWalk, "a.")):
        with pytest.raises(weft.WeftError, match="Give different letters, without"):
            program(letters=letters)


def test_a_walk_goes_as_deep_as_python_can_read() -> None:
    program = TreeWalk()
    deep = "a" * DEEPEST + "." * (DEEPEST + 1)
    assert program.task(program.encode(deep)) == "a" * DEEPEST
    with pytest.raises(weft.WeftError, match="it is 201 deep"):
        program.encode(f"a{deep}.")
