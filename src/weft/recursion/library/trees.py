"""Binary trees with letters at their branches."""
# mypy: disable-error-code="return"

from __future__ import annotations

from weft.recursion.function import recursive
from weft.recursion.inductive import Inductive
from weft.recursion.library.lists import Cons, Letter, List, Nil, append
from weft.recursion.library.peano import Nat, O, S


class Tree(Inductive):
    """Binary trees."""


class Leaf(Tree, weight=0):
    """The empty tree."""


class Branch(Tree):
    """A letter between two trees."""

    label: Letter
    left: Tree
    right: Tree


@recursive
def pre_order(tree: Tree) -> List:
    """The label, those of the left tree, those of the right one."""
    match tree:
        case Leaf():
            return Nil()
        case Branch(label, left, right):
            return Cons(label, append(pre_order(left), pre_order(right)))


@recursive
def in_order(tree: Tree) -> List:
    """The labels of the left tree, the label, those of the right tree."""
    match tree:
        case Leaf():
            return Nil()
        case Branch(label, left, right):
            return append(in_order(left), Cons(label, in_order(right)))


@recursive
def post_order(tree: Tree) -> List:
    """The labels of the left tree, those of the right one, the label."""
    match tree:
        case Leaf():
            return Nil()
        case Branch(label, left, right):
            return append(post_order(left), append(post_order(right), Cons(label, Nil())))


@recursive
def mirror(tree: Tree) -> Tree:
    """The tree with left and right exchanged at every branch."""
    match tree:
        case Leaf():
            return Leaf()
        case Branch(label, left, right):
            return Branch(label, mirror(right), mirror(left))


@recursive
def maximum(m: Nat, n: Nat) -> Nat:
    """The larger of two numbers."""
    match m, n:
        case O(), _:
            return n
        case S(_), O():
            return m
        case S(a), S(b):
            return S(maximum(a, b))


@recursive
def tree_depth(tree: Tree) -> Nat:
    """The number of branches on the longest path from the root."""
    match tree:
        case Leaf():
            return O()
        case Branch(_, left, right):
            return S(maximum(tree_depth(left), tree_depth(right)))
