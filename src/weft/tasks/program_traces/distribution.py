"""What a split is made of: counts of sizes, statements and values in a sample of its examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from weft.ptg.interpreter import run
from weft.ptg.language import CountedLoop, If, Statement
from weft.ptg.lines import lines_of
from weft.ptg.parser import parse
from weft.tasks.program_traces.task import ProgramTraces

OF_EXAMPLES = ("lines", "steps", "tokens", "variables", "list_length", "loops")
"""Quantities with one value per example, which are axes of the task."""
PERCENTILES = (5, 50, 95)
BINS = 12
INTEGERS = ("constant", "copy", "sum", "product", "item", "len")
"""Kinds of lines that write an integer variable."""


@dataclass(frozen=True)
class Distribution:
    """Counts by quantity.

    Attributes:
        numbers: by quantity, how often each number occurs. Besides axes of examples: `iterations`,
            the number that each counted loop is written with; `value`, what the trace writes to
            integers, counters aside; `written_list`, lengths of lists that the trace writes.
        kinds: how often each kind of line occurs in the source, and in the trace.
    """

    numbers: Mapping[str, Mapping[int, int]]
    kinds: Mapping[str, Mapping[str, int]]

    def percentiles(self, quantity: str) -> tuple[int, ...]:
        """The 5th, 50th and 95th percentile of a quantity."""
        counts = self.numbers[quantity]
        total, result = sum(counts.values()), []
        for percent in PERCENTILES:
            below = 0
            for number in sorted(counts):
                below += counts[number]
                if below * 100 >= percent * total:
                    result.append(number)
                    break
        return tuple(result)

    def bins(self, quantity: str) -> list[tuple[int, int, int]]:
        """At most 12 ranges of equal width, each with its count: (smallest, largest, count)."""
        counts = self.numbers[quantity]
        if not counts:
            return []
        low, high = min(counts), max(counts)
        width = -(-(high - low + 1) // BINS)
        return [
            (
                start,
                min(start + width - 1, high),
                sum(count for number, count in counts.items() if start <= number < start + width),
            )
            for start in range(low, high + 1, width)
        ]


def distribution(task: ProgramTraces, split: str, size: int, seed: int = 0) -> Distribution:
    """Count what occurs in `size` training examples of a split.

    Programs and traces are read back from the tokens by the parser and the interpreter, so the
    counts do not depend on what the sampler says of itself.

    Example:
        >>> from weft.tasks import task
        >>> from weft.tasks.program_traces.distribution import distribution
        >>> found = distribution(task("program-traces", tier="nano"), "train", 50)
        >>> sum(found.numbers["lines"].values()), max(found.numbers["iterations"])
        (50, 3)
    """
    batch = task.batch(split, seed, 0, size)
    numbers: dict[str, Counter[int]] = {
        name: Counter(batch.axes[name].tolist()) for name in OF_EXAMPLES
    }
    numbers |= {name: Counter() for name in ("iterations", "value", "written_list")}
    source_kinds: Counter[str] = Counter()
    trace_kinds: Counter[str] = Counter()
    for row in batch.tokens:
        source, inputs = task.program_of(row)
        program = parse(source, task.language)
        lines = lines_of(program)
        source_kinds.update(line.kind for line in lines)
        numbers["iterations"].update(_trips(program.body))
        for step in run(program, inputs).steps:
            trace_kinds[lines[step.line - 1].kind] += 1
            if isinstance(step.value, tuple):
                numbers["written_list"][len(step.value)] += 1
            elif step.value is not None and lines[step.line - 1].kind in INTEGERS:
                numbers["value"][step.value] += 1
    return Distribution(numbers, {"source": source_kinds, "trace": trace_kinds})


def _trips(statements: Sequence[Statement]) -> Iterator[int]:
    """The iterations that the counted loops of a block are written with."""
    for statement in statements:
        if isinstance(statement, CountedLoop):
            yield statement.trips
            yield from _trips(statement.body)
        elif isinstance(statement, If):
            yield from _trips((*statement.body, *statement.otherwise))
