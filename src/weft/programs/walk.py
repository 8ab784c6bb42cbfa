"""Tree traversal without levels: recursion that is as deep as the input allows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import weft
from weft.programs.recursion import DESCEND, DONE, RETURN, Traversal

CLOSED, FIRST, SECOND, BOTTOM = range(4)


class TreeWalk(Traversal):
    """The nodes of a binary tree in order, at any depth: calls return by walking back.

    Trees and orders are those of `tree-traversal`. A node is open while one of its subtrees is
    walked, and knows which. The innermost open node is the last one before the current position, so
    a pointer finds it by moving left, one position per layer: past nodes that are closed, to the
    one whose second subtree is next. The start mark ends the search, and the run.

    No variable counts, so the same rules serve any depth; in exchange, a return takes as many
    layers as its subtree has tokens. Five heads; no variable has more values than there are tokens.
    """

    max_layers = 1 << 16

    def __init__(self, order: str = "in", letters: str = "abcdefgh") -> None:
        self.tokens = [*self._choose(order, letters, mark="^"), "$"]
        self.token = weft.var(len(self.tokens), token=self.tokens.index)
        self.end = len(self.tokens) - 1
        self.mode = weft.var(3)
        self.state = weft.var(4, token=lambda t: BOTTOM if t == self.mark else CLOSED)
        self.out = weft.var(len(letters) + 1, default=self.blank)
        self.walker = weft.var(2, token=lambda t: t == self.mark)
        self.finger = weft.var(2)
        self.writer = weft.var(2, token=lambda t: t == self.mark)
        self.yes = weft.var(2, default=1)
        self.walker_left = weft.relative(self.walker, -1)
        self.finger_right = weft.relative(self.finger, 1)
        self.writer_left = weft.relative(self.writer, -1)
        self.walked = weft.attend(self.yes, self.walker, self.token)
        self.caller = weft.attend(self.yes, self.finger, self.token)
        self.caller_state = weft.attend(self.yes, self.finger, self.state)
        self.output = self.out
        self.halt = self.mode == DONE

    def step(self, z: Any) -> None:
        if z.mode == DESCEND:
            if z.walked == self.leaf:
                z.mode = RETURN
                z.finger = z.walker
            else:
                self.enter(z)
        elif z.caller_state == BOTTOM:
            z.mode = DONE
        elif z.caller_state == FIRST:
            self.turn(z)
        else:
            self.leave(z)

    def enter(self, z: Any) -> None:
        """Open a node; its first subtree comes next in the input."""
        if z.walked != self.start:
            if self.order == "pre":
                self.emit(z, z.walked)
            if z.walker:
                z.state = FIRST
        self.move_on(z)

    def turn(self, z: Any) -> None:
        """Between the subtrees; the second one comes next in the input."""
        if self.order == "in":
            self.emit(z, z.caller)
        if z.finger:
            z.state = SECOND
        z.finger = 0
        z.mode = DESCEND
        self.move_on(z)

    def leave(self, z: Any) -> None:
        """Close a node whose subtrees are both done, or pass a closed one; search on."""
        if z.caller_state == SECOND:
            if self.order == "post":
                self.emit(z, z.caller)
            if z.finger:
                z.state = CLOSED
        if z.token != self.end:
            z.finger = z.finger_right

    def move_on(self, z: Any) -> None:
        """Move the walker one position to the right."""
        z.walker = 0 if z.token == self.start else z.walker_left

    def encode(self, text: str) -> Sequence[Any]:
        """A tree, between marks."""
        return [*super().encode(text.strip().removesuffix("$")), "$"]

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random tree."""
        return [*super().sample(rng, length - 1), "$"]
