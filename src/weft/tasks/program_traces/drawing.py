"""Drawing the examples of a split, each from its own random seed.

Example number i of a batch depends on the split, the seed, the step and i alone, so batches of
different sizes, or parts of a batch in several processes, have the same examples.
"""

from __future__ import annotations

from random import Random

from weft.ptg.examples import Accepts, Assembler, Example, ExampleSampler
from weft.ptg.fragments import Fragments
from weft.ptg.language import Language
from weft.ptg.sampler import ATTEMPTS, Sampler, unsatisfiable
from weft.ptg.tokens import Level
from weft.ptg.tracing import TraceFormat
from weft.tasks.program_traces.splits import Plan

TOLERANCE = 1 / 64
"""How far the length of a matched document may be off, as a share of the context."""
SEARCH = 24
PATIENCE = 6
"""Number of these after which a length counts as out of reach."""
"""Number of examples that are drawn to match one length."""
WIDTH = 3
"""Half the width of the window of steps in which a matched example is drawn."""
TOKENS_PER_STEP = 8
INPUT_DRAWS = 20
"""Number of inputs that are drawn per input that is wanted, since inputs may repeat."""

Key = tuple[int, ...]
"""What an example depends on, as numbers below 2**64."""


def generator(key: Key) -> Random:
    """The random numbers of an example."""
    seed = 1
    for number in key:
        seed = seed << 64 | number
    return Random(seed)


class SplitSampler:
    """Draws the examples of one split.

    Attributes:
        plan: the split.
        examples: draws examples of its sizes.
    """

    def __init__(
        self,
        plan: Plan,
        language: Language,
        form: TraceFormat,
        level: Level,
        context: int,
        *,
        largest_label: int = 0,
        matched: SplitSampler | None = None,
    ) -> None:
        """`matched` draws the split whose lengths of documents are matched, if there is one."""
        self.plan, self.matched, self.context = plan, matched, context
        fragments = Fragments(language, form)
        sampler = Sampler(language, plan.sizes, fragments, largest_label=largest_label)
        assembler = Assembler(language, form, level, fragments)
        self.examples = ExampleSampler(sampler, assembler, context)

    def draw(self, key: Key, accepts: Accepts) -> Example:
        """The example with this key, of a program that `accepts` allows.

        Raises:
            WeftError: the sizes of the split cannot be satisfied within the context.
        """
        random = generator(key)
        if self.matched is None:
            return self.examples.draw(random, accepts)
        for _ in range(ATTEMPTS):
            goal = self.matched.examples.draw(random, _any)
            found = self._match(random, accepts, goal.tokens)
            if found is not None:
                return found
        raise unsatisfiable(self.plan.sizes, " as long as those of the split it is matched to")

    def _match(self, random: Random, accepts: Accepts, goal: int) -> Example | None:
        """An example of about `goal` tokens; None if none is found.

        Steps are moved up or down within the window of the split until the length is right, and
        lines follow when steps are at their end.
        """
        if self.plan.padded:
            return self._pad(random, accepts, goal)
        (low, high), lines = self.plan.sizes.steps, self.plan.sizes.lines
        tolerance, steps = self.context * TOLERANCE, (low + high) // 2
        allowed, ended = lines, 0
        for _ in range(SEARCH):
            window = (max(low, steps - WIDTH), min(high, steps + WIDTH))
            example = self.examples.draw(random, accepts, lines=allowed, steps=window)
            missing = goal - example.tokens
            if abs(missing) <= tolerance:
                return example
            change = int(missing / TOKENS_PER_STEP) or (1 if missing > 0 else -1)
            ended += not low <= steps + change <= high
            if ended > PATIENCE:
                return None
            if steps + change > high:
                allowed = (lines[1] - (lines[1] - lines[0]) // 4, lines[1])
            elif steps + change < low:
                allowed = (lines[0], lines[0] + (lines[1] - lines[0]) // 4)
            steps = min(max(steps + change, low + WIDTH), high - WIDTH)
        return None

    def _pad(self, random: Random, accepts: Accepts, goal: int) -> Example | None:
        """An example of exactly `goal` tokens, with a long comment."""
        for _ in range(SEARCH):
            example = self.examples.draw_padded(random, accepts, goal)
            if example is not None:
                return example
        return None

    def draw_inputs(self, key: Key, accepts: Accepts, count: int) -> list[Example]:
        """A program that is valid for every input, run on `count` different inputs."""
        random = generator(key)
        for _ in range(ATTEMPTS):
            program = self.examples.draw_program(random, accepts)
            found: dict[bytes, Example] = {}
            for _ in range(INPUT_DRAWS * count):
                example = self.examples.run(random, program)
                if example is None:
                    break
                found[example.prompt] = example
                if len(found) == count:
                    return list(found.values())
        raise unsatisfiable(self.plan.sizes, f" that fits the context for {count} inputs")


def _any(first: int, second: int) -> bool:
    return True
