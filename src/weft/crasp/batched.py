"""The batched interpreter: a program on many words of different lengths at once, with NumPy.

Every operation is computed once, for all words and positions, as an array [words, positions + 1]
whose first column is the begin symbol. `weft.crasp.reference` defines what it computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Or,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.graph import Graph, count_bounds, graph_of, index_of, inputs_of
from weft.crasp.program import CraspProgram
from weft.crasp.reference import OPERATORS, CraspRun

Values: TypeAlias = NDArray[Any]
"""Booleans or integers that broadcast to [words, positions + 1]."""

PREVIOUS = Local((1,))


@dataclass(frozen=True)
class BatchRun:
    """The values of all lines on a batch of words. `batch_run[k]` is the run of word k.

    Attributes:
        program: what was run.
        words: as they were given.
        lengths: of the words.
        mask: [words, positions + 1]; true at the begin symbol and at the positions of the word.
        values: by line, [words, positions + 1]; false or 0 at padding.
        accepted: by word, whether the last Boolean line holds at its last position.
    """

    program: CraspProgram
    words: tuple[str | Sequence[str], ...]
    lengths: NDArray[np.int64]
    mask: NDArray[np.bool_]
    values: Mapping[str, Values]
    accepted: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, index: int) -> CraspRun:
        length = int(self.lengths[index])
        values = {
            name: tuple(array[index, : length + 1].tolist()) for name, array in self.values.items()
        }
        word = self.program.read_word(self.words[index])
        return CraspRun(word, values, bool(self.accepted[index]))


def run_batch(program: CraspProgram, words: Sequence[str | Sequence[str]]) -> BatchRun:
    """Run a program on many words at once.

    Args:
        program: what to run.
        words: of any lengths, each as `run` takes it.

    Example:
        >>> from weft.crasp import Comparison, Counting, CraspProgram, Line, Symbol
        >>> zeros, ones = Counting(Symbol("0")), Counting(Symbol("1"))
        >>> majority = CraspProgram(("0", "1"), (Line("more", Comparison("<", zeros, ones)),))
        >>> batch = run_batch(majority, ["0110", "011", ""])
        >>> batch.accepted.tolist()
        [False, True, False]
        >>> batch[1].values["more"]
        (False, False, False, True)
    """
    words = tuple(words)
    codes, lengths = _encode(program, words)
    mask = np.arange(codes.shape[1]) <= lengths[:, None]
    graph = graph_of(program)
    arrays = _evaluate(graph, program.alphabet, codes)
    padded = not bool(mask.all())
    values: dict[str, Values] = {}
    for name, index in graph.lines.items():
        array = arrays[index]
        if padded:
            values[name] = array & mask if array.dtype == np.bool_ else array * mask
        else:
            values[name] = np.broadcast_to(array, mask.shape)
    accepted = values[program.accepting][np.arange(len(words)), lengths]
    return BatchRun(program, words, lengths, mask, values, accepted)


def _encode(
    program: CraspProgram, words: Sequence[str | Sequence[str]]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The symbols as indices into the alphabet, [words, positions + 1], and the lengths.

    The begin symbol and padding are -1.
    """
    texts = [isinstance(word, str) for word in words]
    flat: NDArray[np.int32] | None = None
    if all(texts) and all(len(symbol) == 1 for symbol in program.alphabet):
        flat = _encode_characters(program, "".join(words))  # type: ignore[arg-type]
    elif not any(texts):
        flat = _encode_symbols(program, words)
    if flat is None:  # to be split, or with a mistake, which read_word names
        words = [program.read_word(word) for word in words]
        flat = _encode_symbols(program, words)
        assert flat is not None
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    longest = int(lengths.max(initial=0))
    codes = np.full((len(words), 1 + longest), -1, np.int32)
    if len(flat) == len(words) * longest:  # all of one length: nothing is padded
        codes[:, 1:] = flat.reshape(len(words), longest)
    else:
        codes[:, 1:][np.arange(longest) < lengths[:, None]] = flat
    return codes, lengths


def _encode_characters(program: CraspProgram, text: str) -> NDArray[np.int32] | None:
    """Characters as indices into the alphabet; None if one is not in it."""
    points = [ord(symbol) for symbol in program.alphabet]
    if text.isascii() and len(points) < 128:  # one pass in C
        codes = bytearray(b"\xff" * 256)
        for code, point in enumerate(points):
            if point < 128:
                codes[point] = code
        flat = np.frombuffer(text.encode("ascii").translate(codes), np.int8).astype(np.int32)
    else:
        table = np.full(max(points) + 2, -1, np.int32)  # the last entry stands for all beyond it
        table[points] = range(len(points))
        characters = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
        flat = table[np.minimum(characters, len(table) - 1)]
    return flat if int(flat.min(initial=0)) >= 0 else None


def _encode_symbols(
    program: CraspProgram, words: Sequence[str | Sequence[str]]
) -> NDArray[np.int32] | None:
    """Symbols as indices into the alphabet; None if one is not in it."""
    index = {symbol: k for k, symbol in enumerate(program.alphabet)}
    try:
        return np.fromiter(map(index.__getitem__, chain.from_iterable(words)), np.int32)
    except KeyError:
        return None


def _evaluate(graph: Graph, alphabet: Sequence[str], codes: NDArray[np.int32]) -> dict[int, Values]:
    """The arrays of the operations that are lines."""
    width = codes.shape[1]
    dtype = _count_type(graph, width - 1)
    last_use = {index: k for k, part in enumerate(graph.operations) for index in inputs_of(part)}
    kept = set(graph.lines.values())
    arrays: dict[int, Values] = {}

    def of(reference: Expression) -> Values:
        return arrays[index_of(reference)]

    def compute(operation: Expression) -> Values:
        match operation:
            case Symbol(symbol):
                return np.equal(codes, alphabet.index(symbol))
            case Constant(value):
                return np.full((1, 1), value)
            case Integer(value):
                return np.full((1, 1), value, dtype)
            case Position(predicate):
                return np.isin(np.arange(width) % predicate.period, predicate.residues)[None]
            case Not(operand):
                return np.logical_not(of(operand))
            case And(operands):
                return reduce(np.logical_and, map(of, operands))
            case Or(operands):
                return reduce(np.logical_or, map(of, operands))
            case Comparison(operator, left, right):
                return np.asarray(OPERATORS[operator](of(left), of(right)))
            case Exists(body, None):
                return _accumulate(np.logical_or, of(body), width, np.bool_)
            case Exists(body, local):
                return _count_near(of(body), local, width, np.int64) >= 1
            case Previous(body):
                return _count_near(of(body), PREVIOUS, width, np.bool_)
            case Counting(body, None):
                return _accumulate(np.add, of(body), width, dtype)
            case Counting(body, local):
                return _count_near(of(body), local, width, dtype)
            case Conditional(condition, then, otherwise):
                return np.where(of(condition), of(then), of(otherwise))
            case Add(left, right):
                return of(left) + of(right)
            case Subtract(left, right):
                return of(left) - of(right)
            case Minimum(operands):
                return reduce(np.minimum, map(of, operands))
            case Maximum(operands):
                return reduce(np.maximum, map(of, operands))
            case Name():
                raise AssertionError("a graph has no names")

    for k, operation in enumerate(graph.operations):
        arrays[k] = compute(operation)
        for index in inputs_of(operation):
            if last_use[index] == k and index not in kept:
                arrays.pop(index, None)
    return arrays


def _count_type(graph: Graph, length: int) -> DTypeLike:
    """The smallest type that holds every count on words of a length: exact, whatever it takes."""
    largest = max((max(abs(b[0]), abs(b[1])) for b in count_bounds(graph, length) if b), default=0)
    return np.int32 if largest < 2**31 else np.int64 if largest < 2**63 else np.object_


def _accumulate(function: np.ufunc, body: Values, width: int, dtype: DTypeLike) -> Values:
    """A running sum or disjunction over the positions from 1."""
    body = np.broadcast_to(body, (len(body), width))
    result = np.zeros(body.shape, dtype)
    if dtype == np.object_:
        result[:, 1:] = np.cumsum(body[:, 1:], axis=1, dtype=np.int64)
    else:
        function.accumulate(body[:, 1:], axis=1, dtype=dtype, out=result[:, 1:])
    return result


def _count_near(body: Values, local: Local | None, width: int, dtype: DTypeLike) -> Values:
    """At how many of the positions i - d, d an offset, the body holds, for every position i."""
    assert local is not None
    body = np.broadcast_to(body, (len(body), width))
    result = np.zeros(body.shape, dtype)
    for offset in local.offsets:
        if offset + 1 < width:
            result[:, offset + 1 :] += body[:, 1 : width - offset]
    return result
