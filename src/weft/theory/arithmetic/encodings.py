"""What the theory claims about a positional encoding, for a task and its layout.

    truncated    the model learns every place by itself, and so the operation on the last n digits.
                 Derived for learned absolute positions, if every place has a position of its own:
                 positions of places above n hold nothing but 0 in training.
    shared       the model can apply one rule at all places. Derived for encodings that depend on
                 the distance alone, if the rule is the same at all places and the layout keeps the
                 distances between a digit of the result and the operands' digits of its place
                 constant; and for abacus, if numbers are aligned and its random offset trains the
                 places of the longest numbers.
    unknown      neither.

With operands padded to width W and results to R, in the order a + b =, the distance between digit i
of the result and digit i of the first operand is

    operands and result reversed     2 W + 2
    neither                          W + R + 2
    the result alone                 W + 3 + 2 i, which depends on i
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from weft.errors import unknown_name
from weft.tasks.arithmetic import Arithmetic

Behaviour = Literal["truncated", "shared", "unknown"]

ALIASES: Mapping[str, str] = {"absolute": "learned", "relative": "distance", "nope": "none"}
RELATIVE = ("distance", "rotary", "t5")
REASONS: Mapping[str, str] = {
    "none": "without positional encoding, nothing says which digits share a place",
    "sinusoidal": "sinusoidal positions are related by rotations, so places are not independent",
    "randomised": "positions are drawn at random, so a place has no position of its own",
    "alibi": "ALiBi's penalty grows with the distance, so no head can single out a distant digit",
    "nape": "NAPE's heads look at all digits alike or prefer the nearest ones",
    "fire": "FIRE's bias depends on the query's position, too, not on the distance alone",
}
"""Encodings of which nothing is derived, and why."""
ENCODINGS = ("learned", "abacus", *RELATIVE, *REASONS)
"""The positional encodings of Weft's models."""
CAUSAL_BUCKETS = 16
"""T5's distances below this have a bucket each, in a decoder."""


@dataclass(frozen=True)
class Claim:
    """What is claimed, and why.

    Attributes:
        behaviour: `truncated`, `shared` or `unknown`.
        reason: a clause.
    """

    behaviour: Behaviour
    reason: str


def encoding_name(name: str) -> str:
    """The name of a positional encoding as in a model's config; `absolute` is `learned`.

    Example:
        >>> encoding_name("absolute"), encoding_name("randomised+rotary")
        ('learned', 'randomised+rotary')
    """
    if ":" in name:
        return name  # of a user's file
    parts = [ALIASES.get(part.strip(), part.strip()) for part in name.split("+")]
    for part in parts:
        if part not in ENCODINGS:
            what = f"there is no positional encoding '{part}'"
            raise unknown_name(what, part, [*ENCODINGS, *ALIASES])
    return "+".join(parts)


def claim(task: Arithmetic, encoding: str, random_offset: int, longest: int) -> Claim:
    """What is claimed about a model with this encoding that is trained on a task.

    Args:
        task: the task.
        encoding: a name as `encoding_name` returns it.
        random_offset: the model's, for abacus.
        longest: the length of the longest test.
    """
    if task.scratchpad != "none":
        return Claim("unknown", "with a scratchpad, a digit is computed from what is written out")
    if encoding == "learned":
        return Claim("truncated", "absolute positions learn every place by itself")
    if "+" in encoding or encoding not in ENCODINGS:
        return Claim("unknown", f"nothing is derived for the encoding {encoding}")
    if encoding in REASONS:
        return Claim("unknown", REASONS[encoding])
    if not has_one_rule(task):
        return Claim("unknown", f"the rule of {_operation(task)} changes from place to place")
    if encoding == "abacus":
        return _abacus(task, random_offset, longest)
    distance = constant_distance(task)
    if distance is None:
        return Claim("unknown", f"the distance between digits of a place varies: {_remedy(task)}")
    if encoding == "t5" and distance >= CAUSAL_BUCKETS:
        what = f"T5's buckets merge the distance {distance} with others"
        return Claim("unknown", what)
    return Claim("shared", f"one rule for all places, at constant distances of up to {distance}")


def has_one_rule(task: Arithmetic) -> bool:
    """Whether every digit of the result is the same function of its place and the carry.

    That is translation invariance. Sums have it; products collect more pairs of digits at higher
    places, residues depend on all places at once, and differences on which operand is larger.
    """
    sums = set(task.operation.signs) == {"+"}
    return sums and not task.modulus_or_none


def constant_distance(task: Arithmetic) -> int | None:
    """The distance from a digit of the result to that of its place in the first operand.

    None if it depends on the place or on the numbers.
    """
    notation = task.notation
    if not task.width or task.format != "lm":
        return None
    if notation.reverse_operands != notation.reverse_result:
        return None
    # The other operands and signs lie in between, all as wide as the first one; and the mark.
    between = (notation.operation.operands - 1) * (task.width + 1)
    if notation.reverse_result:
        return task.width + 1 + between
    return notation.result_width + 1 + between


def _remedy(task: Arithmetic) -> str:
    if task.format != "lm":
        return "source and target have positions of their own"
    if not task.width:
        return "numbers are not padded (width)"
    return "operands and result run in opposite directions (reverse_operands)"


def _abacus(task: Arithmetic, random_offset: int, longest: int) -> Claim:
    notation = task.notation
    if notation.reverse_operands != notation.reverse_result or not (
        notation.reverse_operands or task.width
    ):
        what = "abacus counts from a number's first digit, so equal places have different indices"
        return Claim("unknown", what)
    if random_offset < longest - task.digits:
        what = f"random_offset is {random_offset}: places above {task.digits} are not trained"
        return Claim("unknown", what)
    return Claim("shared", "one rule for all places, whose indices are all trained")


def _operation(task: Arithmetic) -> str:
    name = task.operation.name
    return f"modular {name}" if task.modulus_or_none else name
