"""Traversal machines against the calculus, against plain recursion, and on trees that are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.recursion import Notation, TermSampler, definition, encode_term
from weft.recursion.library.trees import Tree
from weft.theory.recursion import drop_machine, traversal_machine
from weft.theory.recursion.traversal_machines import TRAVERSALS, nodes_of, traversal_candidates

NOTATIONS = [
    Notation(style=style, labels=labels)
    for style in ("prefix", "parenthesised", "empty", "bracket")
    for labels in ("pre", "in", "post")
]
Shape = tuple[Any, ...] | None
"""A tree as value, left and right."""


def trees(count: int = 60, most: int = 15) -> list[Any]:
    return list(TermSampler(Tree).sample(np.random.default_rng(0), count, size=(1, most)))


def shape(tree: Any) -> Shape:
    """A term as plain tuples."""
    parts = tuple(tree)
    return (parts[0][0], shape(parts[1]), shape(parts[2])) if parts else None


def walk(tree: Shape, traversal: str) -> list[str]:
    if tree is None:
        return []
    value, left, right = tree
    parts = {
        "pre-order": ([value], walk(left, traversal), walk(right, traversal)),
        "in-order": (walk(left, traversal), [value], walk(right, traversal)),
        "post-order": (walk(left, traversal), walk(right, traversal), [value]),
    }[traversal]
    return [each for part in parts for each in part]


def bounded(tree: Shape, traversal: str, bound: str, depth: int) -> list[str]:
    """The same with subtrees below a depth left out, or read with labels first."""
    if tree is None:
        return []
    if depth == 0:
        return []
    if depth == 1 and bound == "flat":
        return walk(tree, "pre-order")
    value, left, right = tree
    below = [bounded(each, traversal, bound, depth - 1) for each in (left, right)]
    order = {"pre-order": ([value], *below), "in-order": (below[0], [value], below[1])}
    parts = order.get(traversal, (*below, [value]))
    return [each for part in parts for each in part]


@pytest.mark.parametrize("traversal", TRAVERSALS)
def test_the_true_machines_are_the_definitions_in_every_notation(traversal: Any) -> None:
    function = definition(traversal)
    for number, tree in enumerate(trees()):
        truth = [token for token in encode_term(function.evaluate(tree), Notation(style="flat"))
                 if token not in "[]"]  # fmt: skip
        assert truth == walk(shape(tree), traversal)
        notation = NOTATIONS[number % len(NOTATIONS)]
        tokens = tuple(encode_term(tree, notation))
        assert traversal_machine(traversal, notation)(tokens) == tuple(truth)


def test_dropping_is_the_traversal_that_the_labels_are_in() -> None:
    """With labels first it is pre-order itself; elsewhere, the shortcut moves."""
    for tree in trees(6):
        for notation in NOTATIONS:
            named = {"pre": "pre-order", "in": "in-order", "post": "post-order"}[notation.labels]
            tokens = tuple(encode_term(tree, notation))
            assert drop_machine(notation)(tokens) == tuple(walk(shape(tree), named))


@pytest.mark.parametrize("bound", ["cut", "flat"])
@pytest.mark.parametrize("traversal", TRAVERSALS)
def test_bounded_machines(traversal: Any, bound: Any) -> None:
    differs = 0
    for tree in trees(24):
        tokens = tuple(encode_term(tree, Notation()))
        for depth in (1, 2, 3):
            made = traversal_machine(traversal, bound=bound, depth=depth)(tokens)
            assert list(made) == bounded(shape(tree), traversal, bound, depth)
            differs += list(made) != walk(shape(tree), traversal)
    assert (differs > 12) != (traversal == "pre-order" and bound == "flat")


def test_nodes_are_numbered_in_the_order_of_the_input() -> None:
    tokens = ("(", "(", "EMPTY", "b", "EMPTY", ")", "a", "EMPTY", ")")
    found = nodes_of(tokens, Notation(style="empty", labels="in"))
    assert (found.values, found.left, found.right, found.root) == (
        ("b", "a"), (0, 0, 1), (0, 0, 0), 2,
    )  # fmt: skip
    assert nodes_of(("Leaf",), Notation()).root == 0
    assert traversal_machine("in-order")(("Leaf",)) == ()


def test_what_is_no_tree_is_refused() -> None:
    with pytest.raises(WeftError):
        traversal_machine("in-order")(("Branch", "a", "Leaf"))
    wrong: Any = "level-order"
    with pytest.raises(WeftError, match="there is no traversal"):
        traversal_machine(wrong)


def test_outputs_are_written_as_asked() -> None:
    def listed(values: tuple[str, ...]) -> tuple[str, ...]:
        return (*(token for value in values for token in ("Cons", value)), "Nil")

    tree = ("Branch", "a", "Branch", "b", "Leaf", "Leaf", "Leaf")
    machine = traversal_machine("post-order", writes=listed)
    assert machine(tree) == ("Cons", "b", "Cons", "a", "Nil")
    for each in traversal_candidates("in-order", Notation(), 4, 6, listed):
        assert each.machine(tree)[-1] == "Nil"
