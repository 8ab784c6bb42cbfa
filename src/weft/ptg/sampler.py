"""Random programs with their runs: generated while they are executed.

A statement is drawn, its guard is checked against the state, and it is executed before the next one
is drawn, so every program runs to its end: there are no errors and no truncated traces. Statements
are chosen so that lines and steps end up in their windows (`steering`). That fails in rare cases
only, such as a document that is longer than the context; then the example is drawn again, a bounded
number of times.

Guards. A pop needs an element, an index must be below the length, an append must not exceed the
largest length. Within loops, changes of lists count as often as the loop may execute them. A
program that has to be valid for any input keeps bounds of lengths instead of lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from weft.errors import WeftError
from weft.ptg import machine as codes
from weft.ptg.compounds import Shape, Writer, simple_shape
from weft.ptg.fragments import Fragments
from weft.ptg.language import Language, Limits
from weft.ptg.machine import Block, Instruction, Machine
from weft.ptg.sizes import DEFAULT_WEIGHTS, Sizes, Weights, Window
from weft.ptg.steering import BODY, FIXED, ROUND, Plan

ATTEMPTS = 200
"""Number of times that an example is drawn before its sizes count as unsatisfiable."""
FRAME = 2
"""Lines of a program besides its statements: `def` and `return`."""
LARGEST_INPUT = 9
WITH_LISTS = (codes.APPEND, codes.APPEND_VARIABLE, codes.POP, codes.ITEM, codes.ITEM_VARIABLE)

Inputs: TypeAlias = tuple[list[int], list[bool], list[list[int]]]
"""Values of parameters, by kind."""


@dataclass(slots=True)
class Sampled:
    """A program before its parameters are ordered and its variables renamed.

    Attributes:
        code: the tokens of each line after the first, without labels.
        comments: indices of comments in `code`.
        block: its instructions.
        parameters: number of parameters that are integers, Booleans and lists.
        names: number of integers, Booleans and lists with a value at the end.
        bound: variables beyond the parameters in order of first occurrence, as (kind, number).
        loops: number of loops.
        trips: the largest number of iterations of a loop; 0 without one.
        first_label: the label of the first line.
        inputs: values of the parameters.
    """

    code: list[bytes]
    comments: list[int]
    block: Block
    parameters: tuple[int, int, int]
    names: tuple[int, int, int]
    bound: list[tuple[int, int]]
    loops: int
    trips: int
    first_label: int
    inputs: Inputs


class Sampler:
    """Draws programs and runs of one kind; determined by the random numbers that it is given.

    Attributes:
        language: the options of the language.
        sizes: windows for sizes.
        fragments: the tables of tokens.
        machine: holds the state and the trace of the last run.
    """

    def __init__(
        self,
        language: Language,
        sizes: Sizes,
        fragments: Fragments,
        weights: Weights = DEFAULT_WEIGHTS,
        *,
        largest_label: int = 0,
    ) -> None:
        """Prepare the tables.

        Args:
            language: the options of the language.
            sizes: windows for sizes.
            fragments: pieces of documents, made for the same language.
            weights: weights of statements.
            largest_label: draw the label of the first line so that the last is at most this; 0 to
                count from 1.

        Raises:
            WeftError: no program of the language has these sizes.
        """
        self.language, self.sizes, self.fragments = language, sizes, fragments
        self.largest_label, self.comment_share = largest_label, 0.0
        if language.comments:
            self.comment_share = weights.comment
        self.data_share = weights.data if language.data_loops and not sizes.any_input else 0.0
        self.writer = Writer(language, sizes, weights, fragments)
        self.machine: Machine = self.writer.machine
        self.plan = Plan(sizes)
        low, high = sizes.lines
        self.lines = [n for n in range(low, high + 1) if self.plan.start(n - FRAME, *_body(sizes))]
        self._check()

    def _check(self) -> None:
        """Refuse sizes that no program has."""
        sizes, language = self.sizes, self.language
        if sizes.trips[1] > language.trips:
            what = f"loops have up to {sizes.trips[1]} iterations, and the language allows fewer"
            remedy = f"Give a window for trips up to {language.trips}, or a language with more"
            raise WeftError(what, subject="program traces", remedy=remedy)
        largest = language.addend * sizes.steps[1] + max(language.literal, LARGEST_INPUT)
        limit = Limits().value
        if largest > limit:
            what = f"values may reach {largest:,}"
            remedy = f"Give a smaller addend or literal, so that values stay below {limit:,}"
            raise WeftError(what, subject="program traces", remedy=remedy)
        if not self.lines:
            lines, steps = (f"{low} to {high}" for low, high in (sizes.lines, sizes.steps))
            what = f"no program of {lines} lines takes {steps} steps"
            remedy = (
                "Give other windows for lines, steps or trips; loops have at most "
                f"{sizes.trips[1]} iterations"
            )
            raise WeftError(what, subject="program traces", remedy=remedy)

    def draw(
        self, random: Random, *, lines: Window | None = None, steps: Window | None = None
    ) -> Sampled:
        """Draw a program with inputs, and run it, unless it has to be valid for any input.

        Args:
            random: random numbers; the result is determined by their state.
            lines: a window within that of the sizes, for this example. It gives way if no program
                of these lines takes the wanted steps.
            steps: a window within that of the sizes, for this example.

        Raises:
            WeftError: the sizes are satisfied too rarely.
        """
        allowed, window = self.lines, steps or self.sizes.steps
        if steps is not None:
            allowed = [n for n in allowed if self.plan.start(n - FRAME, steps[0] - 1, steps[1] - 1)]
        if lines is not None:
            allowed = [n for n in allowed if lines[0] <= n <= lines[1]] or allowed
        for _ in range(ATTEMPTS if allowed else 0):
            number = allowed[int(random.random() * len(allowed))]
            sampled = self._attempt(random, number, window)
            if sampled is not None:
                return sampled
        raise unsatisfiable(self.sizes)

    def _attempt(self, random: Random, lines: int, steps: Window) -> Sampled | None:
        """Draw a program of so many lines; None if it cannot be completed."""
        sizes, writer, plan = self.sizes, self.writer, self.plan
        low, high = steps[0] - 1, steps[1] - 1
        if sizes.uniform_steps:
            low, high = plan.aim(random, lines - FRAME, (low, high))
        if not plan.start(lines - FRAME, low, high):
            return None
        uniform = random.random
        names = [
            low + int(uniform() * (high - low + 1))
            for low, high in (sizes.integers, sizes.booleans, sizes.lists)
        ]
        new = (int(uniform() * (names[0] // 2 + 1)), int(uniform() * (names[1] // 2 + 1)))
        many = sum(new)
        if many > (lines - FRAME) // 4 or plan.reach[plan.left - many] + many < plan.low:
            new = (0, 0)
        parameters = (names[0] - new[0], names[1] - new[1], names[2])
        inputs = self.inputs(random, parameters)
        first_label = 1 + int(uniform() * max(1, self.largest_label - lines + 1))
        if sizes.any_input:
            low, high = sizes.list_length
            writer.begin(random, parameters, new, [low] * names[2], first_label)
            writer.longest = [high] * names[2]
        else:
            lengths = [len(values) for values in inputs[2]]
            writer.begin(random, parameters, new, lengths, first_label)
        self._restart(inputs, (names[0], names[1]))
        block = self._statements()
        if block is None:
            return None
        writer.code.append(writer.return_line)
        if not sizes.any_input:
            self._return(len(writer.code) + first_label)
        return Sampled(
            code=writer.code,
            comments=writer.comments,
            block=block,
            parameters=parameters,
            names=(writer.integers, writer.booleans, writer.lists),
            bound=writer.bound,
            loops=writer.loops,
            trips=writer.trips,
            first_label=first_label,
            inputs=inputs,
        )

    def inputs(self, random: Random, parameters: tuple[int, int, int]) -> Inputs:
        """Draw values for parameters: digits, fair coins and lists of digits."""
        uniform, (low, high) = random.random, self.sizes.list_length
        digits = LARGEST_INPUT + 1
        return (
            [int(uniform() * digits) for _ in range(parameters[0])],
            [uniform() < 0.5 for _ in range(parameters[1])],
            [
                [int(uniform() * digits) for _ in range(low + int(uniform() * (high - low + 1)))]
                for _ in range(parameters[2])
            ],
        )

    def run(self, sampled: Sampled, inputs: Inputs) -> None:
        """Run a program on other inputs; the machine then has the state and the trace."""
        self._restart(inputs, sampled.names)
        self.machine.run(sampled.block)
        self._return(len(sampled.code) + sampled.first_label)

    def _restart(self, inputs: Inputs, names: tuple[int, ...]) -> None:
        """Start the machine, with room for variables without a value."""
        integers, booleans, lists = inputs
        self.machine.start(
            integers + [0] * (names[0] - len(integers)),
            booleans + [False] * (names[1] - len(booleans)),
            [values.copy() for values in lists],
        )

    def _return(self, label: int) -> None:
        self.machine.trace.append(self.fragments.head[label] + self.fragments.newline)

    # Statements

    def _statements(self) -> Block | None:
        """Draw, write and execute the statements of a program; None if there is no way on."""
        writer, machine, plan, random = self.writer, self.machine, self.plan, self.writer.random
        known, code, block = not self.sizes.any_input, writer.code, list[Instruction]()
        while plan.left:
            plan.pending = writer.pending
            before, instruction = len(code), None
            if plan.left > plan.pending + 1:
                if self.comment_share and random() < self.comment_share and plan.allows(1, 0, 0):
                    writer.comment()
                    plan.left -= 1
                    continue
                share = random()
                if share >= writer.simple_share:
                    branch = share < writer.branch_share
                    instruction = self._branch(known) if branch else self._loop()
            if instruction is None:
                instruction = self._simple() or self._forced()
                if instruction is None:
                    return None
            block.append(instruction)
            plan.left -= len(code) - before
            if known:
                machine.run([instruction])
                plan.least = plan.most = len(machine.trace)
            if writer.nested or instruction[0] in WITH_LISTS:
                writer.note_lengths(machine.lists if known else None)
        return block

    def _simple(self) -> Instruction | None:
        """A simple statement, unless it would leave too few lines for loops."""
        plan, writer = self.plan, self.writer
        new = plan.pending >= plan.left
        plan.pending -= new
        if not plan.allows(1, 1, 1):
            return None
        plan.least += 1
        plan.most += 1
        return writer.simple(1, new=new)

    def _branch(self, known: bool) -> Instruction | None:
        """An `if`; None if it does not fit."""
        plan, writer = self.plan, self.writer
        shape = writer.branch_shape(plan.left - plan.pending, 0, 0)
        if shape is None:
            return None
        condition = int(writer.random() * writer.booleans)
        least, most = shape.least, shape.most
        if known:
            taken = shape.body if self.machine.booleans[condition] else shape.otherwise
            least = 1 + (taken.least if taken is not None else 0)
            most = 1 + (taken.most if taken is not None else 0)
        if not plan.allows(shape.lines, least, most):
            return None
        plan.least += least
        plan.most += most
        return writer.branch(shape, condition, 1)

    def _loop(self) -> Instruction | None:
        """A loop; None if it does not fit."""
        writer, plan = self.writer, self.plan
        if self.data_share and writer.random() < self.data_share:
            found = self._data_loop()
            if found is not None:
                return found
        body = writer.block_shape(plan.left - plan.pending - FIXED, 1, 1)
        if body is None:
            return None
        window = plan.loop(body.lines + FIXED, body.least + ROUND, body.most + ROUND, ROUND)
        return None if window is None else self._counted(body, window)

    def _counted(self, body: Shape, window: Window) -> Instruction | None:
        writer, plan = self.writer, self.plan
        if not writer.booleans + writer.new_booleans:
            return None
        trips = window[0] + int(writer.random() * (window[1] - window[0] + 1))
        plan.least += trips * (body.least + ROUND) + ROUND
        plan.most += trips * (body.most + ROUND) + ROUND
        return writer.counted(body, trips, 1)

    def _forced(self) -> Instruction | None:
        """A counted loop where only a loop leads to the window; None if there is none."""
        first = int(self.writer.random() * BODY)
        for step in range(BODY):
            count = 1 + (first + step) % BODY
            window = self.plan.loop(count + FIXED, count + ROUND, count + ROUND, ROUND)
            if window is not None:
                return self._counted(simple_shape(count), window)
        return None

    def _data_loop(self) -> Instruction | None:
        """A loop over program variables; None if it does not fit."""
        writer, plan, values = self.writer, self.plan, self.machine.integers
        body = writer.block_shape(plan.left - plan.pending - FIXED + 1, 1, 1)
        if body is None or not writer.booleans + writer.new_booleans:
            return None
        lines, most = body.lines + FIXED - 1, body.most + ROUND
        window = plan.loop(lines, body.least + ROUND, most, ROUND - 1)
        if window is None:
            return None
        random = writer.random
        left, literal = int(random() * writer.integers), random() >= writer.weights.variable
        right = int(random() * (self.language.literal + 1 if literal else writer.integers))
        trips = abs((right if literal else values[right]) - values[left])
        if not window[0] <= trips <= window[1]:
            return None
        return writer.data_loop(body, left, right, literal=literal)


def unsatisfiable(sizes: Sizes, reason: str = "") -> WeftError:
    """An error about sizes that are satisfied too rarely."""
    windows = (
        f"{name} {low} to {high}"
        for name, (low, high) in (
            ("lines", sizes.lines),
            ("steps", sizes.steps),
            ("list_length", sizes.list_length),
        )
    )
    return WeftError(
        f"no example of {', '.join(windows)} was found in {ATTEMPTS} attempts{reason}",
        subject="program traces",
        remedy="Give wider windows, or a larger context",
    )


def _body(sizes: Sizes) -> Window:
    """The window of steps without that of `return`."""
    return sizes.steps[0] - 1, sizes.steps[1] - 1
