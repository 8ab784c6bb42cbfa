"""How numbers, questions and answers are written in tokens, and read back.

    57+8=65        plain
    75+8=56        reverse_operands, reverse_result: least significant digit first
    057+008=0065   width 3: operands padded with zeros to 3 digits, sums to 4

Results of subtraction may be negative. The sign is written in front of the digits, so last if the
result is reversed; padded results always have one, `+` or `-`, so that all have the same length:

    3-25=-22       plain
    3-25=22-       reverse_result
    25-03=+22      width 2

With a scratchpad, the carries are written out before the result: for each place of the result, in
the order in which the result is written, the carry (or borrow) into that place. Multiplication may
carry numbers of several digits; each is then written with as many digits as the largest carry has,
most significant first. A modular task writes the carries, the result before it is reduced, and the
residue:

    57+68=110:125          carries
    57+68=011:521          carries, reverse_result
    57+68=110:125:25       modulo 100
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.tasks.arithmetic.digits import digit_lengths, digits_of
from weft.tasks.arithmetic.domains import digit_count
from weft.tasks.arithmetic.operations import Operation, Worked
from weft.tasks.arrays import Bools, Ints, turned, within
from weft.tasks.formats import END, MARK, START

ZERO = 4
"""The token of the digit 0; the other digits, the signs and the colon follow."""
NAMES = string.digits + string.ascii_lowercase
COLON = ":"

Text = tuple[Ints, Ints]
"""Tokens (b l), 0 beyond their lengths, and the lengths (b)."""
Part = tuple[Ints, Bools, Ints]
"""Tokens (b l), which of them are written (b l), and how many (b)."""


def digit_names(base: int) -> tuple[str, ...]:
    """The names of the digits: 0 to 9, then a to z; above base 36, numbers."""
    return tuple(NAMES[:base]) if base <= len(NAMES) else tuple(map(str, range(base)))


@dataclass(frozen=True)
class Numbers:
    """Results read from tokens.

    Attributes:
        digits: b l, of the absolute value, least significant first.
        negative: b.
        well_formed: b, whether it is a number, written as the notation says and ended by <end>;
            leading zeros are allowed. The digits of others are 0.
    """

    digits: Ints
    negative: Bools
    well_formed: Bools


@dataclass(frozen=True, kw_only=True)
class Notation:
    """How a task writes.

    Attributes:
        operation: the operation.
        base: the base.
        modulus: the modulus; 0 for none.
        width: the number of digits to which operands are padded; 0 for no padding.
        longest: the maximum number of digits of an operand, which decides how carries are written.
        result_width: the number of digits to which results are padded; 0 for no padding.
        reverse_operands: whether operands start with the least significant digit.
        reverse_result: whether results do.
        carries: whether the carries are written out.
    """

    operation: Operation
    base: int
    modulus: int
    width: int
    longest: int
    result_width: int
    reverse_operands: bool
    reverse_result: bool
    carries: bool

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The names of all tokens, beginning with the digits."""
        marks = list(self.operation.signs)
        marks += ["+"] if self.operation.signed and self.width else []
        marks += [COLON] if self.carries else []
        return (*digit_names(self.base), *dict.fromkeys(marks))

    def token(self, symbol: str) -> int:
        """The token of a sign or colon."""
        return ZERO + self.symbols.index(symbol)

    @cached_property
    def carry_width(self) -> int:
        """The number of digits with which every carry is written."""
        return self.operation.carry_width(self.width or self.longest, self.base)

    # Writing

    def question(self, operands: Sequence[Ints], lengths: Sequence[Ints]) -> Text:
        """The question for operands given by their digits (b l each) and lengths (b each)."""
        parts: list[Part] = []
        for place, (digits, length) in enumerate(zip(operands, lengths, strict=True)):
            if place:
                parts.append(self._constant(self.operation.signs[place - 1], len(digits)))
            parts.append(self._number(digits, length, self.width, self.reverse_operands))
        return _joined(parts)

    def answer(self, worked: Worked, residue: Ints | None = None) -> Text:
        """The answer: the result, or the residue of a modular task, and the carries if asked."""
        size = len(worked.digits)
        parts: list[Part] = []
        if self.carries:
            padded = self.operation.result_width(self.width, self.base) if self.width else 0
            lengths = digit_lengths(worked.digits)
            written = np.full(size, padded) if padded else lengths
            parts += [self._carries(worked, written), self._constant(COLON, size)]
            if residue is not None:
                raw = self._number(worked.digits, lengths, padded, self.reverse_result)
                parts += [raw, self._constant(COLON, size)]
        digits = worked.digits
        if residue is not None:
            digits = digits_of(residue, self.base, digit_count(self.modulus - 1, self.base))
        result = self._number(digits, digit_lengths(digits), self.result_width, self.reverse_result)
        if not self.operation.signed:
            return _joined([*parts, result])
        sign = self._sign(worked.negative)
        return _joined([*parts, *((result, sign) if self.reverse_result else (sign, result))])

    def _number(self, digits: Ints, lengths: Ints, width: int, reverse: bool) -> Part:
        if width:
            tokens = np.full((len(digits), width), ZERO, dtype=np.int64)
            known = min(digits.shape[1], width)
            tokens[:, :known] += digits[:, :known]
            kept, lengths = np.ones(tokens.shape, dtype=np.bool_), np.full(len(digits), width)
        else:
            tokens, kept = digits + ZERO, within(lengths, digits.shape[1])
        return (tokens, kept, lengths) if reverse else (tokens[:, ::-1], kept[:, ::-1], lengths)

    def _constant(self, symbol: str, size: int) -> Part:
        """The same sign or colon in each row."""
        one = np.ones(size, dtype=np.int64)
        return one[:, None] * self.token(symbol), one[:, None] > 0, one

    def _sign(self, negative: Bools) -> Part:
        minus = self.token("-")
        other = self.token("+") if self.result_width else 0
        signs = np.where(negative, minus, other)
        return signs[:, None], signs[:, None] > 0, (signs > 0).astype(np.int64)

    def _carries(self, worked: Worked, lengths: Ints) -> Part:
        """The carry into each place of results of these lengths."""
        # Not that of the longest result among these: widths depend on the split only.
        width = max(int(lengths.max(initial=1)), worked.digits.shape[1])
        carries = np.zeros((len(lengths), width), dtype=np.int64)
        known = min(width, worked.digits.shape[1])
        carries[:, :known] = worked.carries_in[:, :known]
        kept = within(lengths, width)
        if not self.reverse_result:
            carries, kept = carries[:, ::-1], kept[:, ::-1]
        each = self.carry_width
        digits = digits_of(carries.ravel(), self.base, each)[:, ::-1]
        tokens = digits.reshape(len(lengths), width * each) + ZERO
        return tokens, np.repeat(kept, each, axis=1), lengths * each

    # Reading

    def is_digit(self, tokens: Ints) -> Bools:
        """Which tokens are digits."""
        return np.asarray((tokens >= ZERO) & (tokens < ZERO + self.base))

    def operands(self, questions: Ints) -> list[Ints]:
        """The digits of each operand (b l), from questions (b l)."""
        digit = self.is_digit(questions)
        number = np.cumsum((questions >= ZERO + self.base), axis=1)
        return [
            _gathered(questions - ZERO, digit & (number == place), self.reverse_operands)
            for place in range(self.operation.operands)
        ]

    def results(self, answers: Ints) -> Numbers:
        """The results in answers (b l) that end with <end>; tokens behind it are ignored."""
        ends = answers == END
        before = np.cumsum(ends, axis=1) == 0
        ended = ends.any(axis=1)
        final = before
        if self.carries:
            colon = before & (answers == self.token(COLON))
            colons = 1 + (self.modulus > 0)
            final = before & ~colon & (np.cumsum(colon, axis=1) == colons)
            ended = ended & (colon.sum(axis=1) == colons)
        digit = self.is_digit(answers) & final
        other = final & ~digit
        count = digit.sum(axis=1)
        well_formed = ended & (count > 0)
        negative = np.zeros(len(answers), dtype=np.bool_)
        if self.operation.signed:
            places = np.arange(answers.shape[1])
            first = np.argmax(final, axis=1)
            last = first + final.sum(axis=1) - 1
            at = last if self.reverse_result else first
            rows = np.arange(len(answers))
            signs = [self.token(sign) for sign in ("-", "+") if sign in self.symbols]
            signed = other[rows, at] & np.isin(answers[rows, at], signs)
            negative = signed & (answers[rows, at] == self.token("-"))
            other = other & ~((places == at[:, None]) & signed[:, None])
            well_formed &= signed if self.result_width else ~signed | negative
        well_formed &= ~other.any(axis=1)
        digits = _gathered(answers - ZERO, digit & well_formed[:, None], self.reverse_result)
        return Numbers(digits, negative & well_formed, well_formed)

    def digit_places(self, tokens: Ints) -> Ints:
        """The place of every digit in its number (b l): 1 for units; 0 for other tokens.

        The digits of a carry have the place into which it carries.
        """
        digit = self.is_digit(tokens)
        answer = np.cumsum((tokens == MARK) | (tokens == START), axis=1) > 0
        forward, backward = _along_runs(digit), _along_runs(digit[:, ::-1])[:, ::-1]
        reverse = np.where(answer, self.reverse_result, self.reverse_operands)
        places = np.where(reverse, forward, backward)
        if self.carries:
            colons = np.cumsum(tokens == self.token(COLON), axis=1)
            places = np.where(answer & (colons == 0), -(-places // self.carry_width), places)
        return np.where(digit, places, 0)

    # In plain Python, for references

    def written(self, question: tuple[str, ...]) -> tuple[str, ...]:
        """The answer to one question, computed with Python's integers."""
        values = self.read(question)
        result = self.operation.exact(*values)
        if not self.carries:
            return self._text(result % self.modulus if self.modulus else result)
        padded = self.operation.result_width(self.width, self.base) if self.width else 0
        raw = self._plain(abs(result), padded)
        carries = [self._carry(values, place) for place in range(len(raw))]
        names = digit_names(self.base)
        groups = [[names[d] for d in _plain_digits(one, self.base, self.carry_width)[::-1]]
                  for one in carries]  # fmt: skip
        groups = groups if self.reverse_result else groups[::-1]
        parts = [*(name for group in groups for name in group), COLON]
        if self.modulus:
            return (*parts, *raw, COLON, *self._text(result % self.modulus))
        return (*parts, *self._text(result))

    def read(self, question: tuple[str, ...]) -> list[int]:
        """The operands of one question."""
        names = {name: value for value, name in enumerate(digit_names(self.base))}
        values, digits = [], list[int]()
        for token in (*question, self.operation.signs[0]):
            if token in names:
                digits.append(names[token])
                continue
            ordered = digits[::-1] if self.reverse_operands else digits
            values.append(sum(d * self.base**k for k, d in enumerate(ordered[::-1])))
            digits = []
        return values

    def _carry(self, values: Sequence[int], place: int) -> int:
        """The carry into a place: what the operation on lower digits yields above them.

        Lower digits alone do not give the carry of a product, so its columns are added up.
        """
        power = self.base**place
        if self.operation.signed:
            large, small = max(values), min(values)
            return int(large % power < small % power)
        if self.operation.signs[0] != "*":
            return int(sum(value % power for value in values) // power)
        a, b = (_plain_digits(value, self.base) for value in values[:2])
        low = sum(x * y * self.base ** (i + j) for i, x in enumerate(a) for j, y in enumerate(b)
                  if i + j < place)  # fmt: skip
        return int((low + sum(value % power for value in values[2:])) // power)

    def _text(self, result: int) -> tuple[str, ...]:
        digits = self._plain(abs(result), self.result_width)
        if not self.operation.signed or (result >= 0 and not self.result_width):
            return digits
        sign = "-" if result < 0 else "+"
        return (*digits, sign) if self.reverse_result else (sign, *digits)

    def _plain(self, number: int, width: int) -> tuple[str, ...]:
        names = digit_names(self.base)
        digits = [names[digit] for digit in _plain_digits(number, self.base, width)]
        return tuple(digits if self.reverse_result else digits[::-1])


def _joined(parts: Sequence[Part]) -> Text:
    """The tokens that are written, part by part."""
    tokens = np.concatenate([tokens for tokens, _, _ in parts], axis=1)
    kept = np.concatenate([kept for _, kept, _ in parts], axis=1)
    lengths = np.sum([lengths for _, _, lengths in parts], axis=0)
    rows = np.zeros(tokens.shape, dtype=np.int64)
    rows[within(lengths, tokens.shape[1])] = tokens[kept]
    return rows, lengths


def _plain_digits(number: int, base: int, width: int = 1) -> list[int]:
    """The digits of a number, least significant first, at least `width` of them."""
    return [number // base**place % base for place in range(max(width, digit_count(number, base)))]


def _along_runs(marked: Bools) -> Ints:
    """1, 2, 3... along every run of marked places (b l), and 0 elsewhere."""
    count = np.cumsum(marked, axis=1)
    before = np.maximum.accumulate(np.where(marked, 0, count), axis=1)
    return np.where(marked, count - before, 0)


def _gathered(values: Ints, chosen: Bools, reverse: bool) -> Ints:
    """The chosen values of each row, least significant first; rows are padded with 0."""
    lengths = chosen.sum(axis=1)
    gathered = np.zeros((len(values), max(1, int(lengths.max(initial=0)))), dtype=np.int64)
    gathered[within(lengths, gathered.shape[1])] = values[chosen]
    return gathered if reverse else turned(gathered, lengths)
