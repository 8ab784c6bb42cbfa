"""Search for a C-RASP program of a language that is given by membership alone.

Expressions are enumerated by size, up to observational equivalence: two are the same if they agree
at every position of a set of sample words. A Boolean is stored once for it and its negation. After
each size, the target is sought as a conjunction or a disjunction of up to `MAX_PARTS` of the
Booleans so far, by set cover. A candidate is compared with the function on all words up to a length
and on random longer words; a word on which they differ joins the samples, and the enumeration
starts again.

A search without a result proves nothing: there may be a larger program.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from weft.crasp.batched import run_batch
from weft.crasp.expressions import (
    And,
    Comparison,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Not,
    Operator,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.program import CraspProgram, Line
from weft.errors import WeftError
from weft.theory.length.word_functions import Word, WordFunction, word_function
from weft.theory.length.word_samples import longest_length, random_words, word_batches

MAX_PARTS = 4
"""Booleans that a conjunction or disjunction at the top joins, at most."""
MAX_SIZE = 12
"""The largest expressions below the top."""
MAX_BOOLEANS = 60_000
"""The enumeration ends with this many different Booleans."""
MAX_CHECKED = 60_000
"""So many words are checked by brute force, at most."""
PERIODS = (2, 3, 4)
"""Periods of the position that are tried."""
CONSTANTS = (-1, 0, 1, 2)
"""Integers that counts and differences of counts are compared with."""
GRACE = 2.0
"""Seconds by which comparing a candidate may be late."""

Outcome = Literal["found", "all sizes tried", "out of time", "out of memory"]
Bits = NDArray[np.bool_]


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        program: a program that agrees with the function on all words that were tried; or None.
        outcome: `found`, or why the search ended without a program. This is never a no.
        checked_length: the program and the function agree on every word up to this length.
        random_words: so many random longer words were compared too.
        longest: the length of the longest of them.
        size: the size of the largest expressions that were enumerated.
        expressions: how many different Booleans were enumerated in the last round.
        rounds: how many candidates were tried.
        seconds: how long it took.
    """

    program: CraspProgram | None
    outcome: Outcome
    checked_length: int
    random_words: int
    longest: int
    size: int
    expressions: int
    rounds: int
    seconds: float

    @property
    def found(self) -> bool:
        """Whether there is a program."""
        return self.program is not None

    def __str__(self) -> str:
        if self.program is None:
            return (
                f"no program found among {self.expressions:,} expressions up to size {self.size} "
                f"({self.outcome}); this is not a no"
            )
        return (
            f"{self.program}\n// checked on every word up to length {self.checked_length} and on "
            f"{self.random_words} longer ones up to length {self.longest}"
        )


def search(
    alphabet: Sequence[str],
    accepts: Callable[..., bool] | WordFunction,
    max_length: int = 12,
    seconds: float = 60.0,
    positions: bool = False,
    *,
    seed: int = 0,
    name: str = "",
) -> SearchResult:
    """Search for a C-RASP program that accepts the words that a function accepts.

    Args:
        alphabet: the symbols.
        accepts: whether a word is in the language; the word is text if every symbol is one
            character, otherwise a tuple of symbols.
        max_length: the program is checked on every word up to this length, or up to the longest
            length with at most `MAX_CHECKED` words.
        seconds: the search ends after this time; a function for which one batch of words takes
            longer is an error.
        positions: whether `previous` and the position modulo 2, 3 and 4 may be used.
        seed: of the random words. The same arguments give the same program.
        name: what the program is called.

    Example:
        >>> result = search("01", lambda word: word.count("1") > word.count("0"), max_length=8)
        >>> print(result.program)
        alphabet 0 1
        accept := #[j <= i] Q_0(j) < #[j <= i] Q_1(j)
    """
    if max_length < 1:
        raise WeftError(f"the length cannot be {max_length}", remedy="Give at least 1")
    if seconds <= 0:
        raise WeftError(f"a search cannot take {seconds} s", remedy="Give more than 0 seconds")
    started = time.monotonic()
    deadline = started + seconds
    function = word_function(accepts, alphabet, boolean=True, seconds=max(1.0, seconds))
    rng = random.Random(seed)
    symbols = function.alphabet
    exhaustive = longest_length(len(symbols), max_length, MAX_CHECKED)
    base = list(product(symbols, repeat=longest_length(len(symbols), max_length, 300)))
    length = max(16, 2 * max_length)
    samples = [*base, *random_words(rng, symbols, 24, length)]
    held_out = random_words(rng, symbols, 200, 2 * length)
    result = SearchResult(None, "all sizes tried", exhaustive, len(held_out), 0, 0, 0, 0, 0.0)
    for rounds in range(1, 1000):
        enumeration = _Enumeration(symbols, samples, positions, deadline)
        target = enumeration.target(function)
        found, outcome = enumeration.find(target)
        result = replace(
            result,
            outcome=outcome,
            size=enumeration.size,
            expressions=len(enumeration.booleans),
            rounds=rounds,
            seconds=time.monotonic() - started,
            longest=max(map(len, held_out)),
        )
        if found is None:
            return result
        program = CraspProgram(symbols, (Line("accept", found),), name)
        try:
            wrong = _first_difference(program, function, exhaustive, held_out, deadline)
        except _OutOfBudget as error:  # a slow function: the candidate is not fully compared
            return replace(result, outcome=error.outcome)
        if wrong is None:
            took = time.monotonic() - started
            return replace(result, program=program, outcome="found", seconds=took)
        samples.append(wrong)
        if time.monotonic() > deadline:
            return replace(result, outcome="out of time")
    return result


def _first_difference(
    program: CraspProgram,
    function: WordFunction,
    exhaustive: int,
    held_out: list[Word],
    deadline: float,
) -> Word | None:
    """The shortest word on which the program is wrong, or one of the longer ones; None if none."""
    every = (product(function.alphabet, repeat=length) for length in range(exhaustive + 1))
    for words in [*every, held_out]:
        for batch in word_batches(words):
            expected = function.answers(batch)
            accepted = run_batch(program, batch).accepted
            for word, right, mine in zip(batch, expected, accepted.tolist(), strict=True):
                if right is not mine:
                    return word
            if time.monotonic() > deadline + GRACE:
                raise _OutOfBudget("out of time")
    return None


class _OutOfBudget(Exception):
    """The enumeration has to end."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome: Outcome = outcome


class _Enumeration:
    """Booleans and counts by size, each as its values at all positions of the samples."""

    def __init__(
        self, alphabet: tuple[str, ...], samples: list[Word], positions: bool, deadline: float
    ) -> None:
        self.alphabet, self.positions, self.deadline = alphabet, positions, deadline
        self.width = 1 + max(map(len, samples))
        codes = np.full((len(samples), self.width), -1, np.int16)
        index = {symbol: number for number, symbol in enumerate(alphabet)}
        for row, word in enumerate(samples):
            codes[row, 1 : 1 + len(word)] = [index[symbol] for symbol in word]
        self.codes = codes
        lengths = np.array([len(word) for word in samples])
        self.mask = np.arange(self.width) <= lengths[:, None]
        self.samples = samples
        # Each prefix once: the same prefix of two words has the same values.
        seen: dict[Word, None] = {}
        keep: list[int] = []
        for row, word in enumerate(samples):
            for end in range(len(word) + 1):
                if word[:end] not in seen:
                    seen[word[:end]] = None
                    keep.append(row * self.width + end)
        self.prefixes = list(seen)
        self.keep = np.array(keep)
        mixer = np.random.default_rng(7)
        self.weights = mixer.integers(-(2**62), 2**62, len(keep), np.int64)
        self.booleans: list[Expression] = []
        self.vectors: list[Bits] = []  # at all positions, [words, positions]
        self.kept: list[Bits] = []  # at the prefixes
        self.counts: list[tuple[Expression, NDArray[np.int16]]] = []
        self.by_size: dict[int, list[int]] = {}
        self.counts_by_size: dict[int, list[int]] = {}
        self._seen: set[int] = set()
        self._seen_counts: set[int] = set()
        self.size = 0

    def target(self, function: WordFunction) -> Bits:
        """The answers for all prefixes of the samples."""
        return np.array(function.answers(self.prefixes), dtype=np.bool_)

    def find(self, target: Bits) -> tuple[Expression | None, Outcome]:
        """The first expression with the values of the target, or why there is none."""
        if target.all() or not target.any():
            return Constant(bool(target.all())), "found"
        try:
            for size in range(1, MAX_SIZE + 1):
                self.size = size
                self._extend(size)
                found = _join(self.booleans, self.kept, target, self.deadline)
                if found is not None:
                    return found, "found"
        except _OutOfBudget as error:
            return _join(self.booleans, self.kept, target, self.deadline), error.outcome
        return None, "all sizes tried"

    def _extend(self, size: int) -> None:
        """All expressions of a size."""
        self.by_size[size], self.counts_by_size[size] = [], []
        if size == 1:
            self._atoms()
        for negated in (False, True):
            for number in self.by_size.get(size - 1, []):
                self._unary(*self._polarities(number)[negated], size)
        for left in range(1, size - 1):
            right = size - 1 - left
            if left <= right:
                self._joined(left, right, size)
            self._compared(left, right, size)
        for number in self.counts_by_size.get(size - 2, []):
            self._thresholds(number, size)

    def _atoms(self) -> None:
        for number, symbol in enumerate(self.alphabet):
            self._add(Symbol(symbol), self.codes == number, 1)
        if self.positions:
            at = np.arange(self.width)
            for period in PERIODS:
                for residue in range(period):
                    values = np.broadcast_to(at % period == residue, self.codes.shape)
                    self._add(Position(Periodic(period, (residue,))), values, 1)

    def _unary(self, expression: Expression, values: Bits, size: int) -> None:
        inner = values & self.mask
        inner[:, 0] = False
        count = np.cumsum(inner, axis=1, dtype=np.int16)
        self._add(Exists(expression), count >= 1, size)
        self._add_count(Counting(expression), count, size)
        if self.positions:
            shifted = np.zeros_like(inner)
            shifted[:, 2:] = inner[:, 1:-1]
            self._add(Previous(expression), shifted, size)

    def _polarities(self, number: int) -> tuple[tuple[Expression, Bits], tuple[Expression, Bits]]:
        expression, values = self.booleans[number], self.vectors[number]
        return (expression, values), (_negated(expression), ~values)

    def _joined(self, left: int, right: int, size: int) -> None:
        for first in self.by_size[left]:
            for second in self.by_size[right]:
                if left == right and second <= first:
                    continue
                for one, a in self._polarities(first):
                    for two, b in self._polarities(second):
                        self._add(And((one, two)), a & b, size)

    def _compared(self, left: int, right: int, size: int) -> None:
        for first in self.counts_by_size[left]:
            for second in self.counts_by_size[right]:
                if second == first:
                    continue
                one, a = self.counts[first]
                two, b = self.counts[second]
                self._add(Comparison("<", one, two), a < b, size)
                if first < second:
                    self._add(Comparison("==", one, two), a == b, size)
                    difference = a - b
                    for constant in CONSTANTS:
                        if constant:
                            expression = Subtract(one, two)
                            for operator, values in _comparisons(difference, constant):
                                compared = Comparison(operator, expression, Integer(constant))
                                self._add(compared, values, size + 1)

    def _thresholds(self, number: int, size: int) -> None:
        expression, values = self.counts[number]
        for constant in CONSTANTS:
            if constant > 0:
                for operator, bits in _comparisons(values, constant):
                    self._add(Comparison(operator, expression, Integer(constant)), bits, size)

    def _add(self, expression: Expression, values: Bits, size: int) -> None:
        kept = values.reshape(-1)[self.keep]
        if kept[0]:
            key = int(self.weights[~kept].sum())
        else:
            key = int(self.weights[kept].sum())
        if key in self._seen:
            return
        self._seen.add(key)
        self.by_size.setdefault(size, []).append(len(self.booleans))
        self.booleans.append(expression)
        self.vectors.append(np.ascontiguousarray(values))
        self.kept.append(kept)
        if len(self.booleans) >= MAX_BOOLEANS:
            raise _OutOfBudget("out of memory")
        if len(self.booleans) % 64 == 0 and time.monotonic() > self.deadline:
            raise _OutOfBudget("out of time")

    def _add_count(self, expression: Expression, values: NDArray[np.int16], size: int) -> None:
        kept = values.reshape(-1)[self.keep]
        key = int((self.weights * kept).sum())
        if key not in self._seen_counts:
            self._seen_counts.add(key)
            self.counts_by_size.setdefault(size, []).append(len(self.counts))
            self.counts.append((expression, values))


def _comparisons(values: NDArray[np.int16], constant: int) -> tuple[tuple[Operator, Bits], ...]:
    return ((">=", values >= constant), ("==", values == constant))


def _negated(expression: Expression) -> Expression:
    """The negation, as short as it can be."""
    match expression:
        case Not(operand):
            return operand
        case Comparison("<", left, right):
            return Comparison(">=", left, right)
        case Comparison(">=", left, right):
            return Comparison("<", left, right)
        case Comparison("==", left, right):
            return Comparison("!=", left, right)
        case Exists(body, None):
            return Comparison("==", Counting(body), Integer(0))
    return Not(expression)


def _join(
    booleans: list[Expression], kept: list[Bits], target: Bits, deadline: float
) -> Expression | None:
    """The target as one Boolean, or as a conjunction or disjunction of a few."""
    if not booleans:
        return None
    table = np.array(kept)
    for conjunction in (True, False):
        goal = target if conjunction else ~target
        wanted = np.flatnonzero(goal)
        unwanted = np.flatnonzero(~goal)
        inside = table[:, wanted]
        # A part of the conjunction holds wherever the goal does.
        plain, negated = inside.all(axis=1), ~inside.any(axis=1)
        parts = [*(booleans[n] for n in np.flatnonzero(plain))]
        parts += [_negated(booleans[n]) for n in np.flatnonzero(negated)]
        if not parts:
            continue
        excluded = np.concatenate([~table[plain][:, unwanted], table[negated][:, unwanted]])
        chosen = _cover(excluded, deadline)
        if chosen is not None:
            terms = tuple(parts[n] for n in chosen)
            if not conjunction:
                terms = tuple(_negated(term) for term in terms)
            if len(terms) == 1:
                return terms[0]
            return And(terms) if conjunction else Or(terms)
    return None


def _cover(sets: Bits, deadline: float) -> tuple[int, ...] | None:
    """The first few sets, at most `MAX_PARTS`, that cover everything; None if there are none."""
    if not sets.any(axis=0).all():
        return None
    order = np.argsort(-sets.sum(axis=1), kind="stable")[:400]
    sizes = sets[order]
    for count in (1, 2):
        for chosen in combinations(range(len(order)), count):
            if sizes[list(chosen)].any(axis=0).all():
                return tuple(sorted(int(order[c]) for c in chosen))
            if count == 2 and time.monotonic() > deadline:
                return None
    left = np.ones(sets.shape[1], np.bool_)
    greedy: list[int] = []
    while left.any() and len(greedy) < MAX_PARTS:
        best = int((sets[:, left]).sum(axis=1).argmax())
        greedy.append(best)
        left &= ~sets[best]
    return None if left.any() else tuple(sorted(greedy))
