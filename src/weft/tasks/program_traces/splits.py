"""The splits of program traces in two tiers: windows for sizes, and which symbols they can need.

Every split varies one factor and leaves the rest as in training. The controls separate a factor
from what comes with it:

    more-loops            longer traces by more loops, each with a number of iterations in range
    matched-length        the sizes of training, in documents as long as those of longer-traces-1
                          as far as these sizes allow: about as long as the shorter half of them
    longer-lists-matched  longer lists in documents as long as those of training
    same-program          programs that are valid for every input, each with several inputs
    padded                with comments: documents of training as long as those of longer-traces-1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from weft.ptg.language import BOOLEANS, COUNTERS, INTEGERS, LISTS, Language
from weft.ptg.sizes import Sizes
from weft.ptg.steering import FIXED, ROUND
from weft.ptg.tokens import DIGITS
from weft.tasks.task import TRAIN

Tier = Literal["nano", "small", "paper"]
SAME_PROGRAM = "same-program"
PADDED = "padded"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How the examples of a split are drawn.

    Attributes:
        description: what differs from training.
        sizes: windows for sizes.
        matched: the split whose lengths of documents these examples have; empty for none.
        varied: the axes whose windows differ from those of training.
        padded: whether a comment makes up for the difference in length.
    """

    description: str
    sizes: Sizes
    matched: str = ""
    varied: tuple[str, ...] = ()
    padded: bool = False


@dataclass(frozen=True, kw_only=True)
class TierSizes:
    """The sizes of a tier.

    Attributes:
        context: tokens per example.
        train: windows of training.
        longer_programs: lines.
        longer_traces: steps and iterations of the two splits of longer traces.
        more_variables: numbers of integers, Booleans and lists.
        longer_lists: initial lengths of lists.
    """

    context: int
    train: Sizes
    longer_programs: tuple[int, int]
    longer_traces: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    more_variables: tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
    longer_lists: tuple[int, int]


TIERS: Mapping[Tier, TierSizes] = MappingProxyType({
    "nano": TierSizes(
        context=384,
        train=Sizes(
            lines=(6, 13), steps=(4, 24), integers=(2, 3), booleans=(1, 1), lists=(1, 1),
            list_length=(2, 4), trips=(2, 3), uniform_steps=True,
        ),
        longer_programs=(15, 19),
        longer_traces=(((25, 32), (2, 6)), ((33, 40), (2, 8))),
        more_variables=((4, 5), (2, 2), (2, 2)),
        longer_lists=(5, 7),
    ),
    "small": TierSizes(
        context=1024,
        train=Sizes(
            lines=(10, 20), steps=(10, 60), integers=(3, 5), booleans=(1, 3), lists=(1, 2),
            list_length=(3, 6), trips=(2, 6), uniform_steps=True,
        ),
        longer_programs=(25, 40),
        longer_traces=(((61, 85), (3, 12)), ((86, 110), (4, 16))),
        more_variables=((7, 10), (4, 6), (3, 4)),
        longer_lists=(7, 10),
    ),
    "paper": TierSizes(
        context=4096,
        train=Sizes(
            lines=(20, 40), steps=(20, 150), integers=(4, 8), booleans=(2, 4), lists=(2, 4),
            list_length=(5, 10), trips=(2, 10), uniform_steps=True,
        ),
        longer_programs=(50, 80),
        longer_traces=(((151, 220), (4, 20)), ((221, 300), (6, 30))),
        more_variables=((10, 16), (6, 8), (5, 7)),
        longer_lists=(11, 16),
    ),
})  # fmt: skip


def plans(tier: Tier, language: Language) -> dict[str, Plan]:
    """The splits of a tier; `train` comes first."""
    of = TIERS[tier]
    train = replace(of.train, nesting=max(1, nesting(of.train, language)))
    (steps_1, trips_1), (steps_2, trips_2) = of.longer_traces
    integers, booleans, lists = of.more_variables
    result = {
        TRAIN: Plan(description="the sizes of training", sizes=train),
        "longer-programs": Plan(
            description=f"{_range(of.longer_programs)} lines",
            sizes=replace(train, lines=of.longer_programs),
            varied=("lines",),
        ),
        "longer-traces-1": Plan(
            description=f"{_range(steps_1)} steps, loops of {_range(trips_1)} iterations",
            sizes=replace(train, steps=steps_1, trips=trips_1),
            varied=("steps", "trips"),
        ),
        "longer-traces-2": Plan(
            description=f"{_range(steps_2)} steps, loops of {_range(trips_2)} iterations",
            sizes=replace(train, steps=steps_2, trips=trips_2),
            varied=("steps", "trips"),
        ),
        "more-variables": Plan(
            description=f"{_range(integers)} integers, {_range(booleans)} Booleans and "
            f"{_range(lists)} lists",
            sizes=replace(train, integers=integers, booleans=booleans, lists=lists),
            varied=("integers", "booleans", "lists"),
        ),
        "longer-lists": Plan(
            description=f"lists of {_range(of.longer_lists)} elements",
            sizes=replace(train, list_length=of.longer_lists),
            varied=("list_length",),
        ),
        "more-loops": Plan(
            description=f"{_range(steps_1)} steps, by more loops of {_range(train.trips)} "
            "iterations",
            sizes=replace(train, steps=steps_1),
            varied=("steps",),
        ),
        "matched-length": Plan(
            description="the sizes of training, in documents as long as those of longer-traces-1 "
            "as far as these sizes allow",
            sizes=replace(train, list_share=MORE_LISTS),
            matched="longer-traces-1",
        ),
        "longer-lists-matched": Plan(
            description=f"lists of {_range(of.longer_lists)} elements, in documents as long as "
            "those of train",
            sizes=replace(train, list_length=of.longer_lists),
            matched=TRAIN,
            varied=("list_length",),
        ),
        SAME_PROGRAM: Plan(
            description="programs that are valid for every input, each with several inputs",
            sizes=replace(train, any_input=True),
        ),
    }
    if language.comments:
        result[PADDED] = Plan(
            description="the sizes of training, with a comment that makes documents as long as "
            "those of longer-traces-1",
            sizes=train,
            matched="longer-traces-1",
            padded=True,
        )
    return result


MORE_LISTS = 4.0
"""The weight of list operations in `matched-length`, where short traces have to be written long."""


def _range(window: tuple[int, int]) -> str:
    return f"{window[0]} to {window[1]}"


def symbols_written(sizes: Sizes, language: Language, *, step_index: bool = False) -> set[str]:
    """The symbols that examples of these sizes can contain.

    The inputs have all ten digits, so numbers of any size need no others.
    """
    statements = sizes.lines[1] - 2
    steps = sizes.steps[1] - 1
    written = {*DIGITS, *INTEGERS, "L", " def f(", "):", "f(", ")", ",", ":", "\n", "=", " = "}
    written |= {" + ", " - ", "-", " \t", "return"} | ({" "} if step_index else set())
    if language.multiplication and not sizes.any_input:
        written.add(" * ")
    if language.comments:
        written.add("#")
    if sizes.lists[1]:
        written |= {*LISTS, "[", "]", ".pop()", "len("}
        written |= {".append("} if sizes.list_length[1] else set()
    if not sizes.booleans[1]:
        return written
    written |= {*BOOLEANS, "True", "False", " == ", " != "}
    deepest = min(language.depth, statements - 1, steps - 1)
    if deepest > 0:
        written |= {"if ", *(" " + "\t" * (depth + 1) for depth in range(1, deepest + 1))}
    if language.else_blocks and statements >= 4:
        written.add("else:")
    loops = nesting(sizes, language)
    return written | {*COUNTERS[:loops]} | ({"while "} if loops else set())


def nesting(sizes: Sizes, language: Language) -> int:
    """The largest number of loops in each other that lines and steps have room for."""
    lines, steps = 1, 1  # of the smallest statement with so many loops in each other
    for count in range(min(language.depth, sizes.nesting) + 1):
        if lines > sizes.lines[1] - 2 or steps > sizes.steps[1] - 1:
            return count - 1
        lines, steps = lines + FIXED, sizes.trips[0] * (steps + ROUND) + ROUND
    return min(language.depth, sizes.nesting)
