"""Inputs of a program: given as text or tokens, read from a file, or drawn at random."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import WeftError
from weft.files import read_text
from weft.language.program import Program
from weft.language.user_code import encode_text, sample_input

Inputs = Iterable[str | Iterable[Any]]
"""What may be given as inputs: text for a program's `encode`, or tokens."""

RETRIES = 20
"""How often an input that is too long is drawn again."""
REJECTIONS = 64
"""How many inputs of a wrong length are rejected for each one of a right length."""
NOT_HALTING = 8
"""If this many inputs fail to halt and none succeeds, the program is taken never to halt."""


def read_input(program: Program, given: str | Iterable[Any]) -> Sequence[Any]:
    """The tokens of an input: text goes through the program's `encode`."""
    return encode_text(program, given) if isinstance(given, str) else list(given)


def read_inputs(program: Program, inputs: Inputs) -> list[Sequence[Any]]:
    """The tokens of every input; an error names the number of the input."""
    read: list[Sequence[Any]] = []
    for index, given in enumerate(inputs):
        try:
            read.append(read_input(program, given))
        except WeftError as error:
            raise with_input_number(error, index) from None
    return read


def with_input_number(error: WeftError, index: int | None) -> WeftError:
    """The error with the number of the input that it is about."""
    return error if index is None else error.revised(what=f"input {index}: {error.what}")


def read_input_file(path: Path) -> list[str]:
    """The inputs in a text file, one per line; `.gz` files are decompressed.

    Empty lines are skipped. From a line of SCAN's files, `IN: jump OUT: I_JUMP`, the command is
    taken.
    """
    lines = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    if not lines:
        raise WeftError(f"{path} has no inputs", remedy="Write one input per line")
    return [line.removeprefix("IN: ").partition(" OUT: ")[0] for line in lines]


def random_inputs(
    program: Program, rng: random.Random, count: int, low: int, high: int, *, exact: bool = False
) -> Iterator[list[Any]]:
    """Draw inputs with the program's `sample`, asking for `low` to `high` tokens.

    `sample` draws inputs of about the length it is asked for. With `exact`, inputs of other lengths
    are rejected.

    Example:
        >>> import random
        >>> import weft
        >>> list(random_inputs(weft.program("parity"), random.Random(0), 2, 1, 4))
        [['s', 1, 0, 1], ['s', 1, 1, 1]]
    """
    drawn = rejected = 0
    reason = ""
    while drawn < count:
        try:
            tokens = sample_input(program, rng, rng.randint(low, high))
        except WeftError as error:
            if not exact:
                raise
            tokens, reason = [], f": {error.what}"  # the program has no input of this length
        if not exact or low <= len(tokens) <= high:
            drawn += 1
            yield tokens
        else:
            rejected += 1
        if rejected > REJECTIONS * (drawn + 1):
            raise WeftError(
                f"it samples no inputs of {low} to {high} tokens{reason}",
                subject=program.name,
                remedy="Set `length` and `longer`, or override `sample(self, rng, length)`",
            )


@dataclass(frozen=True)
class FailedInput:
    """An input on which a program fails.

    Attributes:
        tokens: the input.
        reason: why it fails, on one line.
        halts: false if it ran to its last layer without halting.
    """

    tokens: tuple[Any, ...]
    reason: str
    halts: bool = True


def valid_inputs(
    program: Program, count: int, max_length: int, seed: int = 0, layers: int | None = None
) -> list[Sequence[Any]]:
    """Draw inputs of random lengths up to `max_length`, without those on which the program fails.

    Args:
        program: the program.
        count: how many inputs to draw; fewer are returned if the program fails on some.
        max_length: the greatest length to ask the program's `sample` for.
        seed: another seed draws other inputs.
        layers: how many layers to run, for programs that do not halt.
    """
    drawn = list(random_inputs(program, random.Random(seed), count, 1, max_length))
    inputs, failed = split_failing(program, drawn, layers)
    if not inputs:
        raise WeftError(
            f"none of {len(failed)} random inputs ran without an error",
            subject=program.name,
            remedy="Give your own inputs, or override `sample(self, rng, length)`",
        )
    return inputs


def inputs_by_length(
    program: Program, count: int, max_length: int, seed: int, layers: int | None
) -> tuple[list[Sequence[Any]], tuple[FailedInput, ...]]:
    """Draw inputs of evenly spaced lengths, none longer than `max_length`.

    Returns the inputs on which the program runs and those on which it fails, shortest first.
    """
    rng = random.Random(seed)
    shortest = min(max_length, max(1, len(sample_input(program, rng, 1))))
    more = max_length + 1 - shortest
    lengths = [shortest + number * more // count for number in range(count)]
    drawn = [_sample_at_most(program, rng, length, max_length) for length in lengths]
    fitting = sorted((tokens for tokens in drawn if len(tokens) <= max_length), key=len)
    if not fitting:
        least = min(map(len, drawn))
        raise WeftError(
            f"no input of at most {max_length} tokens was drawn: the shortest has {least}",
            subject=program.name,
            remedy=f"Give a greater length (--max-length {least}), or let `sample` draw short ones",
        )
    return split_failing(program, fitting, layers)


def _sample_at_most(
    program: Program, rng: random.Random, length: int, max_length: int
) -> Sequence[Any]:
    """A random input; if it is longer than `max_length`, draw shorter ones a few times."""
    tokens = sample_input(program, rng, length)
    for _ in range(RETRIES):
        if len(tokens) <= max_length:
            break
        length = max(1, length - (len(tokens) - max_length))
        other = sample_input(program, rng, length)
        tokens = other if len(other) < len(tokens) else tokens
    return tokens


def split_failing(
    program: Program, inputs: Sequence[Sequence[Any]], layers: int | None = None
) -> tuple[list[Sequence[Any]], tuple[FailedInput, ...]]:
    """The inputs on which a program runs, and those on which it fails.

    If none of the first inputs halts, the rest are not tried.
    """
    from weft.interpreter.batched import run_batch  # NumPy is imported only if something is run

    try:
        run_batch(program, inputs[:NOT_HALTING], layers=layers)
        run_batch(program, inputs, layers=layers)
    except WeftError:
        pass
    else:
        return list(inputs), ()
    valid: list[Sequence[Any]] = []
    failed: list[FailedInput] = []
    for tokens in inputs:
        failure = _failure(program, tokens, layers)
        if failure is None:
            valid.append(tokens)
        else:
            failed.append(failure)
        if len(failed) == NOT_HALTING and not valid and not any(f.halts for f in failed):
            break
    return valid, tuple(failed)


def _failure(program: Program, tokens: Sequence[Any], layers: int | None) -> FailedInput | None:
    """Why a program fails on an input, in the reference interpreter's words; None if it runs."""
    from weft.interpreter.batched import run_batch
    from weft.interpreter.failures import NotHalted, not_halted
    from weft.interpreter.reference import layer_limit, run

    try:
        run_batch(program, [tokens], layers=layers)
    except NotHalted:
        limit, _ = layer_limit(program, layers, None)
        reason = not_halted(program, tokens, limit, None).line
        return FailedInput(tuple(tokens), reason, halts=False)
    except WeftError as error:
        reason = error.line
        try:
            run(program, tokens, layers=layers)
        except WeftError as alone:
            reason = alone.line
        return FailedInput(tuple(tokens), reason)
    return None
