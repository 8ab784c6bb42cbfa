"""Machines for tree traversals: the true ones, and shortcuts that need less or no recursion.

A tree is read as the sequence of its values in the order of the input, input[1..L], with pointers
that brackets and constructors determine: left(n), right(n) and parent(n), each 0 if there is none,
and functions that follow them. `at` is the node whose value was written last, 0 at first.

    pre-order    at := left(at), or right(at), or the next subtree to the right
    in-order     at := the first node of right(at), or the ancestor in whose left subtree it is
    post-order   at := the first childless node of the sibling to the right, or parent(at)
    drop         emit input[k]: the values in the order of the input; what else there is, is dropped

If labels are written before the subtrees, `drop` is pre-order itself: no input tells the two apart.
A machine bounded by D runs the same rules on another tree:

    cut    the tree without the nodes deeper than D
    flat   subtrees below depth D are read in the order of the input

The root has depth 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from weft.errors import check_known
from weft.recursion import Notation, decode_term
from weft.recursion.library.trees import Tree
from weft.recursion.terms import children, token_of
from weft.theory.recursion.state_machines import Pointer, Rule, StateMachine, Word
from weft.theory.recursion.successor_machines import Candidate

Traversal = Literal["pre-order", "in-order", "post-order"]
Bound = Literal["", "cut", "flat"]
TRAVERSALS: tuple[Traversal, ...] = get_args(Traversal)
BRANCH = "Branch"


@dataclass(frozen=True)
class Nodes:
    """A binary tree whose nodes are numbered from 1 in the order of the input.

    Attributes:
        values: the value of each node.
        left: the left child of each node, 0 for none; entry 0 is that of no node.
        right: the right child of each node.
        root: the root; 0 of an empty tree.
    """

    values: Word
    left: tuple[int, ...]
    right: tuple[int, ...]
    root: int

    def links(self) -> tuple[list[int], list[int]]:
        """The parent and the depth of each node; 0 for entry 0 and for nodes that are cut off."""
        parent, depth = [0] * len(self.left), [0] * len(self.left)
        waiting = [self.root] if self.root else []
        depth[self.root] = 1 if self.root else 0
        while waiting:
            node = waiting.pop()
            for child in (self.left[node], self.right[node]):
                if child:
                    parent[child], depth[child] = node, depth[node] + 1
                    waiting.append(child)
        return parent, depth


@lru_cache(maxsize=65536)
def nodes_of(tokens: Word, notation: Notation) -> Nodes:
    """The nodes of a tree from its tokens.

    Example:
        >>> from weft.recursion import Notation
        >>> from weft.theory.recursion.traversal_machines import nodes_of
        >>> tree = "Branch a Branch b Leaf Leaf Leaf"
        >>> nodes_of(tuple(tree.split()), Notation())
        Nodes(values=('a', 'b'), left=(0, 2, 0), right=(0, 0, 0), root=1)
    """
    found: list[tuple[str, int]] = []  # value and an identity, in the order of the input
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    order = notation.labels
    count = 0

    def number(term: Any) -> int:
        """Visit a subtree in the order of its tokens; its identity, 0 of a leaf."""
        nonlocal count
        if token_of(term) != BRANCH:
            return 0
        count += 1
        mine = count
        label, *subtrees = children(term)
        if order == "pre":
            found.append((token_of(label), mine))
        left[mine] = number(subtrees[0])
        if order == "in":
            found.append((token_of(label), mine))
        right[mine] = number(subtrees[1])
        if order == "post":
            found.append((token_of(label), mine))
        return mine

    root = number(decode_term(list(tokens), Tree, notation))
    if notation.order == "natural":
        found.reverse()
    places = {mine: place for place, (_, mine) in enumerate(found, start=1)} | {0: 0}
    lefts, rights = [0] * (count + 1), [0] * (count + 1)
    for mine in range(1, count + 1):
        lefts[places[mine]], rights[places[mine]] = places[left[mine]], places[right[mine]]
    values = tuple(value for value, _ in found)
    return Nodes(values, tuple(lefts), tuple(rights), places[root])


def cut(tree: Nodes, depth: int) -> Nodes:
    """A tree without the nodes deeper than a depth."""
    _, depths = tree.links()
    kept = [child if depths[child] <= depth else 0 for child in range(len(depths))]
    left = tuple(kept[child] for child in tree.left)
    right = tuple(kept[child] for child in tree.right)
    return Nodes(tree.values, left, right, kept[tree.root])


def flat(tree: Nodes, depth: int, traversal: Traversal) -> Nodes:
    """A tree whose subtrees below a depth are chains, traversed in the order of the input."""
    parent, depths = tree.links()
    left, right = list(tree.left), list(tree.right)
    tops = [node for node in range(1, len(depths)) if depths[node] == depth]
    for top in tops:
        below = sorted(_below(tree, top))
        if traversal == "post-order":
            below.reverse()  # the last of a chain to the left comes first
        for node, following in zip(below, [*below[1:], 0], strict=True):
            left[node], right[node] = (
                (following, 0) if traversal == "post-order" else (0, following)
            )
        above = parent[top]
        for side in (left, right):
            if above and side[above] == top:
                side[above] = below[0]
    root = tree.root
    if depths[root] == depth:
        below = sorted(_below(tree, root), reverse=traversal == "post-order")
        root = below[0]
    return Nodes(tree.values, tuple(left), tuple(right), root)


def _below(tree: Nodes, top: int) -> list[int]:
    """All nodes of a subtree."""
    found, waiting = [], [top]
    while waiting:
        node = waiting.pop()
        if node:
            found.append(node)
            waiting += [tree.left[node], tree.right[node]]
    return found


RULES: dict[Traversal, tuple[Rule, ...]] = {
    "pre-order": (
        Rule("at == 0 and root > 0", emit="input[root]", at="root"),
        Rule("left(at) > 0", emit="input[left(at)]", at="left(at)"),
        Rule("left(at) == 0 and right(at) > 0", emit="input[right(at)]", at="right(at)"),
        Rule(
            "left(at) == 0 and right(at) == 0 and turn(at) > 0",
            emit="input[turn(at)]",
            at="turn(at)",
        ),
    ),
    "in-order": (
        Rule("at == 0 and root > 0", emit="input[first(root)]", at="first(root)"),
        Rule("right(at) > 0", emit="input[first(right(at))]", at="first(right(at))"),
        Rule("right(at) == 0 and climb(at) > 0", emit="input[climb(at)]", at="climb(at)"),
    ),
    "post-order": (
        Rule("at == 0 and root > 0", emit="input[deepest(root)]", at="deepest(root)"),
        Rule(
            "sibling(at) > 0",
            emit="input[deepest(sibling(at))]",
            at="deepest(sibling(at))",
        ),
        Rule("sibling(at) == 0 and parent(at) > 0", emit="input[parent(at)]", at="parent(at)"),
    ),
}
MEANINGS = {
    "root": "the root; 0 of an empty tree",
    "left": "the left child; 0 if there is none",
    "right": "the right child",
    "parent": "the parent",
    "sibling": "of a left child, the right child of its parent",
    "first": "the last node on the way down to the left",
    "deepest": "the childless node on the way down, to the left where there is a left child",
    "climb": "the nearest ancestor that has it in its left subtree",
    "turn": "the right child of the nearest ancestor that has it in its left subtree and has one",
}
USED: dict[Traversal, tuple[str, ...]] = {
    "pre-order": ("root", "left", "right", "turn"),
    "in-order": ("root", "right", "first", "climb"),
    "post-order": ("root", "parent", "sibling", "deepest"),
}


class _Pointers:
    """The pointers of a tree as functions of a node; of node 0, they are 0."""

    def __init__(self, tree: Nodes) -> None:
        self.tree, self.root = tree, tree.root
        self._parent, _ = tree.links()

    def left(self, node: int) -> int:
        return self.tree.left[node]

    def right(self, node: int) -> int:
        return self.tree.right[node]

    def parent(self, node: int) -> int:
        return self._parent[node]

    def sibling(self, node: int) -> int:
        above = self._parent[node]
        return self.tree.right[above] if above and self.tree.left[above] == node else 0

    def first(self, node: int) -> int:
        while self.tree.left[node]:
            node = self.tree.left[node]
        return node

    def deepest(self, node: int) -> int:
        while self.tree.left[node] or self.tree.right[node]:
            node = self.tree.left[node] or self.tree.right[node]
        return node

    def climb(self, node: int) -> int:
        above = self._parent[node]
        while above and self.tree.left[above] != node:
            node, above = above, self._parent[above]
        return above

    def turn(self, node: int) -> int:
        while node:
            other = self.sibling(node)
            if other:
                return other
            node = self._parent[node]
        return 0


Write = Callable[[Word], Word]


def traversal_machine(
    traversal: Traversal,
    notation: Notation | None = None,
    *,
    bound: Bound = "",
    depth: int = 0,
    writes: Write | None = None,
) -> StateMachine:
    """A traversal as a machine, true or bounded.

    Args:
        traversal: which one.
        notation: how trees are written; prefix by default.
        bound: `cut` or `flat` for a machine that is bounded.
        depth: the bound.
        writes: the output, from the values in their order; these by default.

    Example:
        >>> from weft.theory.recursion import traversal_machine
        >>> machine = traversal_machine("in-order")
        >>> tree = tuple("Branch a Branch b Leaf Leaf Branch c Leaf Leaf".split())
        >>> machine(tree)
        ('b', 'a', 'c')
        >>> print("\\n".join(str(rule) for rule in machine.rules))
        if at = 0 and root > 0 then emit input[first(root)], at := first(root)
        if right(at) > 0 then emit input[first(right(at))], at := first(right(at))
        if right(at) = 0 and climb(at) > 0 then emit input[climb(at)], at := climb(at)
    """
    check_known(traversal, TRAVERSALS, f"there is no traversal '{traversal}'")
    written = notation or Notation()
    named, where = {
        "": (traversal, ""),
        "cut": (f"{traversal} of the first {depth} levels", f", without levels below {depth}"),
        "flat": (
            f"{traversal}, subtrees from level {depth} in input order",
            f", with chains for subtrees from level {depth}",
        ),
    }[bound]

    @lru_cache(maxsize=8192)
    def pointers(tokens: Word) -> _Pointers:
        tree = nodes_of(tokens, written)
        if bound:
            tree = cut(tree, depth) if bound == "cut" else flat(tree, depth, traversal)
        return _Pointers(tree)

    def derived(name: str) -> Pointer:
        return Pointer(name, MEANINGS[name] + where, lambda tokens: getattr(pointers(tokens), name))

    return StateMachine(
        named,
        RULES[traversal],
        tuple(derived(name) for name in USED[traversal]),
        {"at": 0},
        reads=lambda tokens: nodes_of(tokens, written).values,
        writes=writes,
    )


def drop_machine(notation: Notation | None = None, *, writes: Write | None = None) -> StateMachine:
    """The machine that drops all tokens but values, and needs no pointer.

    Example:
        >>> from weft.theory.recursion import drop_machine
        >>> drop_machine()(tuple("Branch a Branch b Leaf Leaf Branch c Leaf Leaf".split()))
        ('a', 'b', 'c')
    """
    written = notation or Notation()
    return StateMachine(
        "values in the order of the input",
        (Rule("k <= L", emit="input[k]"),),
        reads=lambda tokens: nodes_of(tokens, written).values,
        writes=writes,
    )


def traversal_candidates(
    traversal: Traversal, notation: Notation, deepest: int, longest: int, writes: Write | None
) -> Iterator[Candidate]:
    """All machines with all values of their parameters, in the order in which they are preferred.

    Args:
        traversal: the true one.
        notation: how trees are written.
        deepest: the depth of the deepest tree.
        longest: the number of values of the largest one.
        writes: the output, from the values in their order.
    """

    def candidate(kind: str, machine: StateMachine, *, is_true: bool = False) -> Candidate:
        return Candidate(kind, machine, machine.name, is_true)

    true = traversal_machine(traversal, notation, writes=writes)
    yield candidate(traversal, true, is_true=True)
    yield candidate("drop", drop_machine(notation, writes=writes))
    for other in TRAVERSALS:
        if other != traversal:
            yield candidate(other, traversal_machine(other, notation, writes=writes))
    bounds: tuple[Bound, ...] = ("cut", "flat")
    for bound in bounds:
        for depth in range(1, deepest):
            machine = traversal_machine(
                traversal, notation, bound=bound, depth=depth, writes=writes
            )
            yield candidate(bound, machine)
    for cap in range(1, longest):
        rules = tuple(Rule(f"k <= {cap} and ({rule.guard})", **rule.updates) for rule in true.rules)
        yield candidate(
            "capped", replace(true, name=f"{traversal}, first {cap} values", rules=rules)
        )
