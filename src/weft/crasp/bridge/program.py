"""C-RASP programs as Weft programs: run, compiled, proved, learned and judged as all others are.

A program is computed from left to right, as `parity` is: a position waits for its left neighbour,
takes over its running counts, and goes through one stage for each level of nested counts. n symbols
and s stages take n + s - 1 layers.

What a position holds (`weft.crasp.bridge.left_to_right` plans it):

    symbol           its symbol
    stage            how many stages it has finished
    a line's name    a Boolean, or a count less its smallest value
    count_1, ...     running sums of counts that comparisons need
    held_1, ...      Booleans that are counted at a distance
    mod_2, ...       the position modulo a period
    next_symbol      for transduction: which symbol comes next
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from weft.crasp.bridge.left_to_right import NEXT_SYMBOL, STAGE, Plan, PlannedVariable
from weft.crasp.bridge.word_sampling import DrawInput, WordSampler
from weft.crasp.program import CraspProgram
from weft.crasp.reference import allowed_next, run
from weft.crasp.syntax.text import text as program_text
from weft.errors import WeftError
from weft.language.declare import relative, var
from weft.language.program import Program
from weft.language.stream import Stream

MAX_LENGTH = 20
"""The longest word by default."""
MAX_OFFSET = 100
"""Positions are read at most this far back."""
MAX_VALUES = 20_000
"""A variable may have this many values."""


class CraspAsProgram(Program):
    """A C-RASP program, computed from left to right, one position per layer."""

    causal = True

    def __init__(
        self,
        crasp: CraspProgram,
        max_length: int = MAX_LENGTH,
        draw_input: DrawInput | None = None,
    ) -> None:
        if max_length < 1:
            raise WeftError(f"max_length cannot be {max_length}", remedy="Give at least 1")
        farthest = max((max(local.offsets, default=0) for local in crasp.locals), default=0)
        if farthest > MAX_OFFSET:
            raise WeftError(
                "it reads positions too far back: every distance is a variable",
                subject=crasp.name,
                remedy=f"Use offsets up to {MAX_OFFSET}",
            )
        plan = Plan(crasp, max_length)
        for name, planned in plan.variables.items():
            if planned.size > MAX_VALUES:
                raise WeftError(
                    f"the variable {name} would have {planned.size:,} values, more than "
                    f"{MAX_VALUES:,}",
                    subject=crasp.name,
                    remedy="Give a smaller max_length, or use smaller periods and coefficients",
                )
        self.crasp = crasp
        self.max_length = max_length
        self.begin, stop = _free(crasp, "^<begin>"), _free(crasp, ".<stop>")
        self.tokens = [*crasp.alphabet, *([stop] if crasp.next_symbols else []), self.begin]
        self.stages = tuple(map(tuple, plan.stages))
        self.lines = plan.lines
        self.sampler = WordSampler(plan, draw_input)
        for name, planned in plan.variables.items():
            setattr(self, name, var(planned.size, token=_initial(crasp, planned, self.begin)))
        for name in plan.carried:
            setattr(self, f"{name}_left", relative(getattr(self, name), -1))
        if plan.bounded:
            self.positions = max_length + 1
        if crasp.next_symbols:
            self.stop = stop
        result = NEXT_SYMBOL if crasp.next_symbols else plan.lines[crasp.accepting].variable
        self.output = getattr(self, result)
        self.halt = getattr(self, STAGE) == len(self.stages)

    @property
    def name(self) -> str:
        """The name of the C-RASP program."""
        crasp = vars(self).get("crasp")
        return crasp.name if crasp is not None and crasp.name else type(self).__name__

    @property
    def source_text(self) -> str:
        """The C-RASP program as text."""
        return program_text(self.crasp)

    def step(self, z: Any) -> None:
        done = z.stage
        for number, instructions in enumerate(self.stages):
            if done == number and z.stage_left > number:
                for variable, function in instructions:
                    z[variable] = function(z)
                z.stage = number + 1

    def encode(self, text: str) -> Sequence[Any]:
        """The symbols of a word, behind the begin symbol. A word may be empty."""
        return [self.begin, *self.crasp.read_word(text.removeprefix(self.begin))]

    def decode(self, stream: Stream) -> Any:
        """Whether the word is accepted; for transduction, the next symbol, empty at the end."""
        value: Any = stream[self.definition.output][-1]
        if not self.crasp.next_symbols:
            return bool(value)
        return self.crasp.alphabet[value] if value < len(self.crasp.alphabet) else ""

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random word, half of them accepted; for transduction, an input and its answer."""
        return [self.begin, *self.sampler.draw(rng, max(0, length - 1))]

    def task(self, tokens: Sequence[Any]) -> Any:
        """The result of the reference interpreter of C-RASP."""
        result = run(self.crasp, tokens[1:])
        if not self.crasp.next_symbols:
            return result.accepted
        allowed = allowed_next(self.crasp, result)[-1]
        return min(allowed, key=self.crasp.alphabet.index, default="")


def as_program(
    program: CraspProgram,
    max_length: int = MAX_LENGTH,
    draw_input: DrawInput | None = None,
) -> CraspAsProgram:
    """A C-RASP program as a Weft program.

    Its result is whether a word is accepted. If the program has `NEXT_a` lines, it is the symbol
    that comes next, and `weft.generate` writes the answer.

    Args:
        program: what to compute.
        max_length: the longest word, which decides how many values running sums have. Words may be
            of any length if the program counts only up to constants.
        draw_input: draws an input, with its separator, up to a maximum number of symbols, for the
            samples of a program with `NEXT_a` lines; by default, samples are random words.

    Example:
        >>> import weft
        >>> from weft.crasp import library
        >>> from weft.crasp.bridge.program import as_program
        >>> dyck = as_program(library.load("dyck-1"), max_length=8)
        >>> weft.run(dyck, "(())").result, weft.run(dyck, "())(").result
        (True, False)
        >>> weft.generate(as_program(library.load("sort")), "cab|")
        ['a', 'b', 'c']
    """
    return CraspAsProgram(program, max_length, draw_input)


def _free(program: CraspProgram, names: str) -> str:
    """A token that is not in the alphabet: a character, or else the rest in angle brackets."""
    token = names[0] if names[0] not in program.alphabet else names[1:]
    while token in program.alphabet:
        token = f"<{token}>"
    return token


def _initial(program: CraspProgram, planned: PlannedVariable, begin: str) -> Callable[[str], int]:
    """The value of a variable before the first layer, from the token."""
    values = dict(zip(program.alphabet, planned.initial, strict=False))
    values[begin] = planned.begin
    return lambda token: values.get(token, planned.otherwise)
