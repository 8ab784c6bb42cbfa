"""Fast execution of sampled programs: a trace as tokens.

The sampler's own representation of a program is a tuple of instructions with variables by number
and the tokens that each instruction writes. It is independent of the parser and the interpreter,
which read the text of the same program; tests compare the two.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from weft.ptg.fragments import Fragments

Instruction: TypeAlias = tuple[Any, ...]
"""A code, the tokens of its trace line or of their beginning, and operands."""
Block: TypeAlias = list[Instruction]

# Codes, from frequent to rare. After the code come the tokens, then:
SUM = 0  # target, variable, number
COPY = 1  # target, variable
CONSTANT = 2  # target, number (the tokens are the whole line)
ITEM = 3  # target, list, number
LENGTH = 4  # target, list
EQUALS = 5  # target, variable, number, whether `==`
EQUALS_VARIABLE = 6  # target, variable, variable, whether `==`
APPEND = 7  # list, number
APPEND_VARIABLE = 8  # list, variable
POP = 9  # list
IF = 10  # Boolean, body, otherwise (whole line)
COUNTED = 11  # tokens of start, test, while, step, test; counter, Boolean, trips, body
DATA = 12  # tokens of test, while, test; Boolean, variable, number or None, variable, body
PRODUCT = 13  # target, variable, number
PRODUCT_VARIABLE = 14  # target, variable, variable
ITEM_VARIABLE = 15  # target, list, variable


class Machine:
    """The state of a run and its trace so far.

    Attributes:
        integers: values by number of the variable, as are the following.
        booleans: values.
        lists: values, changed in place.
        counters: values by depth; None for a counter that has not been set.
        trace: the tokens of each trace line.
        longest: the largest length that a list has had by an append.
    """

    def __init__(self, fragments: Fragments) -> None:
        self.line, self.number = fragments.line, fragments.number
        self.true, self.false = fragments.true_line, fragments.false_line
        self.comma = fragments.comma
        self.open, self.close = (fragments.tokeniser.encode(text) for text in ("[", "]\n"))
        self.depth = len(fragments.counter)
        self.start([], [], [])

    def start(self, integers: list[int], booleans: list[bool], lists: list[list[int]]) -> None:
        """Begin a run with these values."""
        self.integers, self.booleans, self.lists = integers, booleans, lists
        self.counters: list[int | None] = [None] * self.depth
        self.trace: list[bytes] = []
        self.longest = 0

    def run(self, block: Block) -> None:
        """Execute instructions."""
        integers, line, out = self.integers, self.line, self.trace.append
        for instruction in block:
            code, head = instruction[0], instruction[1]
            if code == SUM:
                value = integers[instruction[2]] = integers[instruction[3]] + instruction[4]
                out(head + line[value])
            elif code == COPY:
                value = integers[instruction[2]] = integers[instruction[3]]
                out(head + line[value])
            elif code == CONSTANT:
                integers[instruction[2]] = instruction[3]
                out(head)
            elif code == ITEM:
                value = integers[instruction[2]] = self.lists[instruction[3]][instruction[4]]
                out(head + line[value])
            elif code == LENGTH:
                value = integers[instruction[2]] = len(self.lists[instruction[3]])
                out(head + line[value])
            elif code == EQUALS:
                _, _, target, left, number, equal = instruction
                holds = self.booleans[target] = (integers[left] == number) == equal
                out(head + (self.true if holds else self.false))
            elif code == EQUALS_VARIABLE:
                _, _, target, left, right, equal = instruction
                holds = self.booleans[target] = (integers[left] == integers[right]) == equal
                out(head + (self.true if holds else self.false))
            elif code <= POP:
                self._change(instruction)
            elif code == IF:
                out(head)
                self.run(instruction[3] if self.booleans[instruction[2]] else instruction[4])
            elif code == COUNTED:
                self._count(instruction)
            else:
                self._rare(instruction)

    def _change(self, instruction: Instruction) -> None:
        """An append or a pop."""
        code, head, name = instruction[0], instruction[1], instruction[2]
        values = self.lists[name]
        if code == POP:
            values.pop()
        else:
            number = instruction[3]
            values.append(number if code == APPEND else self.integers[number])
            if len(values) > self.longest:
                self.longest = len(values)
        self.trace.append(head + self.written(values))

    def written(self, values: list[int]) -> bytes:
        """The tokens of a list and a line break."""
        number = self.number
        return self.open + self.comma.join([number[value] for value in values]) + self.close

    def _count(self, instruction: Instruction) -> None:
        """A loop over a counter."""
        _, start, test, head, step, again, depth, condition, trips, body = instruction
        booleans, true, false, line, out = (
            self.booleans, self.true, self.false, self.line, self.trace.append,
        )  # fmt: skip
        out(start)
        holds = booleans[condition] = trips != 0
        out(test + (true if holds else false))
        out(head)
        count = 0
        while holds:
            self.run(body)
            count += 1
            out(step + line[count])
            holds = booleans[condition] = count != trips
            out(again + (true if holds else false))
            out(head)
        self.counters[depth] = count

    def _rare(self, instruction: Instruction) -> None:
        """Instructions that the default language does not have."""
        code, head, integers = instruction[0], instruction[1], self.integers
        if code == DATA:
            self._loop(instruction)
            return
        _, _, target, left, right = instruction
        if code == PRODUCT:
            value = integers[left] * right
        elif code == PRODUCT_VARIABLE:
            value = integers[left] * integers[right]
        else:
            value = self.lists[left][integers[right]]
        integers[target] = value
        self.trace.append(head + self.line[value])

    def _loop(self, instruction: Instruction) -> None:
        """A loop until two values are equal."""
        _, test, head, again, condition, left, number, right, body = instruction
        integers, out = self.integers, self.trace.append
        while True:
            holds = integers[left] != (integers[right] if number is None else number)
            self.booleans[condition] = holds
            out(test + (self.true if holds else self.false))
            out(head)
            if not holds:
                return
            self.run(body)
            test = again
