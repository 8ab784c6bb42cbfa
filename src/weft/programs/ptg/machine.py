"""The trace machine: a program of the trace language, executed one line per two layers.

>>> import weft
>>> machine = weft.program("trace-machine")
>>> weft.run(machine, "def f(a,b):\\n\\ta = a + 1\\n\\tb = a\\n\\treturn\\nf(a=3,b=0)").result
{'a': 4, 'b': 4}
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

import weft
from weft.programs.ptg.memory import (
    APPEND,
    BRANCH,
    COPY,
    DIFFER,
    EQUAL,
    FIELDS,
    MINUS,
    OPERATIONS,
    POP,
    RETURN,
    Loaded,
    Memory,
    check_memory,
    load,
)
from weft.programs.ptg.random_runs import random_run
from weft.programs.ptg.simulator import EMPTY, cell_of, final_state, simulate, value_of
from weft.ptg.inputs import read_inputs
from weft.ptg.language import Language, Value
from weft.ptg.parser import parse
from weft.ptg.tracing import Step, Trace

LABEL = re.compile(r"^L[0-9]+ ", re.MULTILINE)
CALL = re.compile(r"^f\((.*)\)$")
EXAMPLE = r"Write it as in 'def f(a):\n\ta = a + 1\n\treturn\nf(a=3)'"


class TraceMachine(weft.Program):
    """Programs of the trace language, one line every two layers.

    The input is a memory with one value per position, and then five words for each line: what to
    do, the address of the target, those of two operands, and the line to go to. All positions know
    the line that is next. In the first layer all of them fetch its words, and a cell compares its
    own address with that of the target. In the second they fetch the operands; the target takes the
    result, and all go to the next line.

    A number is a sign, its tens and its last digit, so arithmetic is that of digits, and no table
    grows with the square of the largest number. Each element of a list has a cell, and knows
    the length of the list, so it knows whether an append is meant for it.

    `encode` translates source and call into this form. It needs `lines` besides that of `def`, and
    a cell for each of `ints`, `counters`, `bools`, for `lists` of up to `capacity` elements, and
    for the numbers 0 to `largest`. Values have up to `tens` tens. Blocks may be nested; `else` and
    loops over program variables work too. A run of T trace lines takes 2 T layers; 13 heads.
    """

    max_layers = 20_000

    def __init__(
        self,
        lines: int = 6,
        ints: int = 2,
        counters: int = 1,
        bools: int = 1,
        lists: int = 1,
        capacity: int = 2,
        largest: int = 2,
        tens: int = 2,
    ) -> None:
        memory = Memory(ints, counters, bools, lists, capacity, largest, lines, 10 * tens - 1)
        check_memory(memory)
        cells, most = memory.cells, memory.capacity
        self.memory = memory
        self.tokens = memory.words()
        self.positions = cells + FIELDS * lines
        self.list_of = tuple(map(memory.list_at, range(cells)))

        # The words.
        self.sign = weft.var(2, token=lambda t: is_number(t) and t < 0)
        self.tens = weft.var(tens, token=lambda t: abs(t) // 10 if is_number(t) else 0)
        self.ones = weft.var(11, token=lambda t: abs(t) % 10 if is_number(t) else EMPTY)
        self.operation = weft.var(len(OPERATIONS), token=in_group(OPERATIONS))
        self.address = weft.var(cells, token=in_group([f"@{n}" for n in range(cells)]))
        self.line = weft.var(lines, token=in_group([f">{n}" for n in range(lines)]))

        # What a position is: a cell, the length or an element of a list, a word of a line.
        self.here = weft.var(cells + 1, position=lambda i: min(i, cells))
        self.owner = weft.var(lists + 1, position=memory.list_at)
        self.index = weft.var(most + 1, position=memory.index_at)
        self.length = weft.var(
            most + 1, token=lambda t: t if is_number(t) and 0 <= t <= most else 0
        )
        self.header = weft.var(lists + 1, position=header_of(memory))
        at = [word_of_line(cells, lines, word) for word in range(FIELDS)]
        self.has_operation = weft.var(lines + 1, position=at[0])
        self.has_target = weft.var(lines + 1, position=at[1])
        self.has_left = weft.var(lines + 1, position=at[2])
        self.has_right = weft.var(lines + 1, position=at[3])
        self.has_next = weft.var(lines + 1, position=at[4])

        # First layer: the words of the line, and whether they mean this cell.
        self.pc = weft.var(lines + 1)
        self.found_operation = weft.attend(self.pc, self.has_operation, self.operation)
        self.found_target = weft.attend(self.pc, self.has_target, self.address)
        self.found_left = weft.attend(self.pc, self.has_left, self.address)
        self.found_right = weft.attend(self.pc, self.has_right, self.address)
        self.found_else = weft.attend(self.pc, self.has_right, self.line)
        self.found_next = weft.attend(self.pc, self.has_next, self.line)
        self.found_length = weft.attend(self.owner, self.header, self.length)
        self.execute = weft.var(2)
        self.do = weft.var(len(OPERATIONS))
        self.left = weft.var(cells + 1)
        self.right = weft.var(cells + 1)
        self.otherwise = weft.var(lines)
        self.is_target = weft.var(2)
        self.in_target = weft.var(2)  # the list that the line changes
        self.is_free = weft.var(2)  # the element behind the last one

        # Second layer: the operands.
        self.left_sign = weft.attend(self.left, self.here, self.sign)
        self.left_tens = weft.attend(self.left, self.here, self.tens)
        self.left_ones = weft.attend(self.left, self.here, self.ones)
        self.right_sign = weft.attend(self.right, self.here, self.sign)
        self.right_tens = weft.attend(self.right, self.here, self.tens)
        self.right_ones = weft.attend(self.right, self.here, self.ones)
        self.done = weft.var(2)
        self.output = self.ones
        self.halt = self.done == 1

    def step(self, z: Any) -> None:
        if not z.execute:
            z.do, z.left, z.right = z.found_operation, z.found_left, z.found_right
            z.pc, z.otherwise = z.found_next, z.found_else
            z.is_target = z.here == z.found_target
            z.in_target = z.owner != 0 and z.owner == self.list_of[z.found_target]
            z.is_free = z.owner != 0 and z.index == z.found_length
            z.execute = 1
            return
        z.execute = 0
        if z.do == RETURN:
            z.done = 1
        elif z.do == BRANCH:
            if z.left_ones == 0:
                z.pc = z.otherwise
        elif z.do == APPEND:
            if z.in_target and z.is_free:
                z.sign, z.tens, z.ones = z.left_sign, z.left_tens, z.left_ones
            if z.is_target:
                resize(z, 1)
        elif z.do == POP:
            if z.is_target:
                resize(z, -1)
        elif z.is_target:
            if z.do == COPY:
                z.sign, z.tens, z.ones = z.left_sign, z.left_tens, z.left_ones
            elif z.do == EQUAL or z.do == DIFFER:
                compare(z)
            else:
                add_one(z)

    def load(self, text: str) -> Loaded:
        """A source and its call in memory, with the lines and addresses that they have there.

        Labels such as `L2` before lines are allowed; without parameters the call may be left out.
        """
        source, _, call = LABEL.sub("", text.strip("\n")).rpartition("\n")
        found = CALL.match(call.strip())
        if found is None:
            if call.strip() != "return":
                raise weft.WeftError(
                    "there is no call behind the program", subject=self.name, remedy=EXAMPLE
                )
            source, arguments = f"{source}\n{call}", ""
        else:
            arguments = found[1]
        program = parse(source + "\n", self.language)
        return load(self.memory, program, read_inputs(arguments))

    @property
    def language(self) -> Language:
        """What programs may use."""
        largest = max(1, self.memory.constants)
        return Language(
            depth=9,
            else_blocks=True,
            data_loops=True,
            literal=largest,
            trips=largest,
            comments=True,
        )

    def encode(self, text: str) -> Sequence[Any]:
        """A source, and a call on a line of its own, as memory and instructions."""
        return self.load(text).words

    def decode(self, stream: weft.Stream) -> dict[str, Any]:
        """The variables that have a value, by canonical name."""
        cells = [cell_of(stream, at) for at in range(self.memory.cells)]
        return final_state(self.memory, cells)

    def task(self, tokens: Sequence[Any]) -> dict[str, Any]:
        """The result of a plain simulator."""
        return final_state(self.memory, simulate(self.memory, tokens))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random program with inputs on which it runs."""
        lines = min(self.memory.instructions, (length - self.memory.cells) // FIELDS)
        program, inputs = random_run(rng, self.memory, max(2, lines))
        return load(self.memory, program, inputs).words

    def traces(self, loaded: Sequence[Loaded]) -> list[Trace]:
        """The traces of loaded programs, read off the layers of the batched interpreter.

        The steps are the lines that `pc` pointed at and the values that their targets then had,
        under the names of the source.
        """
        room = self.memory.cells + FIELDS * self.memory.instructions
        chunk = max(1, 2**16 // room)  # inputs that the interpreter runs together
        found: list[Trace] = []
        for first in range(0, len(loaded), chunk):
            found += self._traces(loaded[first : first + chunk])
        return found

    def _traces(self, loaded: Sequence[Loaded]) -> list[Trace]:
        batch = weft.run_batch(self, [each.words for each in loaded], trace=True)
        steps: list[list[Step]] = [[] for _ in loaded]
        line = [0] * len(loaded)
        final: list[dict[str, Value]] = [{} for _ in loaded]
        for layer in range(2, max(batch.layers) + 1, 2):
            state, start = batch.states(layer, "after"), 0
            for number, each in enumerate(loaded):
                if batch.layers[number] < layer:
                    continue
                end = start + len(each.words)
                stream = {name: state[name][start:end] for name in ("sign", "tens", "ones", "pc")}
                steps[number].append(self._step(each, line[number], stream))
                line[number] = int(stream["pc"][0])
                if layer == batch.layers[number]:
                    final[number] = self._state(each, stream)
                start = end
        return [Trace(tuple(done), values) for done, values in zip(steps, final, strict=True)]

    def _step(self, loaded: Loaded, place: int, stream: Mapping[str, Any]) -> Step:
        line = loaded.lines[place]
        if line.kind in ("if", "while", "return"):
            return Step(line.number)
        return Step(line.number, line.target, self._state(loaded, stream)[line.target])

    def _state(self, loaded: Loaded, stream: Mapping[str, Any]) -> dict[str, Value]:
        cells = [cell_of(stream, at) for at in range(self.memory.cells)]
        values = {name: value_of(cells, name, at) for name, at in loaded.addresses.items()}
        return {name: value for name, value in values.items() if value is not None}


def resize(z: Any, change: int) -> None:
    """A header takes the new length of its list."""
    z.length += change
    z.tens, z.ones = z.length // 10, z.length % 10


def compare(z: Any) -> None:
    """The target takes whether the operands are equal, or differ."""
    same = (  # reads all parts, so that none may be undefined
        int(z.left_sign == z.right_sign)
        & int(z.left_tens == z.right_tens)
        & int(z.left_ones == z.right_ones)
    )
    z.sign = z.tens = 0
    z.ones = int(same == (z.do == EQUAL))


def add_one(z: Any) -> None:
    """The target takes the first operand plus or minus one; there is no negative zero."""
    z.sign = z.left_sign
    if (z.do == MINUS) == (z.left_sign == 1):  # away from zero
        z.ones = (z.left_ones + 1) % 10
        z.tens = z.left_tens + 1 if z.left_ones == 9 else z.left_tens
    elif z.left_tens == 0 and z.left_ones == 0:
        z.sign, z.tens, z.ones = 1, 0, 1
    else:
        z.ones = (z.left_ones - 1) % 10
        z.tens = z.left_tens - 1 if z.left_ones == 0 else z.left_tens
        if z.left_tens == 0 and z.left_ones == 1:
            z.sign = 0


def is_number(word: Any) -> bool:
    """Whether a word is the value of a cell."""
    return isinstance(word, int)


def in_group(words: Sequence[str]) -> Any:
    """An initial value: the place of the word among these, 0 for others."""
    places = {word: place for place, word in enumerate(words)}
    return lambda word: places.get(word, 0)


def word_of_line(cells: int, lines: int, word: int) -> Any:
    """An initial value: the line of which a position holds this word, `lines` for others."""

    def line(position: int) -> int:
        number, place = divmod(position - cells, FIELDS)
        return number if position >= cells and place == word else lines

    return line


def header_of(memory: Memory) -> Any:
    """An initial value: the list of which a position holds the length, 0 for others."""

    def header(position: int) -> int:
        owner = memory.list_at(position)
        return owner if memory.index_at(position) == memory.capacity else 0

    return header
