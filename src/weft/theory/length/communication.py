"""Communication tables: how much the second half of a word needs to know of the first.

Alice holds x, Bob holds y, both of length N, and Bob is to find f(xy). The cost of a message from
Alice to Bob is ceil(log2 D(N)) bits, D(N) the number of different rows of M[x, y] = f(xy). Every
C-RASP[periodic, local] program needs O(log N) bits (Huang et al. 2025, theorem 12), so faster
growth refutes that there is one. The test is necessary only: it never refutes a regular language,
whose cost is constant.

The message is about x alone, and serves for y of any length. So a fooling family may tell its rows
apart by words y of different lengths. For a transduction this is needed: after a prompt x, Bob
reads off the whole answer symbol by symbol, each time with the answer so far as y.

Three labels:

    refuted     a fooling family, given as a rule for all N, has too many rows
    certified   there is a program, whose protocol has O(log N) bits
    consistent  neither is known; tables say what was measured, and a table alone is never a no
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations, product, takewhile
from typing import Literal

from weft.crasp.program import CraspProgram
from weft.errors import WeftError
from weft.theory.length.word_functions import Word, WordFunction, shown, word_function

Label = Literal["refuted", "consistent", "certified"]
Growth = Literal["constant", "logarithmic", "superlogarithmic", "too short to tell"]

BUDGET = 70_000
"""Entries of a table, at most; beyond, rows and columns are sampled."""
SAMPLED = 160
"""Rows, and columns, of a sampled table."""
VERIFIED = 64
"""A fooling family is verified while it has at most this many rows."""


@dataclass(frozen=True)
class TableRow:
    """The table of one length.

    Attributes:
        length: N, of both halves.
        rows: different rows; a lower bound if the table was sampled.
        exhaustive: whether all words of length N were tried on both sides.
    """

    length: int
    rows: int
    exhaustive: bool

    @property
    def bits(self) -> int:
        """The one-way cost, ceil(log2 rows); a lower bound if the table was sampled."""
        return (self.rows - 1).bit_length()


@dataclass(frozen=True)
class FoolingFamily:
    """Rows that differ pairwise, as a rule for every N.

    Attributes:
        name: of the task.
        alphabet: its symbols, which are fixed.
        function: f, of words as text; None if the task does not say what f is.
        rows: for N, words of length N.
        column: for two of these words, a word y with f(xy) != f(x'y), both defined.
        count: for N, how many rows there are.
        growth: the same, as text.
        argument: why the rows differ, for all N.
    """

    name: str
    alphabet: tuple[str, ...]
    function: Callable[[str], Hashable | None]
    rows: Callable[[int], list[str]]
    column: Callable[[str, str], str]
    count: Callable[[int], int]
    growth: str
    argument: str

    def verify(self, limit: int = VERIFIED) -> int:
        """Check by brute force, for N = 1, 2, ..., that all rows differ.

        Args:
            limit: go on while there are at most this many rows.

        Returns:
            The largest N that was checked.

        Raises:
            WeftError: if two rows agree, or f is not defined, in the column of these rows.
        """
        length = 0
        while self.count(length + 1) <= limit:
            length += 1
            rows = self.rows(length)
            if len(set(rows)) != self.count(length) or any(len(row) != length for row in rows):
                raise WeftError(f"the family has not {self.count(length)} rows for N = {length}")
            for one, two in combinations(rows, 2):
                column = self.column(one, two)
                answers = {self.function(one + column), self.function(two + column)}
                if None in answers or len(answers) == 1:
                    raise WeftError(
                        f"the rows {shown(one)} and {shown(two)} are not told apart by "
                        f"{shown(column)}",
                        subject=self.name,
                    )
        return length


@dataclass(frozen=True)
class CommunicationEvidence:
    """What communication says about a function.

    Attributes:
        label: `refuted`, `consistent` or `certified`.
        alphabet: the symbols, which are fixed; over a growing alphabet costs are different.
        table: the lengths that were measured.
        growth: what the measured costs look like; this is a fit, not a proof.
        family: the family that refutes, or None.
        verified: the largest N to which the family was checked by brute force; 0 without one.
        reason: the label in a sentence.
    """

    label: Label
    alphabet: tuple[str, ...]
    table: tuple[TableRow, ...]
    growth: Growth
    family: FoolingFamily | None
    verified: int
    reason: str


def communication_table(
    function: Callable[..., object] | WordFunction,
    alphabet: Sequence[str],
    max_length: int = 16,
    *,
    budget: int = BUDGET,
    seed: int = 0,
    seconds: float = 30.0,
) -> tuple[TableRow, ...]:
    """Count the different rows of M[x, y] = f(xy), for N = 1, 2, ... .

    Args:
        function: f; takes a word as text if every symbol is one character, otherwise a tuple.
        alphabet: the symbols.
        max_length: the largest N.
        budget: all rows and columns are tried while the table has at most so many entries, then
            `SAMPLED` random ones of each.
        seed: of the samples.
        seconds: how long the function may take for one table.

    Example:
        >>> majority = lambda word: word.count("1") > word.count("0")
        >>> [row.rows for row in communication_table(majority, "01", max_length=5)]
        [2, 3, 4, 5, 6]
    """
    if max_length < 1:
        raise WeftError(f"the length cannot be {max_length}", remedy="Give at least 1")
    asked = word_function(function, alphabet, seconds=seconds)
    rng = random.Random(seed)
    table: list[TableRow] = []
    for length in range(1, max_length + 1):
        exhaustive = len(asked.alphabet) ** (2 * length) <= budget
        if exhaustive:
            lefts: list[Word] = list(product(asked.alphabet, repeat=length))
            rights = lefts
        else:
            lefts = _sample(rng, asked.alphabet, length)
            rights = _sample(rng, asked.alphabet, length)
        answers = asked.answers(left + right for left in lefts for right in rights)
        width = len(rights)
        rows = {tuple(answers[k * width : (k + 1) * width]) for k in range(len(lefts))}
        table.append(TableRow(length, len(rows), exhaustive))
    return tuple(table)


def _sample(rng: random.Random, alphabet: tuple[str, ...], length: int) -> list[Word]:
    words: dict[Word, None] = {}
    for _ in range(SAMPLED):
        weights = [rng.random() + 0.02 for _ in alphabet]
        words[tuple(rng.choices(alphabet, weights, k=length))] = None
    return list(words)


def fitted_growth(table: Sequence[TableRow]) -> Growth:
    """What the exhaustive part of a table looks like: a fit, which proves nothing.

    The number of rows is constant if its last three values are equal. Otherwise log D(N) is fitted
    by a N + b and by a log N + b; growth is superlogarithmic if the first fits better.
    """
    exact = [row for row in table if row.exhaustive]
    if len(exact) < 4:
        return "too short to tell"
    if len({row.rows for row in exact[-3:]}) == 1:
        return "constant"
    heights = [math.log2(row.rows) for row in exact]
    linear = _residual([float(row.length) for row in exact], heights)
    logarithmic = _residual([math.log2(row.length) for row in exact], heights)
    return "superlogarithmic" if linear < logarithmic else "logarithmic"


def _residual(xs: list[float], ys: list[float]) -> float:
    """The sum of squares that a straight line leaves."""
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    sxx = sum((x - mean_x) ** 2 for x in xs)
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True))
    syy = sum((y - mean_y) ** 2 for y in ys)
    return syy - sxy * sxy / sxx


def communication(
    function: Callable[..., object] | WordFunction,
    alphabet: Sequence[str],
    *,
    max_length: int = 8,
    family: FoolingFamily | None = None,
    program: CraspProgram | None = None,
    seconds: float = 30.0,
) -> CommunicationEvidence:
    """What communication says about a function of words, with a label.

    Args:
        function: f, as `communication_table` takes it.
        alphabet: the symbols.
        max_length: the largest N of the table.
        family: a fooling family of this function; it is verified, also against `function`.
        program: a program that is known to compute the function.
        seconds: how long the function may take for one table.

    Example:
        >>> task = FAMILIES["equality"]
        >>> evidence = communication(task.function, "ab", max_length=4, family=task)
        >>> evidence.label, [row.rows for row in evidence.table]
        ('refuted', [2, 4, 8, 16])
    """
    if family is not None and program is not None:
        raise WeftError("a function with a program has no fooling family", remedy="Give one")
    table = communication_table(function, alphabet, max_length, seconds=seconds)
    growth = fitted_growth(table)
    symbols = tuple(alphabet)
    fixed = f"alphabet of {len(symbols)} fixed symbols"
    if family is not None:
        if symbols != family.alphabet:
            raise WeftError(f"the family is over the alphabet {' '.join(family.alphabet)}")
        verified = family.verify()
        _check_function(function, family)
        reason = (
            f"{family.growth} different rows for every N ({family.argument}; checked by brute "
            f"force to N = {verified}), more than O(log N) bits; {fixed}"
        )
        return CommunicationEvidence("refuted", symbols, table, growth, family, verified, reason)
    if program is not None:
        reason = f"a C-RASP program computes it, with a message of O(log N) bits; {fixed}"
        return CommunicationEvidence("certified", symbols, table, growth, None, 0, reason)
    longest = max((row.length for row in table if row.exhaustive), default=0)
    reason = f"measured {growth} to N = {longest}; {fixed}"
    if growth == "superlogarithmic":
        reason += "; this is not a no without a rule for all N"
    return CommunicationEvidence("consistent", symbols, table, growth, None, 0, reason)


def _check_function(function: Callable[..., object] | WordFunction, family: FoolingFamily) -> None:
    """Check that a function is the one of a family, on the columns that tell its rows apart."""
    asked = word_function(function, family.alphabet)
    length = 1
    while family.count(length) <= VERIFIED // 4:
        for one, two in combinations(family.rows(length), 2):
            column = family.column(one, two)
            for word in (one + column, two + column):
                if asked.answers([tuple(word)])[0] != family.function(word):
                    raise WeftError(
                        f"the function is not that of the family {family.name}: they differ for "
                        f"{shown(word)}"
                    )
        length += 1


# Families


def _words(alphabet: str, length: int) -> list[str]:
    return ["".join(word) for word in product(alphabet, repeat=length)]


def common_prefix(one: str, two: str) -> str:
    """The longest common prefix of two words."""
    same = (a == b for a, b in zip(one, two, strict=False))
    return one[: sum(takewhile(bool, same))]


def next_of_copy(word: str) -> str | None:
    """The next symbol of the copy of u in `u#v`, v a prefix of u.

    Returns:
        None if the copy is complete, or if the word is not of this form.

    Example:
        >>> next_of_copy("abb#a"), next_of_copy("abb#b")
        ('b', None)
    """
    source, mark, copied = word.partition("#")
    if not mark or "#" in copied or not source.startswith(copied) or copied == source:
        return None
    return source[len(copied)]


def next_of_sum(word: str) -> str | None:
    """The next digit of the sum in `a+b=s`, s a prefix of it, the most significant digit first.

    Returns:
        None if the sum is complete, or if the word is not of this form.

    Example:
        >>> next_of_sum("11+1=1"), next_of_sum("11+1=")
        ('0', '1')
    """
    left, plus, rest = word.partition("+")
    right, equals, digits = rest.partition("=")
    if not plus or not equals or any(set(n) - {"0", "1"} or not n for n in (left, right)):
        return None
    total = f"{int(left, 2) + int(right, 2):b}"
    return total[len(digits)] if total.startswith(digits) and digits != total else None


def _is_nested(word: str) -> bool:
    """Whether a word over ()[] is balanced."""
    stack: list[str] = []
    for symbol in word:
        if symbol in "([":
            stack.append(")" if symbol == "(" else "]")
        elif not stack or stack.pop() != symbol:
            return False
    return not stack


_FAMILIES = (
    FoolingFamily(
        "equality",
        ("a", "b"),
        lambda word: len(word) % 2 == 0 and word[: len(word) // 2] == word[len(word) // 2 :],
        lambda n: _words("ab", n),
        lambda one, two: one,
        lambda n: 2**n,
        "2^N",
        "xy with |y| = N is accepted if and only if y = x",
    ),
    FoolingFamily(
        "palindromes",
        ("a", "b"),
        lambda word: word == word[::-1],
        lambda n: _words("ab", n),
        lambda one, two: one[::-1],
        lambda n: 2**n,
        "2^N",
        "xy with |y| = N is accepted if and only if y is the reverse of x",
    ),
    FoolingFamily(
        "marked-copies",
        ("a", "b", "#"),
        lambda word: word.count("#") == 1 and word.split("#")[0] == word.split("#")[1],
        lambda n: _words("ab", n),
        lambda one, two: "#" + one,
        lambda n: 2**n,
        "2^N",
        "x#y is accepted if and only if y = x",
    ),
    FoolingFamily(
        "dyck-2",
        ("(", ")", "[", "]"),
        _is_nested,
        lambda n: _words("([", n),
        lambda one, two: one[::-1].translate(str.maketrans("([", ")]")),
        lambda n: 2**n,
        "2^N",
        "N opening brackets are closed by exactly one word of length N",
    ),
    FoolingFamily(
        "repeat-copy",
        ("a", "b", "#"),
        next_of_copy,
        lambda n: _words("ab", n),
        lambda one, two: "#" + common_prefix(one, two),
        lambda n: 2**n,
        "2^N",
        "let v be the longest common prefix of x and x'; after x#v and x'#v, which are both "
        "prefixes of a right answer, the next symbols differ",
    ),
    FoolingFamily(
        "binary-addition",
        ("0", "1", "+", "="),
        next_of_sum,
        lambda n: ["1" + word for word in _words("01", n - 1)],
        lambda one, two: "+0=" + common_prefix(one, two),
        lambda n: 2 ** (n - 1),
        "2^(N - 1)",
        "x + 0 = x; let v be the longest common prefix of x and x'; after x+0=v and x'+0=v, which "
        "are both prefixes of a right answer, the next digits differ",
    ),
)
FAMILIES: dict[str, FoolingFamily] = {family.name: family for family in _FAMILIES}
"""Tasks that communication refutes, by name, each over a fixed alphabet."""
