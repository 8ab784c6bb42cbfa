"""Structural recursion: binary successor and tree traversal.

Both tasks are those of "Transformer-Based Models Are Not Yet Perfect At Learning to Emulate
Structural Recursion" (arXiv 2401.12947). Data are sequences of constructors, outermost first; a
function has one equation per constructor. Models that learn them from examples find shortcuts,
which fail on deep recursion. These programs do recurse.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import weft

ONE, XO, X1, CALL, NOTHING = range(5)
DIGITS = {"01": "1", "XO": "0", "X1": "1"}


class Successor(weft.Program):
    """The successor of a binary number, by its three equations, one call per layer.

    Numbers are `01`, which is one, `XO b`, twice b, and `X1 b`, twice b plus one; the call `s`
    stands before its argument. Only the last equation recurses: the call moves on to b. All
    positions attend to the constructor that the call has reached, so they halt together.

    With `order=natural`, numbers are written from the other end, as in `01 XO X1`, and the call
    moves from right to left.

    d + 2 layers for a number that begins with d times X1, whatever its length. Two heads; no
    variable has more than five values.
    """

    def __init__(self, order: str = "constructor") -> None:
        if order not in ("constructor", "natural"):
            remedy = "Choose constructor or natural"
            raise weft.WeftError(f"there is no order '{order}'", remedy=remedy)
        self.order = order
        self.tokens = ["01", "XO", "X1", "s", "_"]
        self.term = weft.var(5, token=["01", "XO", "X1", "s", "_"].index)
        self.start = weft.var(2, token=lambda t: t == "s")
        self.call = weft.var(2, token=lambda t: t == "s")
        self.done = weft.var(2)
        self.yes = weft.var(2, default=1)
        self.call_before = weft.relative(self.call, -1 if order == "constructor" else 1)
        self.called = weft.attend(self.yes, self.call, self.term)
        self.output = self.term
        self.halt = self.done == 1

    def step(self, z: Any) -> None:
        if z.called == ONE:  # s(01) = XO 01
            if z.call:
                z.term = XO
            elif z.term == NOTHING:
                z.term = ONE
            z.done = 1
        elif z.called == XO:  # s(XO b) = X1 b
            if z.call:
                z.term = X1
            z.done = 1
        else:
            if z.called == X1 and z.call:  # s(X1 b) = XO s(b)
                z.term = XO
            z.call = 0 if z.start else z.call_before

    def encode(self, text: str) -> Sequence[Any]:
        """A number, as in 11, or its constructors, as in X1 X1 XO 01; with room for one more."""
        words = text.split()
        if len(words) == 1 and words[0].isdecimal() and words[0] != "01" and int(words[0]) > 0:
            return self._marked(constructors(int(words[0])))
        words = self._turned(words)
        if words[-1:] != ["01"] or not set(words[:-1]) <= {"XO", "X1"}:
            example = " ".join(self._turned(constructors(11)))
            raise weft.WeftError(
                "this is not a binary number of at least 1",
                remedy=f"Write it as 11, or as {example}",
            )
        return self._marked(words)

    def decode(self, stream: weft.Stream) -> Any:
        """The number."""
        return number_of(self._turned(self._words(stream)))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A number of about `length` constructors; all recursion depths are equally likely."""
        digits = max(0, length - 3)
        depth = rng.randint(0, digits)
        rest = ["XO", *rng.choices(["XO", "X1"], k=digits)][: digits - depth]
        return self._marked(["X1"] * depth + rest + ["01"])

    def task(self, tokens: Sequence[Any]) -> Any:
        """The number plus one."""
        return number_of(self._turned(tokens)[1:-1]) + 1

    def _turned(self, words: Sequence[Any]) -> Sequence[Any]:
        """Words in the program's order in constructor order, or the other way round."""
        return words[::-1] if self.order == "natural" else words

    def _marked(self, words: Sequence[Any]) -> Sequence[Any]:
        """Tokens for a number in constructor order: the call, and room for one constructor more."""
        return self._turned(["s", *words, "_"])

    def _words(self, stream: weft.Stream) -> list[str]:
        """The constructors that were written, in the program's order."""
        terms: Any = stream["term"]
        return [self.vocabulary.name(term) for term in terms if term < CALL]


def constructors(number: int) -> list[str]:
    """A number as a sequence of constructors, least significant digit first."""
    return ["X1" if digit == "1" else "XO" for digit in reversed(f"{number:b}"[1:])] + ["01"]


def number_of(words: Sequence[str]) -> int:
    """The number that a sequence of constructors stands for."""
    return int("".join(DIGITS[word] for word in reversed(words)), 2)


DESCEND, RETURN, DONE = range(3)
DEEPEST = 200
"""The maximum depth of a tree whose traversal does not count; Python's own recursion is limited."""


class Traversal(weft.Program):
    """The nodes of a binary tree in order, by a recursion that returns by attention.

    A tree is `.`, or a letter and its two subtrees: `ab..c..` is a with the children b and c. A
    flag moves over the input, and all positions know how many calls are open. A node whose call is
    open keeps its level, the number of open calls at that time. So the node to return to is the one
    whose level is the number of open calls: the sequence itself is the stack.

    4N + 2 layers for N nodes: to enter, turn at and leave each, one per leaf, and one to start.
    Five heads; two variables with a value for each level. `order` is `pre`, `in` or `post`.
    """

    def __init__(self, order: str = "in", letters: str = "abcdefgh", depth: int = 5) -> None:
        self.tokens = self._choose(order, letters, depth)
        self.closed = depth + 1  # the level of a node without an open call
        self.token = weft.var(len(letters) + 2, token=self.tokens.index)
        self.mode = weft.var(3)
        self.calls = weft.var(depth + 2)
        self.level = weft.var(depth + 2, default=self.closed)
        self.innermost = weft.var(2)  # whether the level is that of the last open call
        self.second = weft.var(2)  # whether the second subtree is being walked
        self.out = weft.var(len(letters) + 1, default=self.blank)
        self.walker = weft.var(2, token=lambda t: t == self.mark)
        self.writer = weft.var(2, token=lambda t: t == self.mark)
        self.yes = weft.var(2, default=1)
        self.walker_left = weft.relative(self.walker, -1)
        self.writer_left = weft.relative(self.writer, -1)
        self.walked = weft.attend(self.yes, self.walker, self.token)
        self.caller = weft.attend(self.calls, self.level, self.token)
        self.caller_second = weft.attend(self.calls, self.level, self.second)
        self.output = self.out
        self.halt = self.mode == DONE

    def _choose(self, order: str, letters: str, depth: int = DEEPEST, mark: str = "s") -> list[str]:
        """Set what does not depend on the algorithm; returns the tokens."""
        if order not in ("pre", "in", "post"):
            raise weft.WeftError(f"there is no order '{order}'", remedy="Choose pre, in or post")
        if not letters or len({*letters, ".", mark}) < len(letters) + 2:
            remedy = f"Give different letters, without '.' and '{mark}'"
            raise weft.WeftError(f"the letters are '{letters}'", remedy=remedy)
        self.order, self.letters, self.depth, self.mark = order, letters, depth, mark
        self.leaf, self.start, self.blank = len(letters), len(letters) + 1, len(letters)
        return [*letters, ".", mark]

    def step(self, z: Any) -> None:
        if z.mode == DESCEND:
            if z.walked == self.leaf:
                z.mode = RETURN if z.calls else DONE
            elif z.walked != self.start:
                self.enter(z)
            z.walker = 0 if z.token == self.start else z.walker_left
        elif z.mode == RETURN:
            if z.caller_second:
                self.leave(z)
            else:
                self.turn(z)

    def enter(self, z: Any) -> None:
        """Call: the first subtree comes next in the input."""
        if self.order == "pre":
            self.emit(z, z.walked)
        z.calls += 1
        if z.walker:
            z.level = z.calls
        z.innermost = z.walker

    def turn(self, z: Any) -> None:
        """Between the subtrees; the second one comes next in the input."""
        if self.order == "in":
            self.emit(z, z.caller)
        if z.innermost:
            z.second = 1
        z.mode = DESCEND

    def leave(self, z: Any) -> None:
        """Return from a node whose subtrees are both done."""
        if self.order == "post":
            self.emit(z, z.caller)
        z.calls -= 1
        z.innermost, leaves = int(z.level == z.calls), z.innermost
        if leaves:
            z.level = self.closed
        if z.calls == 0:
            z.mode = DONE

    def emit(self, z: Any, node: Any) -> None:
        """Write a node at the writer's position, and move the writer on."""
        if z.writer:
            z.out = node
        z.writer = 0 if z.token == self.start else z.writer_left

    def encode(self, text: str) -> Sequence[Any]:
        """A tree, behind a start mark."""
        tokens = self.vocabulary.parse(text.strip().removeprefix(self.mark))
        rest = iter(tokens)
        height = self.height(rest)
        if height is None or height > self.depth or next(rest, None) is not None:
            deep = height is not None and height > self.depth
            raise weft.WeftError(
                f"it is {height} deep" if deep else "a node does not have two subtrees",
                remedy=f"Write a tree of depth {self.depth} at most, as in ab..c..",
            )
        return [self.mark, *tokens]

    def height(self, tokens: Iterator[Any]) -> int | None:
        """The depth of the tree that begins here; None if it does not end."""
        node = next(tokens, None)
        if node == ".":
            return 0
        if node is None or node not in self.letters:
            return None
        first, second = self.height(tokens), self.height(tokens)
        return None if first is None or second is None else 1 + max(first, second)

    def decode(self, stream: weft.Stream) -> Any:
        """The nodes in the order in which they were written."""
        nodes: Any = stream["out"]
        return "".join(self.letters[node] for node in nodes if node != self.blank)

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random tree."""
        return [self.mark, *self.grow(rng, max(0, length - 2) // 2, self.depth)]

    def grow(self, rng: random.Random, nodes: int, depth: int) -> list[str]:
        """A random tree with `nodes` nodes, or fewer if it would be too deep."""
        nodes = min(nodes, 2**depth - 1)
        if nodes == 0:
            return ["."]
        room = 2 ** (depth - 1) - 1  # in each subtree
        first = rng.randint(max(0, nodes - 1 - room), min(nodes - 1, room))
        subtrees = (self.grow(rng, size, depth - 1) for size in (first, nodes - 1 - first))
        return [rng.choice(self.letters), *(token for tree in subtrees for token in tree)]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The same by recursion in Python."""
        return self.visit(iter(tokens[1:]))

    def visit(self, tokens: Iterator[Any]) -> str:
        """The nodes of the tree that begins here."""
        node: str = next(tokens)
        if node == ".":
            return ""
        first, second = self.visit(tokens), self.visit(tokens)
        orders = {"pre": node + first + second, "in": first + node + second}
        return orders.get(self.order, first + second + node)
