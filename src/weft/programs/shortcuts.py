"""Shortcuts: what a model may have learned instead of the binary successor.

"Transformer-Based Models Are Not Yet Perfect At Learning to Emulate Structural Recursion" (arXiv
2401.12947) finds that models look for the run of carries and rewrite it, without recursion.
Compiled, such a shortcut fails on the same inputs as a model that learned it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import weft
from weft.programs.recursion import CALL, NOTHING, ONE, X1, XO, Successor

SHORTCUTS = ("run", "bounded", "longest", "fixed")


class SuccessorShortcut(Successor):
    """What models learn instead of the successor: find the run of carries, and rewrite it.

    A number of L constructors, written with `01` first, is copied up to position i, which becomes
    X1; all after it become XO. `shortcut` says how i is found:

    - `run`: the last position that does not hold X1;
    - `bounded`: the same, but at least L - bound: longer runs are cut off;
    - `longest`: L - d for a longest run of d times X1 anywhere, if the number ends with X1; else L;
    - `fixed`: L - bound, or 1 if that is less, if the number ends with X1; else L.

    If `01` is at i, the number has no XO, and its successor is one constructor longer. A shortcut
    misses that: `01` stays (`all_carry=short`) or becomes X1 (`flip`), unless it is taught these
    numbers (`right`). With `order=constructor`, everything is read from the other end.

    A pointer moves from the end to i, one position per layer. For `longest`, every run loses a
    constructor per layer, and the pointer moves until none is left.
    """

    def __init__(
        self,
        shortcut: str = "run",
        all_carry: str = "short",
        bound: int = 4,
        order: str = "natural",
    ) -> None:
        if shortcut not in SHORTCUTS:
            raise weft.WeftError(
                f"there is no shortcut '{shortcut}'", remedy=f"Choose {', '.join(SHORTCUTS)}"
            )
        if all_carry not in ("short", "flip", "right"):
            raise weft.WeftError(
                f"all_carry is '{all_carry}'", remedy="Choose short, flip or right"
            )
        if bound < 0:
            raise weft.WeftError(f"bound is {bound}", remedy="Give at least 0")
        super().__init__(order)
        self.shortcut, self.all_carry, self.bound = shortcut, all_carry, bound
        self.moved = weft.var(2 if shortcut == "longest" else bound + 1)
        self.left = weft.var(2, token=lambda t: t in ("X1", "s"))  # of each run; and the mark
        self.left_beyond = weft.relative(self.left, 1 if order == "constructor" else -1)
        self.mark = weft.number([0, 1], token=lambda t: t == "s")
        self.marks = weft.attend(self.yes, self.left, self.mark, output=weft.number([0, 0.5, 1]))

    def step(self, z: Any) -> None:
        if z.called == CALL:
            z.call = 0 if z.start else z.call_before
        elif self.goes_on(z):
            if z.call:
                z.term = XO
            z.call = 0 if z.start else z.call_before
            if self.shortcut != "run":
                z.moved = min(z.moved + 1, 1 if self.shortcut == "longest" else self.bound)
            if self.shortcut == "longest" and not z.start:
                z.left = int(z.left and z.left_beyond)
        else:
            self.flip(z)
            z.done = 1

    def flip(self, z: Any) -> None:
        """Write the constructor before the run."""
        if z.called != ONE or self.all_carry == "flip":
            if z.call:
                z.term = X1
        elif self.all_carry == "right":
            if z.call:
                z.term = XO
            elif z.term == NOTHING:
                z.term = ONE

    def goes_on(self, z: Any) -> Any:
        """Whether the pointer has not reached i yet."""
        if self.shortcut == "run":
            return z.called == X1
        if self.shortcut == "bounded":
            return z.called == X1 and z.moved < self.bound
        if self.shortcut == "fixed":
            return (z.called == X1 or z.moved) and z.called != ONE and z.moved < self.bound
        return (
            z.called == X1 or z.moved
        ) and z.marks != 1  # otherwise the mark is all that is left

    def decode(self, stream: weft.Stream) -> Any:
        """The constructors that are left, which need not be a number."""
        return " ".join(self._words(stream))

    def task(self, tokens: Sequence[Any]) -> Any:
        """The same, by the definition."""
        words = list(self._turned(tokens)[-2:0:-1])  # 01 first
        end = len(words) - 1
        runs = [len(list(run)) for word, run in itertools.groupby(words) if word == "X1"]
        last = max(place for place, word in enumerate(words) if word != "X1")
        place = {
            "run": last,
            "bounded": max(last, end - self.bound),
            "longest": end - max(runs, default=0) if words[end] == "X1" else end,
            "fixed": max(0, end - self.bound) if words[end] == "X1" else end,
        }[self.shortcut]
        carried = {"short": ["01"], "flip": ["X1"], "right": ["01", "XO"]}[self.all_carry]
        flipped = carried if words[place] == "01" else ["X1"]
        made = [*words[:place], *flipped, *["XO"] * (end - place)]
        return " ".join(made if self.order == "natural" else made[::-1])
