"""The answers for tasks on distinct symbols, each for a fixed and for a growing alphabet.

With a fixed alphabet, inputs are bounded, and a program may have lines for every symbol. With a
growing alphabet, the number of lines has to be the same for all alphabets (docs/length-theory.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from weft.crasp import library
from weft.tasks.algorithmic import Sorting, UniqueCopy
from weft.tasks.algorithmic.rewriting import FILLER
from weft.theory.length.answers import Answer
from weft.theory.length.transductions.arguments import symbols_that_confuse
from weft.theory.length.transductions.comparison import (
    RANDOM,
    check_program,
    compare,
    inputs_by_length,
    shuffled_inputs,
)
from weft.theory.length.transductions.pairs import SHOWN, Pair, both, yes
from weft.theory.length.transductions.programs import counted_copy, letters_of, local_copy

SMALL = 8
"""All inputs of so many distinct symbols can be tried."""
LARGER = 12
"""Programs for so many symbols are tried on random inputs."""
LINES = 8
"""The number of lines for which the details of an answer give figures."""


def sorting(task: Sorting, growing: bool = False) -> Pair:
    """Sorting: a yes for both alphabets and both encodings."""
    letters = min(SHOWN, task.kinds)
    few, names = _first_symbols(task, letters)
    program = library.load("sort", letters=letters)
    many, more = _first_symbols(task, min(LARGER, task.kinds))
    check_program(
        library.load("sort", letters=len(many)), shuffled_inputs(task, many, more), task.name
    )
    found = compare(program, inputs_by_length(task, few, names, letters), (), task.name)
    details: tuple[str, ...] = (
        f"shown for {letters} symbols ({_said(few, names)}); "
        f"the one for {len(many)} agrees with {RANDOM} random inputs",
    )
    if growing:
        details += (
            "growing alphabet: for every number of symbols, NEXT_b is one line that counts the "
            "symbols of the input between this one and b, by comparing symbols",
        )
        change = "nothing for a fixed alphabet: the answer is yes, too"
    else:
        details += ("fixed alphabet: inputs have at most as many symbols as it",)
        change = (
            "nothing for a growing alphabet, if symbols can be compared: the answer is yes, too"
        )
    reason = (
        "the next symbol is the one of the input that is larger than this one with none between, "
        "which needs no positions"
    )
    return both(yes("none", found, reason, details=details, change=change))


def copy_fixed(task: UniqueCopy) -> Pair:
    """Copying over a fixed alphabet: by counting without positions, locally with them."""
    stride = task.stride
    letters = min(max(SHOWN, 2 * stride), task.kinds)
    few, names = _first_symbols(task, letters)
    many, more = _first_symbols(task, min(max(LARGER, 2 * stride), task.kinds))
    longest = letters + stride - 1
    longer = shuffled_inputs(task, few, names) if letters > SMALL else ()
    answers = []
    for make in (counted_copy, local_copy):
        check_program(make(len(many), stride), shuffled_inputs(task, many, more), task.name)
        levels = inputs_by_length(task, few, names, longest)
        compared = compare(make(letters, stride), levels, longer, task.name)
        answers.append(compared)
    details = (
        "fixed alphabet: inputs have at most as many different symbols as it",
        f"shown for {letters} symbols ({_said(few, names)}); the one for {len(many)} agrees with "
        f"{RANDOM} random inputs",
    )
    none = yes(
        "none",
        answers[0],
        "the place of each symbol is the number of positions before it, which is a count, so with "
        "one count for each symbol the next one is known",
        details=details,
        change="a growing alphabet: then no fixed number of counts is enough, and the answer is no",
    )
    absolute = yes(
        "absolute",
        answers[1],
        f"a local predicate reads the symbol {_back(stride)}, so each pair of symbols of the input "
        "says what comes next",
        details=details,
        change="nothing for a growing alphabet: the answer is yes, too",
    )
    return none, absolute


def copy_growing(task: UniqueCopy) -> Pair:
    """Copying over a growing alphabet: a no without positions, by the number of symbols."""
    stride = task.stride
    power = "m" if stride == 1 else f"({stride} m)"
    enough = f"e 2^{power} copied symbols are too many for m lines"
    if stride == 1:
        enough += f": {symbols_that_confuse(LINES):,} for {LINES} lines"
    none = Answer(
        positions="none",
        verdict="no",
        support="theorem",
        reason="without local predicates, a fixed number of lines cannot tell all orders of many "
        "distinct symbols apart",
        details=(
            "growing alphabet: one number of lines for inputs of any number of different symbols",
            "all that positions in the answer see of the input is, for each symbol, which lines "
            "held where it stood; with m lines and n symbols that is one of 2^(m n) cases, but n "
            "copied symbols have n! orders",
            enough,
        ),
        change="a fixed alphabet (yes: one count for each symbol), or positions: a local predicate "
        f"reads the symbol {_back(stride)}",
    )
    fixed = copy_fixed(task)[1]
    absolute = replace(
        fixed,
        details=(
            "growing alphabet: for every number of symbols, NEXT_b is one line that asks whether b "
            f"stands in the input where the symbol {_back(stride)} is this one",
            *fixed.details[1:],
        ),
        change="without positions there is no fixed number of lines for all alphabets",
    )
    return none, absolute


def _back(stride: int) -> str:
    return "one position back" if stride == 1 else f"{stride} positions back"


def _first_symbols(task: Sorting | UniqueCopy, count: int) -> tuple[Sequence[str], dict[str, str]]:
    """The first symbols of a task, and what programs call them."""
    symbols = task.symbols[:count]
    return symbols, {**dict(zip(symbols, letters_of(len(symbols)), strict=True)), FILLER: FILLER}


def _said(symbols: Sequence[str], names: Mapping[str, str]) -> str:
    return ", ".join(f"{names[a]} is {a}" for a in symbols)
