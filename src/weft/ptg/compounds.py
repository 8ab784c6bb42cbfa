"""Drawing and writing compound statements of random programs.

They are drawn in two passes. The shape comes first (which blocks, how many lines, the smallest and
the largest number of steps), so that the sampler can decide whether it fits; then its blocks are
filled.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.ptg import machine as codes
from weft.ptg.machine import Block, Instruction
from weft.ptg.statements import StatementWriter
from weft.ptg.steering import BODY, FIXED, ROUND


@dataclass(slots=True)
class Shape:
    """The statements of a block, in order; `None` is a simple statement.

    Attributes:
        children: the statements.
        lines: lines of source.
        least, most: the smallest and the largest number of steps.
    """

    children: list[Compound | None]
    lines: int
    least: int
    most: int


@dataclass(slots=True)
class Compound:
    """An `if` or a counted loop.

    Attributes:
        body: its block.
        lines, least, most: as those of a block.
        otherwise: the block of `else`, if there is one.
        trips: number of iterations; of an `if`, 0.
    """

    body: Shape
    lines: int
    least: int
    most: int
    otherwise: Shape | None = None
    trips: int = 0


class Writer(StatementWriter):
    """Writes the statements of one program; `begin` starts another."""

    def block_shape(self, room: int, depth: int, loops: int) -> Shape | None:
        """Draw the statements of a block, which has at most `room` lines; None if there are none.

        Args:
            room: the largest number of lines.
            depth: how deep the block is, from 1.
            loops: number of loops around its statements.
        """
        count = 1 + int(self.random() * BODY)
        if depth >= self.language.depth:
            return simple_shape(min(count, room)) if room > 0 else None
        children: list[Compound | None] = []
        lines = least = most = 0
        while len(children) < count and lines < room:
            compound = self.random() >= self.simple_share
            child = self._child(room - lines, depth, loops) if compound else None
            children.append(child)
            lines += 1 if child is None else child.lines
            least += 1 if child is None else child.least
            most += 1 if child is None else child.most
        return Shape(children, lines, least, most) if children else None

    def _child(self, room: int, depth: int, loops: int) -> Compound | None:
        """Draw an `if` or a loop within a block; None if there is no room."""
        if self.random() * (1 - self.simple_share) < self.branch_share - self.simple_share:
            return self.branch_shape(room, depth, loops)
        if loops >= self.sizes.nesting:
            return None
        body = self.block_shape(room - FIXED, depth + 1, loops + 1)
        if body is None:
            return None
        low, high = self.sizes.trips
        trips = low + int(self.random() * (high - low + 1))
        least, most = (trips * (steps + ROUND) + ROUND for steps in (body.least, body.most))
        return Compound(body, body.lines + FIXED, least, most, trips=trips)

    def branch_shape(self, room: int, depth: int, loops: int) -> Compound | None:
        """Draw an `if` of at most `room` lines that stands in a block of this depth."""
        body = self.block_shape(room - 1, depth + 1, loops)
        if body is None or not self.booleans:
            return None
        lines, least, most, otherwise = 1 + body.lines, 0, 0, None
        if self.language.else_blocks and self.random() < self.weights.otherwise:
            otherwise = self.block_shape(room - lines - 1, depth + 1, loops)
        if otherwise is not None:
            lines, least, most = lines + 1 + otherwise.lines, otherwise.least, otherwise.most
        return Compound(
            body, lines, 1 + min(least, body.least), 1 + max(most, body.most), otherwise
        )

    def fill(
        self, children: list[Compound | None], indent: int, times: int = 1, loops: int = 0
    ) -> Block:
        """Write the statements of a block.

        Args:
            children: what was drawn.
            indent: how deep they stand.
            times: the largest number of times that they are executed.
            loops: number of loops around them.
        """
        block: Block = []
        for place, child in enumerate(children, 1):
            if child is None:
                followed = place < len(children) and children[place] is None
                block.append(self.simple(indent, times, followed=followed))
            elif child.trips:
                block.append(self.counted(child.body, child.trips, indent, times, loops))
            else:
                condition = int(self.random() * self.booleans)
                block.append(self.branch(child, condition, indent, times, loops))
        return block

    def branch(
        self, shape: Compound, condition: int, indent: int, times: int = 1, loops: int = 0
    ) -> Instruction:
        """Write an `if`."""
        self.nested = True
        fragments = self.fragments
        self.code.append(
            fragments.indent[indent] + self.if_ + fragments.boolean[condition] + self.block_begins
        )
        head = fragments.head[len(self.code) + self.first_label] + fragments.newline
        self.branches = True
        body = self.fill(shape.body.children, indent + 1, times, loops)
        otherwise: Block = []
        if shape.otherwise is not None:
            self.code.append(fragments.indent[indent] + self.else_line)
            otherwise = self.fill(shape.otherwise.children, indent + 1, times, loops)
        return (codes.IF, head, condition, body, otherwise)

    def counted(
        self, body: Shape, trips: int, indent: int, times: int = 1, loops: int = 0
    ) -> Instruction:
        """Write a loop over a counter."""
        self.nested = True
        self.loops += 1
        self.trips = max(self.trips, trips)
        if loops >= self._counters:
            self._counters = loops + 1
            self.bound.append((3, loops))
        condition = self.condition(indent)
        fragments, number = self.fragments, self.fragments.line
        tab, inner = fragments.indent[indent], fragments.indent[indent + 1]
        counter, boolean = fragments.counter[loops], fragments.boolean[condition]
        start = self._head(tab + counter + fragments.assign + number[0], counter) + number[0]
        test = boolean + fragments.assign + counter + self.unequal + number[trips]
        first = self._head(tab + test, boolean)
        head = self._while(tab, boolean)
        block = self.fill(body.children, indent + 1, times * trips, loops + 1)
        step = self._head(
            inner + counter + fragments.assign + counter + self.plus + number[1], counter
        )
        again = self._head(inner + test, boolean)
        return (codes.COUNTED, start, first, head, step, again, loops, condition, trips, block)

    def _while(self, tab: bytes, boolean: bytes) -> bytes:
        """Write the header of a loop; its trace line."""
        self.code.append(tab + self.while_ + boolean + self.block_begins)
        return self.fragments.head[len(self.code) + self.first_label] + self.fragments.newline

    def data_loop(self, body: Shape, left: int, right: int, *, literal: bool) -> Instruction:
        """Write a loop that moves an integer by 1 until it equals a number or a variable."""
        self.nested = True
        self.loops += 1
        value = self.machine.integers[left]
        goal = right if literal else self.machine.integers[right]
        trips = abs(goal - value)
        self.trips = max(self.trips, trips)
        self.frozen |= {left} if literal else {left, right}
        self.written.add(left)
        fragments = self.fragments
        tab, inner = fragments.indent[1], fragments.indent[2]
        condition = self.condition(1)
        boolean, name = fragments.boolean[condition], fragments.integer[left]
        test = boolean + fragments.assign + name + self.unequal
        test += fragments.number[right] if literal else fragments.integer[right]
        test += fragments.newline
        first = self._head(tab + test, boolean)
        head = self._while(tab, boolean)
        place = int(self.random() * (len(body.children) + 1))
        block = self.fill(body.children[:place], 2, trips)
        sign = self.plus if goal > value else self.minus
        line = inner + name + fragments.assign + name + sign + fragments.line[1]
        step = 1 if goal > value else -1
        block.append((codes.SUM, self._head(line, name), left, left, step))
        block += self.fill(body.children[place:], 2, trips)
        again = self._head(inner + test, boolean)
        number = right if literal else None
        return (
            codes.DATA, first, head, again, condition, left, number, None if literal else right,
            block,
        )  # fmt: skip


def simple_shape(count: int) -> Shape:
    """A block of simple statements."""
    return Shape([None] * count, count, count, count)
