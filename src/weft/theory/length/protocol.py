"""A C-RASP program as a one-way protocol: what the second half needs to know of the first.

Alice holds the first N symbols of a word, Bob the last N. Alice sends

    counts      of every unrestricted counting, its value after N symbols
    last bits   of everything that local predicates read, its last values within reach
    residue     N modulo the period

and Bob computes every line at every later position, exactly. The same holds for the limit
transformer (Huang et al. 2025, theorem 12): its uniform heads need the sums of their values, its
local heads the last values within reach, and its position vectors the residue. The message has

    bits(N) = k ceil(log2(N + 1)) + b  <=  C log2 N    for N >= 8,   C = k + (k + b) / 3

because ceil(log2(N + 1)) <= log2 N + 1 and log2 N >= 3.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from weft.crasp.batched import run_batch
from weft.crasp.expressions import (
    Counting,
    Exists,
    Local,
    Name,
    Position,
    Previous,
    Symbol,
    operands,
    with_operands,
)
from weft.crasp.graph import Graph, graph_of, index_of
from weft.crasp.limit.construct import limit_transformer
from weft.crasp.limit.transformer import LimitHead, LimitLayer, LimitTransformer, gap
from weft.crasp.program import CraspProgram, Line
from weft.crasp.reference import evaluate
from weft.errors import WeftError

LENGTHS = (8, 16, 32, 64, 128, 256, 512)
TOLERANCE = 1e-9
"""Float64 sums in different orders differ by less; Booleans and counts are compared exactly."""
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Message:
    """What Alice sends about the first half of a word.

    Attributes:
        counts: by operation, the value of an unrestricted counting (or of `exists`, 0 or 1).
        recent: by operation that a local predicate reads, its last values, the latest first.
        residue: the length modulo the period of the program.
    """

    counts: Mapping[int, int]
    recent: Mapping[int, tuple[bool, ...]]
    residue: int


@dataclass(frozen=True)
class Cost:
    """The size of a message, as a function of N: `counts` numbers up to N and `constant` bits."""

    counts: int
    constant: int

    def bits(self, length: int) -> int:
        """Bits of the message about a half of this length."""
        return self.counts * math.ceil(math.log2(length + 1)) + self.constant

    @property
    def factor(self) -> float:
        """C: at most C log2 N bits for every N >= 8."""
        return self.counts + (self.counts + self.constant) / 3


@dataclass(frozen=True)
class ProtocolRow:
    """One length of a protocol.

    Attributes:
        length: N, of each half.
        words: how many random words were tried.
        bits: of the message about the lines.
        limit_bits: of the message about the limit transformer.
        values: how many values of lines Bob rebuilt.
        activations: how many activations of the limit transformer Bob rebuilt.
        exact: whether all of them are those of the run on the whole word.
    """

    length: int
    words: int
    bits: int
    limit_bits: int
    values: int
    activations: int
    exact: bool


@dataclass(frozen=True)
class ProtocolReport:
    """A protocol and its measurements.

    Attributes:
        program: the name of the program.
        cost: of the message about the lines.
        limit_cost: of the message about the limit transformer; None if it was left out.
        period: of the program's periodic predicates.
        reach: the largest offset of a local predicate.
        rows: by length.
        left_out: why the limit transformer was left out, if the program is too large for one.
    """

    program: str
    cost: Cost
    limit_cost: Cost | None
    period: int
    reach: int
    rows: tuple[ProtocolRow, ...]
    left_out: str = ""

    @property
    def exact(self) -> bool:
        """Whether Bob rebuilt everything, at all lengths."""
        return all(row.exact for row in self.rows)

    def __str__(self) -> str:
        both = [("lines", self.cost)]
        if self.limit_cost is not None:
            both.append(("limit transformer", self.limit_cost))
        lines = [
            f"{what}: {cost.counts} ceil(log2(N + 1)) + {cost.constant} bits, at most "
            f"{cost.factor:.2f} log2 N for N >= 8"
            for what, cost in both
        ]
        if self.left_out:
            lines.append(f"limit transformer: left out, {self.left_out}")
        for row in self.rows:
            rebuilt = "all exact" if row.exact else "NOT EXACT"
            bits, values = f"{row.bits}", f"{row.values:,} values"
            if self.limit_cost is not None:
                bits += f" and {row.limit_bits}"
                values += f" and {row.activations:,} activations"
            lines.append(f"N = {row.length}: {bits} bits, {values} rebuilt, {rebuilt}")
        return "\n".join(lines)


def protocol(
    program: CraspProgram,
    lengths: Sequence[int] = LENGTHS,
    *,
    words: int = 2,
    seed: int = 0,
    limit: bool = True,
) -> ProtocolReport:
    """Run the protocol on random words, and compare what Bob rebuilds with the whole run.

    Args:
        program: the program.
        lengths: N, the length of each half.
        words: random words per length.
        seed: of the words.
        limit: whether the activations of the limit transformer are rebuilt too.

    Example:
        >>> from weft.crasp import load
        >>> report = protocol(load("dyck-1"), lengths=(8, 16))
        >>> report.exact, report.cost.counts, [row.bits for row in report.rows]
        (True, 3, [12, 15])
    """
    for length in lengths:
        if length < 1:
            raise WeftError(f"a half cannot have length {length}", remedy="Give at least 1")
    graph = graph_of(program)
    needs = _needs(graph)
    cost = _cost(graph)
    transformer, left_out = None, ""
    if limit:
        try:
            transformer = limit_transformer(program)
        except WeftError as error:  # too large to compile; the lines are rebuilt all the same
            left_out = error.what
    limit_cost = None if transformer is None else _Halves(transformer).cost
    rng = random.Random(seed)
    rows: list[ProtocolRow] = []
    for length in lengths:
        drawn = [_random_word(rng, program.alphabet, 2 * length) for _ in range(words)]
        whole = run_batch(program, drawn)
        exact, values, activations = True, 0, 0
        for number, word in enumerate(drawn):
            message = alice(program, word[:length])
            rebuilt = bob(program, message, word[length:])
            for name, column in rebuilt.items():
                expected = tuple(whole.values[name][number, length + 1 :].tolist())
                exact = exact and column == expected
                values += len(column)
            if transformer is not None:
                right, compared = _Halves(transformer).compare(word, length)
                exact = exact and right
                activations += compared
        rows.append(
            ProtocolRow(
                length,
                words,
                cost.bits(length),
                0 if limit_cost is None else limit_cost.bits(length),
                values,
                activations,
                exact,
            )
        )
    reach = max((max(each.offsets, default=0) for each in program.locals), default=0)
    return ProtocolReport(
        program.name,
        cost,
        limit_cost,
        _period(graph),
        max([reach, *needs.values()]),
        tuple(rows),
        left_out,
    )


def alice(program: CraspProgram, word: Sequence[str]) -> Message:
    """The message about the first half of a word."""
    graph = graph_of(program)
    named, names = _all_operations(program, graph)
    values = run_batch(named, [tuple(word)]).values if word else {}
    counts: dict[int, int] = {}
    recent: dict[int, tuple[bool, ...]] = {}
    for number, operation in enumerate(graph.operations):
        if isinstance(operation, (Counting, Exists)) and operation.local is None:
            counts[number] = int(values[names[number]][0, -1]) if word else 0
    for number, reach in _needs(graph).items():
        column = values[names[number]][0, 1:].tolist() if word else []
        recent[number] = tuple(bool(value) for value in column[::-1][:reach])
    return Message(counts, recent, len(word) % _period(graph))


def bob(program: CraspProgram, message: Message, word: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The values of all lines on the second half of a word, from the message and that half."""
    graph = graph_of(program)
    counts = dict(message.counts)
    recent = {number: list(bits) for number, bits in message.recent.items()}
    needs = _needs(graph)
    columns: dict[str, list[int]] = {name: [] for name in graph.lines}
    for step, symbol in enumerate(word, 1):
        residue = message.residue + step
        values: list[int] = []
        for number, operation in enumerate(graph.operations):
            values.append(_value(operation, number, values, symbol, residue, counts, recent))
        for name, number in graph.lines.items():
            columns[name].append(values[number])
        for number, reach in needs.items():
            recent[number] = [bool(values[number]), *recent[number]][:reach]
    return {name: tuple(column) for name, column in columns.items()}


def _value(
    operation: object,
    number: int,
    values: list[int],
    symbol: str,
    residue: int,
    counts: dict[int, int],
    recent: dict[int, list[bool]],
) -> int:
    """One operation at one position of the second half."""
    match operation:
        case Symbol(name):
            return symbol == name
        case Position(predicate):
            return predicate.holds(residue)
        case Counting(body, None):
            counts[number] += values[index_of(body)]
            return counts[number]
        case Exists(body, None):
            counts[number] = int(counts[number] or values[index_of(body)])
            return bool(counts[number])
        case Counting(body, Local(offsets)) | Exists(body, Local(offsets)):
            read = index_of(body)
            past = [values[read], *recent.get(read, [])]
            total = sum(past[offset] for offset in offsets if offset < len(past))
            return total >= 1 if isinstance(operation, Exists) else total
        case Previous(body):
            return any(recent[index_of(body)][:1])
    at_hand = {str(k): (value,) for k, value in enumerate(values)}
    return evaluate(operation, 0, (), at_hand)  # type: ignore[arg-type]  # pointwise: no word


def _needs(graph: Graph) -> dict[int, int]:
    """By operation that local predicates read, how many positions back."""
    needs: dict[int, int] = {}
    for operation in graph.operations:
        match operation:
            case Counting(body, Local(offsets)) | Exists(body, Local(offsets)):
                read, reach = index_of(body), max(offsets, default=0)
            case Previous(body):
                read, reach = index_of(body), 1
            case _:
                continue
        if reach:
            needs[read] = max(reach, needs.get(read, 0))
    return needs


def _period(graph: Graph) -> int:
    return math.lcm(
        *(each.predicate.period for each in graph.operations if isinstance(each, Position))
    )


def _cost(graph: Graph) -> Cost:
    # For `recent`, one bit per position within reach; N >= 1 tells Bob how many there are.
    counts = sum(isinstance(each, Counting) and each.local is None for each in graph.operations)
    exists = sum(isinstance(each, Exists) and each.local is None for each in graph.operations)
    residue = math.ceil(math.log2(_period(graph)))
    return Cost(counts, exists + sum(_needs(graph).values()) + residue)


def _all_operations(program: CraspProgram, graph: Graph) -> tuple[CraspProgram, dict[int, str]]:
    """The program with one line per operation, and the names of these lines."""
    names = {number: f"v{number}" for number in range(len(graph.operations))}
    lines = []
    for number, operation in enumerate(graph.operations):
        inside = [Name(names[index_of(part)]) for part in operands(operation)]
        lines.append(Line(names[number], with_operands(operation, inside)))
    return CraspProgram(program.alphabet, tuple(lines)), names


def _random_word(rng: random.Random, alphabet: tuple[str, ...], length: int) -> tuple[str, ...]:
    weights = [rng.random() + 0.05 for _ in alphabet]
    return tuple(rng.choices(alphabet, weights, k=length))


class _Halves:
    """The activations of a limit transformer's second half, from a message about the first.

    Keys and queries of its heads read the begin symbol and constants alone, so that all positions
    beyond the reach of phi have one score. A head whose score for the begin symbol is higher by
    `gap` gives them no weight at all.
    """

    def __init__(self, limit: LimitTransformer) -> None:
        self.limit = limit
        self.constant = {limit.dimensions.index(name) for name in ("constant", "begin")}
        self.begin = limit.dimensions.index("begin")
        for layer in limit.layers:
            for head in layer.heads:
                for matrix in (head.query, head.key):
                    if not set(np.flatnonzero(matrix.any(axis=1))) <= self.constant:
                        raise WeftError(f"the scores of the head '{head.name}' depend on the word")

    def _sends(self, head: LimitHead) -> NDArray[np.bool_]:
        """The coordinates of a head's values that are not zero at every position after begin."""
        rows = [row for row in range(len(head.value)) if row != self.begin]
        return np.asarray(head.value[rows].any(axis=0))

    def _far(self, head: LimitHead) -> bool:
        """Whether positions beyond the reach of phi have any weight."""
        one = np.zeros(len(head.query))
        one[self.limit.dimensions.index("constant")] = 1.0
        first = one.copy()
        first[self.begin] = 1.0
        query = one @ head.query
        scores = (float(query @ (one @ head.key)), float(query @ (first @ head.key)))
        return scores[1] - scores[0] < gap(self.limit.precision)

    @property
    def cost(self) -> Cost:
        """Of the message."""
        counts = constant = 0
        for layer in self.limit.layers:
            for head in layer.heads:
                sent = int(self._sends(head).sum())
                counts += sent if self._far(head) else 0
                constant += sent * head.range
        return Cost(counts, constant + math.ceil(math.log2(self.limit.period)))

    def compare(self, word: Sequence[str], length: int) -> tuple[bool, int]:
        """Whether Bob rebuilds all activations of a word's second half, and how many there are."""
        limit, total = self.limit, len(word) + 1
        first = self._start(word[:length], 0)  # Alice's own activations, of her half
        second = self._start(word[length:], length)
        begin = first[:1]
        exact, compared = True, 0
        for number, layer in enumerate(limit.layers):
            added = np.zeros_like(second)
            for head in layer.heads:
                sums, recent = self._message(head, first)
                added += self._attend(head, begin, sums, recent, second, length, total)
            second = second + added
            attended = self._whole(word, number, _heads_alone(layer))
            exact, compared = _same(exact, compared, second, attended[length + 1 :])
            mine, theirs = second, attended
            for units in layer.hidden:
                mine, theirs = units(mine), units(theirs)
                exact, compared = _same(exact, compared, mine, theirs[length + 1 :])
            second = second + mine @ layer.output.T + layer.bias
            first = self._whole(word[:length], number, layer)
            begin = first[:1]
            whole = self._whole(word, number, layer)
            exact, compared = _same(exact, compared, second, whole[length + 1 :])
        return exact, compared

    def _start(self, symbols: Sequence[str], before: int) -> Matrix:
        """Embeddings of a half: with the begin symbol if nothing is before it."""
        limit = self.limit
        numbers = [limit.tokens.index(symbol) for symbol in symbols]
        if not before:
            numbers = [len(limit.tokens), *numbers]
        rows = limit.position_rows(before + 1 + len(symbols))
        stream: Matrix = limit.embedding[numbers] + rows[-len(numbers) :]
        return stream

    def _whole(self, word: Sequence[str], number: int, last: LimitLayer) -> Matrix:
        """The stream of a whole word after some layers, the last of which is given."""
        return replace(self.limit, layers=(*self.limit.layers[:number], last)).run(word)

    def _message(self, head: LimitHead, first: Matrix) -> tuple[Matrix, Matrix]:
        """The sums of a head's values over the first half, and the last values, latest first."""
        values = first[1:] @ head.value
        if not np.isin(values, (0.0, 1.0)).all():
            raise WeftError(f"the head '{head.name}' averages values other than 0 and 1")
        sums = values.sum(axis=0) if self._far(head) else np.zeros(values.shape[1])
        return sums, values[::-1][: head.range]

    def _attend(
        self,
        head: LimitHead,
        begin: Matrix,
        sums: Matrix,
        recent: Matrix,
        second: Matrix,
        length: int,
        total: int,
    ) -> Matrix:
        """What a head adds to the second half."""
        bits = self.limit.precision
        own = second @ head.value
        keys, far_key = second @ head.key, self._constant_row() @ head.key
        result = np.zeros((len(second), own.shape[1]))
        for place, query in enumerate(second @ head.query):
            # begin, the rest of the first half as one group, its last positions, the second half
            near = [length + 1 + place - offset for offset in range(1, head.range + 1)]
            last = [at for at in near if 1 <= at <= length]
            scores = [query @ (begin[0] @ head.key), query @ far_key]
            scores += [query @ far_key for _ in last]
            scores += [query @ key for key in keys[: place + 1]]
            offsets = [length + 1 + place, -1, *(length + 1 + place - at for at in last)]
            offsets += list(range(place, -1, -1))
            shifted = [s + head.phi.get(d, 0.0) for s, d in zip(scores, offsets, strict=True)]
            rounded = np.round(np.array(shifted) * 2.0**bits) / 2.0**bits
            below = rounded - rounded.max()
            powers = np.round(np.exp(math.log(total) * below) * 2.0**bits) / 2.0**bits
            late = [recent[length - at] for at in last]
            rest = sums - np.sum(late, axis=0) if late else sums
            amounts = np.ones(len(powers))
            amounts[1] = length - len(last)
            vectors = np.stack([begin[0] @ head.value, rest, *late, *own[: place + 1]])
            weights = powers / (powers * amounts).sum()
            result[place] = weights @ vectors
        added: Matrix = result @ head.output
        return added

    def _constant_row(self) -> Matrix:
        row = np.zeros(len(self.limit.dimensions))
        row[self.limit.dimensions.index("constant")] = 1.0
        return row


def _heads_alone(layer: LimitLayer) -> LimitLayer:
    """A layer whose feed-forward adds nothing."""
    width = len(layer.bias)
    return LimitLayer(layer.heads, (), np.zeros((width, width)), np.zeros(width))


def _same(exact: bool, compared: int, mine: Matrix, theirs: Matrix) -> tuple[bool, int]:
    """Whether activations agree as well as earlier ones, and how many have been compared."""
    return exact and bool(np.abs(mine - theirs).max(initial=0.0) < TOLERANCE), compared + mine.size
