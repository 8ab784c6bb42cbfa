"""Steering of the sampler to a number of lines and a window of steps.

Suppose that r lines are left. They take at least r steps, if they are simple statements, and at
most `reach(r)`, if they are the loops with the most steps. A statement is allowed if the window can
still be reached after it: steps so far + r must not be above it, and steps so far + reach(r) must
not be below it.
"""

from __future__ import annotations

from random import Random

from weft.ptg.sizes import Sizes, Window

BODY = 3
"""The largest number of statements of a block."""
FIXED = 5
"""Lines of a counted loop besides its body."""
ROUND = 3
"""Steps of every iteration of a counted loop besides its body; also those around the iterations."""
AIM = 5
"""Half the width of the window around a number of steps that is aimed at."""


class Plan:
    """The lines and steps that are left of a program.

    Attributes:
        reach: by number of lines, the largest number of steps that statements of these may take.
        left: lines that are left.
        least, most: bounds of the number of steps so far; equal if the program is executed.
        pending: variables that are still to get their first value, each in a line of its own.
    """

    def __init__(self, sizes: Sizes) -> None:
        self.trips = sizes.trips
        self.reach = [0]
        for lines in range(1, sizes.lines[1] + 1):
            best = self.reach[lines - 1] + 1
            for body in range(1, BODY + 1):
                if body + FIXED <= lines:
                    steps = sizes.trips[1] * (body + ROUND) + ROUND
                    best = max(best, steps + self.reach[lines - body - FIXED])
            self.reach.append(best)
        self.start(0, 0, 0)

    def start(self, left: int, low: int, high: int) -> bool:
        """Begin a program of `left` lines and `low` to `high` steps; whether there is one."""
        self.left, self.low, self.high = left, low, high
        self.least = self.most = self.pending = 0
        return left <= high and self.reach[left] >= low

    def aim(self, random: Random, left: int, window: Window) -> Window:
        """A narrow window around a number of steps that is drawn uniformly from a wide one."""
        least, most = max(window[0], left), min(window[1], self.reach[left])
        if least > most:
            return window
        goal = least + int(random.random() * (most - least + 1))
        return max(window[0], goal - AIM), min(window[1], goal + AIM)

    def allows(self, lines: int, least: int, most: int) -> bool:
        """Whether statements of this many lines and steps leave a way to the window."""
        left = self.left - lines
        if left < self.pending or self.most + most + left > self.high:
            return False
        return self.least + least + self.reach[left - self.pending] + self.pending >= self.low

    def loop(self, lines: int, least: int, most: int, around: int) -> Window | None:
        """The numbers of iterations that leave a way to the window; None if there are none.

        Args:
            lines: lines of the loop.
            least: the smallest number of steps of an iteration.
            most: the largest.
            around: steps besides those of the iterations.
        """
        left = self.left - lines
        if left < self.pending:
            return None
        missing = self.low - self.least - around - self.reach[left - self.pending] - self.pending
        low = max(self.trips[0], -(-missing // least))
        high = min(self.trips[1], (self.high - self.most - around - left) // most)
        return (low, high) if low <= high else None
