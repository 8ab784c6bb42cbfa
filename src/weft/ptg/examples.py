"""Examples: sampled programs with ordered parameters and random names, as token rows.

A program is identified by its canonical source, of which the digest is taken. The order of the
parameters is drawn last: if a program must not be used, because of its digest, other orders are
tried, so what is held out from training costs almost no time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from random import Random

from weft.ptg.fragments import Fragments, Numbers
from weft.ptg.language import INTEGERS, Language
from weft.ptg.machine import Machine
from weft.ptg.sampler import ATTEMPTS, Inputs, Sampled, Sampler, unsatisfiable
from weft.ptg.sizes import Window
from weft.ptg.tokens import START, Level, Tokeniser, symbols_of
from weft.ptg.tracing import TraceFormat

ORDERS = 48
"""Number of orders of the parameters that are tried."""
IDENTITY = bytes(range(256))
MARKS = 2
"""Special tokens around the trace."""
NAMES = len(INTEGERS)

Digest = tuple[int, int]
"""Two numbers of 64 bits from the canonical source."""
Accepts = Callable[[int, int], bool]
"""Whether a program with this digest may be used."""


@dataclass(frozen=True, slots=True)
class Example:
    """A program with inputs and its run, as tokens.

    Attributes:
        prompt: `<start>`, the program and the call.
        trace: the trace, or the final state.
        digest: of the canonical source.
        axes: the values of `AXES`.
    """

    prompt: bytes
    trace: bytes
    digest: Digest
    axes: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """Number of tokens, special ones included."""
        return self.axes[2]


AXES = (
    "lines", "steps", "tokens", "variables", "integers", "booleans", "lists", "list_length",
    "loops", "trips",
)  # fmt: skip
"""What is known of an example.

`tokens` counts the special ones; `variables` are names with a value at the end, loop counters
aside; `list_length` is the largest length of a list during the run; `trips` the largest number of
iterations of a loop.
"""


class Assembler:
    """Turns sampled programs into examples.

    Attributes:
        tokeniser: of the examples, on their level.
    """

    def __init__(
        self, language: Language, form: TraceFormat, level: Level, fragments: Fragments
    ) -> None:
        self.form, self.fragments = form, fragments
        self.tokeniser = fragments.tokeniser
        self._spelling: list[bytes] | None = None
        if level == "characters":
            symbols = symbols_of(language, step_index=form.step_index, level=level)
            self.tokeniser = Tokeniser(symbols)
            names = fragments.tokeniser.vocabulary
            self._spelling = [
                bytes([number]) if name.startswith("<") else self.tokeniser.encode(name)
                for number, name in enumerate(names)
            ]
        encode = fragments.tokeniser.encode
        self.firsts = (fragments.first_integer, fragments.first_boolean, fragments.first_list)
        self.names = (fragments.integer, fragments.boolean, fragments.list)
        self.define, self.defined = encode(" def f("), encode("):\n")
        self.call, self.called = encode("f("), encode(")\n")
        self.values = encode("=")
        self.true, self.false = encode("True"), encode("False")
        self.open, self.close = encode("["), encode("]")
        self.start = bytes([START])
        self.step: Numbers | None = fragments.step if form.step_index else None

    def ordered(
        self, random: Random, sampled: Sampled, accepts: Accepts
    ) -> tuple[list[tuple[int, int]], Digest] | None:
        """Draw an order of the parameters that is accepted, as (kind, number); None if none is."""
        uniform = random.random
        parameters = [
            (kind, number)
            for kind, count in enumerate(sampled.parameters)
            for number in range(count)
        ]
        code = sampled.code
        if sampled.comments:
            skipped = set(sampled.comments)
            code = [line for place, line in enumerate(code) if place not in skipped]
        body = b"".join(code)
        for _ in range(ORDERS):
            parameters.sort(key=lambda _: uniform())
            digest = self.digest(parameters, body)
            if accepts(*digest):
                return parameters, digest
        return None

    def digest(self, parameters: list[tuple[int, int]], body: bytes) -> Digest:
        """A digest of the canonical source: names in order of first occurrence."""
        table, counts, firsts = bytearray(IDENTITY), [0, 0, 0], self.firsts
        head = bytearray()
        for kind, number in parameters:
            first = firsts[kind]
            table[first + number] = first + counts[kind]
            head.append(first + counts[kind])
            counts[kind] += 1
        head.append(0)
        made = blake2b(head + body.translate(table), digest_size=16).digest()
        return int.from_bytes(made[:8], "little"), int.from_bytes(made[8:], "little")

    def renaming(self, random: Random, names: tuple[int, int, int]) -> bytes:
        """A table that gives every variable a random name of its kind."""
        uniform, table = random.random, bytearray(IDENTITY)
        for first, count in zip(self.firsts, names, strict=True):
            free = list(range(first, first + NAMES))
            for number in range(count):
                place = number + int(uniform() * (NAMES - number))
                free[number], free[place] = free[place], free[number]
                table[first + number] = free[number]
        return bytes(table)

    def prompt(
        self, sampled: Sampled, inputs: Inputs, parameters: list[tuple[int, int]], table: bytes
    ) -> bytes:
        """The tokens of `<start>`, the program and the call."""
        fragments, names, number = self.fragments, self.names, self.fragments.number
        label, first, comma = fragments.label, sampled.first_label, fragments.comma
        listed, given = [], []
        integers, booleans, lists = inputs
        for kind, place in parameters:
            name = names[kind][place]
            listed.append(name)
            if kind == 0:
                value = number[integers[place]]
            elif kind == 1:
                value = self.true if booleans[place] else self.false
            else:
                items = comma.join([number[item] for item in lists[place]])
                value = self.open + items + self.close
            given.append(name + self.values + value)
        parts = [self.start, label[first], self.define, comma.join(listed), self.defined]
        for place, line in enumerate(sampled.code, first + 1):
            parts.append(label[place])
            parts.append(line)
        parts += (self.call, comma.join(given), self.called)
        return self._spelt(b"".join(parts).translate(table))

    def trace(
        self, sampled: Sampled, machine: Machine, parameters: list[tuple[int, int]], table: bytes
    ) -> bytes:
        """The tokens of the machine's trace, or of its final state."""
        if self.form.answer:
            parts = [self._final(machine, *name) for name in [*parameters, *sampled.bound]]
        elif self.step is not None:
            step = self.step
            parts = [step[count] + line for count, line in enumerate(machine.trace, 1)]
        else:
            parts = machine.trace
        return self._spelt(b"".join(parts).translate(table))

    def _final(self, machine: Machine, kind: int, number: int) -> bytes:
        """The line of a variable's final value; nothing for a counter that was never set."""
        fragments = self.fragments
        if kind == 3:
            value = machine.counters[number]
            if value is None:
                return b""
            return fragments.counter[number] + fragments.colon + fragments.line[value]
        begin = self.names[kind][number] + fragments.colon
        if kind == 0:
            return begin + fragments.line[machine.integers[number]]
        if kind == 1:
            return begin + (machine.true if machine.booleans[number] else machine.false)
        return begin + machine.written(machine.lists[number])

    def _spelt(self, tokens: bytes) -> bytes:
        """Symbols as characters, if examples are on that level."""
        if self._spelling is None:
            return tokens
        return b"".join(map(self._spelling.__getitem__, tokens))


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program with its order of parameters and its names, for several inputs."""

    sampled: Sampled
    parameters: list[tuple[int, int]]
    table: bytes
    digest: Digest


class ExampleSampler:
    """Draws examples of one kind of sizes that fit into a context.

    Attributes:
        sampler: draws the programs.
        assembler: writes them as tokens.
        context: the largest number of tokens of an example, special ones included.
    """

    def __init__(self, sampler: Sampler, assembler: Assembler, context: int) -> None:
        self.sampler, self.assembler, self.context = sampler, assembler, context

    def draw(
        self,
        random: Random,
        accepts: Accepts,
        *,
        lines: Window | None = None,
        steps: Window | None = None,
    ) -> Example:
        """Draw an example.

        Args:
            random: random numbers; the result is determined by their state.
            accepts: whether a program with this digest may be used.
            lines: a window within that of the sizes, for this example.
            steps: the same for the steps.
        """
        for _ in range(ATTEMPTS):
            sampled = self.sampler.draw(random, lines=lines, steps=steps)
            program = self._named(random, sampled, accepts)
            if program is not None:
                if self.sampler.sizes.any_input:
                    self.sampler.run(sampled, sampled.inputs)
                example = self._example(program, sampled.inputs)
                if example.tokens <= self.context:
                    return example
        raise unsatisfiable(self.sampler.sizes, f" with at most {self.context} tokens")

    def draw_padded(self, random: Random, accepts: Accepts, tokens: int) -> Example | None:
        """Draw an example and lengthen a comment until it has this many tokens.

        None if the example is longer, or has no comment.
        """
        sampled = self.sampler.draw(random)
        program = self._named(random, sampled, accepts)
        if program is None or not sampled.comments:
            return None
        missing = tokens - self._example(program, sampled.inputs).tokens
        if missing < 0:
            return None
        self.sampler.writer.lengthen(sampled.code, sampled.comments[0], missing)
        return self._example(program, sampled.inputs)

    def draw_program(self, random: Random, accepts: Accepts) -> Drawn:
        """Draw a program to be run on several inputs."""
        for _ in range(ATTEMPTS):
            program = self._named(random, self.sampler.draw(random), accepts)
            if program is not None:
                return program
        raise unsatisfiable(self.sampler.sizes)

    def run(self, random: Random, program: Drawn) -> Example | None:
        """Run a program on random inputs; None if the example is longer than the context."""
        inputs = self.sampler.inputs(random, program.sampled.parameters)
        self.sampler.run(program.sampled, inputs)
        example = self._example(program, inputs)
        return example if example.tokens <= self.context else None

    def _named(self, random: Random, sampled: Sampled, accepts: Accepts) -> Drawn | None:
        ordered = self.assembler.ordered(random, sampled, accepts)
        if ordered is None:
            return None
        table = self.assembler.renaming(random, sampled.names)
        return Drawn(sampled, ordered[0], table, ordered[1])

    def _example(self, program: Drawn, inputs: Inputs) -> Example:
        """The example of the machine's last run."""
        sampled, machine, assembler = program.sampled, self.sampler.machine, self.assembler
        prompt = assembler.prompt(sampled, inputs, program.parameters, program.table)
        trace = assembler.trace(sampled, machine, program.parameters, program.table)
        axes = (
            len(sampled.code) + 1,
            len(machine.trace),
            len(prompt) + len(trace) + MARKS,
            sum(sampled.names),
            *sampled.names,
            max(machine.longest, max(map(len, inputs[2]), default=0)),
            sampled.loops,
            sampled.trips,
        )
        return Example(prompt, trace, program.digest, axes)
