"""Kinds of wrong outputs: what exactly is wrong about them.

Of the binary successor, the first of these that holds:

    copied      the output is the input
    short       an all-carry input, and the output is 01 XO ... XO, one token too short
    flip        an all-carry input, and the output is X1 XO ... XO
    run off     as long as the input, and another run than the carry run is rewritten: run off by +2
                if it is two tokens too long, by -1 if it is one too short
    too short   fewer tokens than the truth
    too long    more tokens than the truth, or no end
    other       as long as the truth

Of a traversal: copied (the values in the order of the input), wrong order (the right values), too
short, too long, other. Of other functions: copied, too short, too long, other.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.theory.recursion.state_machines import Word
from weft.theory.recursion.successor_machines import (
    ONE,
    ONE_BIT,
    ZERO_BIT,
    Order,
    all_carry,
    depth_of,
)

RIGHT = "right"


def successor_error(number: Word, output: Word | None, truth: Word, order: Order) -> str:
    """The kind of an output of the successor; `right` if nothing is wrong.

    Args:
        number: the input.
        output: the output; None if it did not end.
        truth: the right output.
        order: in which number, output and truth are written.

    Example:
        >>> from weft.theory.recursion.wrong_outputs import successor_error
        >>> number, truth = ("01", "XO", "X1", "X1"), ("01", "X1", "XO", "XO")
        >>> successor_error(number, ("01", "XO", "X1", "XO"), truth, "natural")
        'run off by -1'
        >>> successor_error(number, number, truth, "natural")
        'copied'
    """
    known = _known(number, output, truth)
    if known or output is None:
        return known
    if order == "constructor":
        number, output, truth = number[::-1], output[::-1], truth[::-1]
    if all_carry(number) and len(output) == len(number):
        zeros = (ZERO_BIT,) * (len(number) - 1)
        if output == (ONE, *zeros):
            return "short"
        if output == (ONE_BIT, *zeros):
            return "flip"
    off = _run_off(number, output)
    return f"run off by {off:+d}" if off else _length(output, truth)


def _run_off(number: Word, output: Word) -> int:
    """By how many tokens the rewritten run is too long; 0 if the output is of no such form."""
    if len(number) != len(output):
        return 0
    depth = depth_of(number)
    for run in range(len(number)):
        place = len(number) - 1 - run
        if (*number[:place], ONE_BIT, *(ZERO_BIT,) * run) == output:
            return run - depth
    return 0


def sequence_error(
    values: Word, output: Word | None, truth: Word, *, reordered: bool = False
) -> str:
    """The kind of an output of any other function; `right` if nothing is wrong.

    Args:
        values: what a copy of the input would be, such as the values of a tree in its order.
        output: the output; None if it did not end.
        truth: the right output.
        reordered: whether the right values in a wrong order are a kind of their own.

    Example:
        >>> from weft.theory.recursion.wrong_outputs import sequence_error
        >>> sequence_error(("a", "b"), ("b", "b"), ("b", "a"), reordered=True)
        'other'
    """
    known = _known(values, output, truth)
    if known or output is None:
        return known
    if reordered and sorted(output) == sorted(truth):
        return "wrong order"
    return _length(output, truth)


def _known(given: Sequence[str], output: Word | None, truth: Word) -> str:
    if output is None:
        return "too long"
    if output == truth:
        return RIGHT
    return "copied" if output == tuple(given) else ""


def _length(output: Word, truth: Word) -> str:
    if len(output) < len(truth):
        return "too short"
    return "too long" if len(output) > len(truth) else "other"
