"""The batched interpreter: many inputs at once in NumPy, with bit-identical results.

`reference` defines what it computes. If an input fails, the reference interpreter runs that input
again, so that both raise the same error. `engine` runs the layers, `batched_heads` and
`plan` compute attention and the step, `batch_run` holds the results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter import reference
from weft.interpreter.batched.batch_run import BatchRun, Snapshot
from weft.interpreter.batched.engine import Engine, FirstFailure, RunningBatch
from weft.interpreter.failures import InterpretersDisagree, not_halted, shown
from weft.interpreter.inputs import read_input, with_input_number
from weft.language.frontend import AlwaysFails
from weft.language.program import Program, as_program, token_numbers

__all__ = ["POSITIONS_AT_ONCE", "BatchRun", "in_parts", "run_batch", "step_codes"]

Array = NDArray[Any]

POSITIONS_AT_ONCE = 1 << 16
"""About how many positions are computed together: as many as fit a core's cache."""


def run_batch(
    program: Program | type[Program],
    inputs: Iterable[str | Iterable[Any]],
    *,
    layers: int | None = None,
    max_layers: int | None = None,
    trace: bool = False,
) -> BatchRun:
    """Run a program on many inputs at once. The arguments are those of `run`.

    Example:
        >>> import weft
        >>> weft.run_batch(weft.program("parity"), ["101", "1", "0111"]).results
        [0, 1, 1]
    """
    program = as_program(program)
    limit, must_halt = reference.layer_limit(program, layers, max_layers)
    tokens, numbers, unreadable = _read_inputs(program, inputs)
    bounds = np.cumsum([0, *(len(t) for t in tokens)])
    engine = Engine.of(program)
    results = {
        name: np.zeros(bounds[-1], engine.types[name])
        for name, variable in program.variables.items()
        if not variable.is_head
    }
    ran = np.zeros(len(tokens), np.intp)
    history: list[list[tuple[Snapshot, Snapshot, Snapshot]]] = []
    chunks = np.zeros(len(tokens), np.intp)
    for number, chunk in enumerate(_chunks(bounds)):
        chunks[chunk] = number
        batch = RunningBatch(engine, chunk, numbers, bounds, results, ran)
        given: dict[str, Any] = {"layers": layers, "max_layers": max_layers}
        try:
            failed = batch.run(limit, must_halt, trace)
        except AlwaysFails:
            for index, read in enumerate(tokens):  # the first that reaches a layer raises the error
                reference.run(program, read, index=index, **given)
            raise
        if failed is not None:
            raise _error(program, tokens, failed, limit, given)
        if trace:
            history.append(batch.history)
    if unreadable is not None:
        raise unreadable
    return BatchRun(
        program,
        tuple(tuple(t) for t in tokens),
        tuple(ran.tolist()),
        results,
        bounds,
        history,
        chunks,
    )


def _read_inputs(
    program: Program, inputs: Iterable[str | Iterable[Any]]
) -> tuple[list[Sequence[Any]], list[list[int]], Exception | None]:
    """The inputs up to the first that cannot be read, and the error of that one."""
    tokens, numbers = [], []
    for index, given in enumerate(inputs):
        try:
            read = read_input(program, given)
            numbers.append(token_numbers(program, read))
            tokens.append(read)
        except WeftError as error:
            return tokens, numbers, with_input_number(error, index)
    return tokens, numbers, None


def _chunks(bounds: Array) -> Iterator[Array]:
    """Groups of inputs with about as many positions as are computed together."""
    start = 0
    while start < len(bounds) - 1:
        end = int(np.searchsorted(bounds, bounds[start] + POSITIONS_AT_ONCE))
        end = min(max(end, start + 1), len(bounds) - 1)
        yield np.arange(start, end)
        start = end


def _error(
    program: Program,
    tokens: list[Sequence[Any]],
    failed: FirstFailure,
    limit: int,
    given: dict[str, Any],
) -> Exception:
    """The error that the reference interpreter gives for an input."""
    sequence = failed.sequence
    if not failed.halts:
        return not_halted(program, tokens[sequence], limit, sequence)
    try:
        reference.run(program, tokens[sequence], index=sequence, **given)
    except Exception as error:
        return error
    return InterpretersDisagree(
        f"input {sequence} ({shown(program, tokens[sequence])}): the batched interpreter fails and "
        "the reference interpreter does not",
        subject=program.name,
        remedy="This is a bug in Weft: please report it with the program",
    )


def step_codes(program: Program, codes: Array) -> Array:
    """Apply the step to states on which it succeeds; heads' outputs are then undefined.

    Args:
        program: the program.
        codes: n v, the code of every variable after attention.

    Returns:
        n v, the codes after the step.
    """
    after = codes.copy()
    if not len(codes):
        return after
    columns = {name: codes[:, place] for place, name in enumerate(program.variables)}
    new, _ = Engine.of(program).plan.run(columns)
    for place, (name, variable) in enumerate(program.variables.items()):
        if variable.is_head:
            after[:, place] = len(variable)
        elif name in new:
            after[:, place] = new[name]
    return after


def in_parts(inputs: Iterable[Sequence[Any]], positions: int) -> Iterator[list[Sequence[Any]]]:
    """Group inputs so that each group has at most about this many positions.

    Example:
        >>> from weft.interpreter.batched import in_parts
        >>> list(in_parts(["101", "11", "0"], positions=5))
        [['101', '11'], ['0']]
    """
    part: list[Sequence[Any]] = []
    size = 0
    for tokens in inputs:
        if part and size + len(tokens) > positions:
            yield part
            part, size = [], 0
        part.append(tokens)
        size += len(tokens)
    if part:
        yield part
