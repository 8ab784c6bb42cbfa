"""Binary trees with letters at their branches: traversals, mirror, depth, insertion."""
# mypy: disable-error-code="return, no-any-return"

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive
from weft.recursion.library.lists import Cons, Letter, List, Nil, append
from weft.recursion.library.peano import Nat, No, O, S, Truth, Yes, maximum
from weft.recursion.measures import spine
from weft.recursion.tables import table
from weft.recursion.terms import height

if TYPE_CHECKING:
    from numpy.random import Generator


class Tree(Inductive):
    """Binary trees."""


class Leaf(Tree, weight=0):
    """The empty tree."""


class Branch(Tree):
    """A letter between two trees."""

    label: Letter
    left: Tree
    right: Tree


def _shaped(shape: Any) -> Any:
    """A sampler of trees of a shape."""

    def draw(rng: Generator, size: int) -> tuple[Any, ...]:
        from weft.recursion.sampling import TermSampler

        return (TermSampler(Tree).sample(rng, 1, size=size, shape=shape)[0],)

    return draw


def search_tree(rng: Generator, size: int) -> tuple[Any, ...]:
    """A letter, and a search tree of letters that were inserted in random order."""
    letters = Letter.members()
    first, *rest = (letters[number] for number in rng.permutation(len(letters)).tolist())
    tree: Any = Leaf()
    for letter in rest[:size]:
        tree = tree_insert.evaluate(letter, tree)
    return first, tree


TREE_AXES = {
    "height": height,
    "left-spine": lambda tree: spine(tree, 1),
    "right-spine": lambda tree: spine(tree, 2),
}
TREE_CASES = {
    "left-comb": _shaped("left"),
    "right-comb": _shaped("right"),
    "balanced": _shaped("balanced"),
}


@recursive(axes=TREE_AXES, cases=TREE_CASES)
def pre_order(tree: Tree) -> List:
    """The label, the labels of the left tree, those of the right one."""
    match tree:
        case Leaf():
            return Nil()
        case Branch(label, left, right):
            return Cons(label, append(pre_order(left), pre_order(right)))


@recursive(axes=TREE_AXES, cases=TREE_CASES)
def in_order(tree: Tree) -> List:
    """The labels of the left tree, the label, the labels of the right tree."""
    match tree:
        case Leaf():
            return Nil()
        case Branch(label, left, right):
            return append(in_order(left), Cons(label, in_order(right)))


@recursive(axes=TREE_AXES, cases=TREE_CASES)
def post_order(tree: Tree) -> List:
    """The labels of the left tree, those of the right one, the label."""
    match tree:
        case Leaf():
            return Nil()
        case Branch(label, left, right):
            return append(post_order(left), append(post_order(right), Cons(label, Nil())))


@recursive(axes=TREE_AXES, cases=TREE_CASES)
def mirror(tree: Tree) -> Tree:
    """The tree with left and right exchanged at every branch."""
    match tree:
        case Leaf():
            return Leaf()
        case Branch(label, left, right):
            return Branch(label, mirror(right), mirror(left))


@recursive(axes=TREE_AXES, cases=TREE_CASES)
def tree_depth(tree: Tree) -> Nat:
    """The number of branches on the longest path from the root."""
    match tree:
        case Leaf():
            return O()
        case Branch(_, left, right):
            return S(maximum(tree_depth(left), tree_depth(right)))


precedes = table(
    "precedes",
    (("one", Letter), ("other", Letter)),
    Truth,
    lambda one, other: Yes() if one.symbol < other.symbol else No(),
    doc="Whether a letter comes before another one in the alphabet.",
)


@recursive(cases={"search-tree": search_tree})
def tree_insert(letter: Letter, tree: Tree) -> Tree:
    """A search tree with one more letter: left of those that it precedes."""
    match tree:
        case Leaf():
            return Branch(letter, Leaf(), Leaf())
        case Branch(label, left, right):
            return tree_insert_at(precedes(letter, label), letter, label, left, right)


@recursive
def tree_insert_at(before: Truth, letter: Letter, label: Letter, left: Tree, right: Tree) -> Tree:
    """A branch with one more letter in its left or in its right tree."""
    match before:
        case Yes():
            return Branch(label, tree_insert(letter, left), right)
        case No():
            return Branch(label, left, tree_insert(letter, right))
