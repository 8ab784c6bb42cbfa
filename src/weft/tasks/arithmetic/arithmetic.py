"""The base class of arithmetic tasks: domains of operands, splits by digit count, and notation.

Xu et al. (2025) train on operands of n digits and test on 1 to 9: fewer digits than in training is
downward, more is upward generalisation. `digits` is the axis of that: the number of digits of the
longest operand.

A question is identified by its operands, not by its tokens: padded with zeros or not, most or least
significant digit first, the same operands are held out, so runs that differ in notation share their
test questions. Swapped operands are another question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Literal

import numpy as np

from weft.tasks.arithmetic.digits import chain, digit_lengths, digits_of_integers, residues
from weft.tasks.arithmetic.digits import truncated as cut_off
from weft.tasks.arithmetic.domains import (
    Counts,
    Domain,
    Kind,
    Mixture,
    Sampler,
    cells_by_length,
    digit_count,
    domain,
)
from weft.tasks.arithmetic.notation import ZERO, Notation, Numbers
from weft.tasks.arithmetic.operations import Operation
from weft.tasks.arithmetic.sampling import CellLengths, Lengths, NestedLengths, OperandSampler
from weft.tasks.arithmetic.splits import (
    LEFT_OUT,
    Restriction,
    allowed_digits,
    allows,
    split_lengths,
    tested_description,
    trained_description,
)
from weft.tasks.arrays import Bools, Ints, taken
from weft.tasks.batch import Batch
from weft.tasks.formats import Format, Pairs
from weft.tasks.task import TRAIN, Split, Task, check_ascending

RARE = 20_000
"""Of an untrained length, all pairs are for tests if there are fewer than this."""
LARGEST_BASE = 1000
LARGEST_MODULUS = 2**31
POOL = 3  # the random stream of the pool, beside those of training, tests and validation


@dataclass(frozen=True, kw_only=True)
class Arithmetic(Task):
    """An operation on numbers written digit by digit.

    The axes are `digits` and `shortest` (of the longest and of the shortest operand), `carries`
    (the number of places that carry) and `chain` (the longest run of consecutive carries).

    Attributes:
        digits: the maximum number of digits in distribution.
        longer: the maximum number of digits of all.
        base: the base.
        domain: the operands in training: `D4`, `D~4`, `L4`, mixtures such as `D4:1+D5:3`, or `D`,
            `D~` or `L` of `digits` digits. The default is `L`, numbers of up to `digits` digits.
        sampler: how D_n is drawn: by a `coin`, as published, or `uniform` over the set.
        test_domain: the operands in tests: `D`, `D~` or `L`; `auto` is the kind of `domain`.
        width: pad operands with zeros to this many digits; 0 for no padding.
        result_width: with `width`, pad results to this many digits; 0 for as many as the largest
            result has.
        reverse_operands: write operands with the least significant digit first.
        reverse_result: write the result with the least significant digit first.
        scratchpad: `carries` writes the carries out before the result.
        restrict: leave a gap in the training set: `high-digits` (at least 6 of 9), `even-digits` or
            `no-carries` only.
        pool: train on this many fixed examples; 0 for new ones in every batch.
        operation: the operation (class attribute).
    """

    formats: ClassVar[tuple[Format, ...]] = ("lm", "seq2seq")
    operation: ClassVar[Operation]
    digits: int = 5
    longer: int = 10
    base: int = 10
    domain: str = ""
    sampler: Sampler = "coin"
    test_domain: Literal["auto", "D", "D~", "L"] = "auto"
    width: int = 0
    result_width: int = 0
    reverse_operands: bool = False
    reverse_result: bool = False
    scratchpad: Literal["none", "carries"] = "none"
    restrict: Restriction = "none"
    pool: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(self, ("base", 2))
        self._follow_domain()
        check_ascending(self, ("digits", 1), ("longer", "digits"), ("pool", 0))
        for name in ("width", "result_width"):
            check_ascending(self, (name, 0))
        if self.base > LARGEST_BASE:
            raise self.error(f"base is {self.base}", f"Give at most {LARGEST_BASE}")
        self._check_widths()
        if self.restrict != "none" and self.base < 3:
            raise self.error(f"no digits of base {self.base} are {self.restrict}", "Give base=10")

    def _follow_domain(self) -> None:
        """Set `digits` to the maximum number of digits of a domain that has numbers."""
        if not self.domain or self.domain in ("D", "D~", "L"):
            return
        named = domain(self.domain).digits
        default = next(entry.default for entry in fields(self) if entry.name == "digits")
        if self.digits not in (default, named):
            what = f"digits is {self.digits}, but the domain {self.domain} has {named}"
            raise self.error(what, "Leave digits out")
        object.__setattr__(self, "digits", named)

    def _check_widths(self) -> None:
        if self.width and self.width < self.longer:
            what = f"width is {self.width}, too small for {self.longer} digits"
            raise self.error(what, f"Give at least {self.longer}, or a smaller longer")
        if self.result_width and not self.width:
            raise self.error("result_width is given without width", "Give width, too")
        if self.result_width and self.result_width < self._least_result_width:
            what = f"result_width is {self.result_width}, too small for the largest result"
            raise self.error(what, f"Give at least {self._least_result_width}")

    # Properties that follow from the parameters

    @property
    def modulus_or_none(self) -> int:
        """The modulus; 0 if results are not reduced."""
        return 0

    @property
    def _least_result_width(self) -> int:
        return self.operation.result_width(self.width, self.base)

    @cached_property
    def mixture(self) -> Mixture:
        """The training domain."""
        return domain(self.domain or "L", self.digits)

    @cached_property
    def notation(self) -> Notation:
        """How questions and answers are written."""
        return Notation(
            operation=self.operation,
            base=self.base,
            modulus=self.modulus_or_none,
            width=self.width,
            longest=self.longer,
            result_width=(self.result_width or self._least_result_width) if self.width else 0,
            reverse_operands=self.reverse_operands,
            reverse_result=self.reverse_result,
            carries=self.scratchpad == "carries",
        )

    @property
    def _identified_reversed(self) -> bool:
        """Whether the notation that identifies questions reverses operands."""
        return False

    @cached_property
    def _identifying(self) -> Notation | None:
        """The notation that identifies questions; None if it is that of the task."""
        reverse = self._identified_reversed
        plain = replace(self.notation, width=0, result_width=0, reverse_operands=reverse)
        return plain if self.width or self.reverse_operands != reverse else None

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.notation.symbols

    @property
    def digit_tokens(self) -> tuple[int, ...]:
        return tuple(range(ZERO, ZERO + self.base))

    @property
    def test_kind(self) -> Kind:
        """The kind of domain that tests of a length are drawn from."""
        return self.mixture.domains[0].kind if self.test_domain == "auto" else self.test_domain

    # Splits

    @cached_property
    def _lengths(self) -> dict[str, tuple[int, ...]]:
        """The numbers of digits of the longest operand in each split."""
        return split_lengths(self.mixture, self.longer, self.restrict)

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        result = {}
        for name, lengths in self._lengths.items():
            axes = {"digits": (lengths[0], lengths[-1])}
            trained = name in (TRAIN, LEFT_OUT)
            kinds = {part.kind for part in self.mixture.domains} if trained else {self.test_kind}
            if kinds == {"D~"} and len(lengths) == 1:
                axes["shortest"] = axes["digits"]
            if trained and self.restrict != "none":
                axes["allowed"] = (1, 1) if name == TRAIN else (0, 0)
            result[name] = Split(description=self._described(name, lengths), axes=axes)
        return result

    def _described(self, split: str, lengths: tuple[int, ...]) -> str:
        if split not in (TRAIN, LEFT_OUT):
            return tested_description(self.test_kind, lengths)
        return trained_description(
            self.mixture,
            named=bool(self.domain),
            restrict=self.restrict,
            left_out=split == LEFT_OUT,
        )

    @property
    def tested(self) -> tuple[str, ...]:
        """All splits but those of one length, `digits-1` and so on."""
        return tuple(split for split in self.splits if not split.startswith("digits-"))

    @property
    def testable(self) -> tuple[str, ...]:
        return tuple(self.splits)

    def cells(self, split: str) -> Mapping[Counts, Fraction]:
        """The exact probability of each tuple of digit counts, as a split is drawn.

        Given the digit counts, operands are uniform: over all numbers, or with `restrict`, in
        training, over those that it allows.
        """
        self.check_split(split)
        if split not in self._lengths or split == LEFT_OUT:
            raise self.error(f"the split '{split}' has no such formula", "Give another split")
        number = self.operation.operands
        if split == TRAIN:
            return self.mixture.cells(self.base, self.sampler, number)
        return cells_by_length(
            self.test_kind, self._lengths[split], self.base, self.sampler, number
        )

    # Drawing

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        operands = self._sampler(split).draw(rng, size)
        if operands is None:
            what = f"the split '{split}' is too rare to be drawn"
            raise self.error(what, f"Give fewer digits, or leave restrict={self.restrict} out")
        return self.pairs(operands)

    @cached_property
    def _samplers(self) -> dict[str, OperandSampler]:
        return {}

    def _sampler(self, split: str) -> OperandSampler:
        if split not in self._samplers:
            trained = split == TRAIN
            among = self.allowed_digits if trained else ()
            rejects = split == LEFT_OUT or (trained and self.restrict == "no-carries")
            self._samplers[split] = OperandSampler(
                lengths=self._drawn_lengths(split),
                width=self._lengths[split][-1],
                base=self.base,
                among=among,
                accepted=partial(self._is_drawn, trained) if rejects else None,
                keep_lengths=trained,
            )
        return self._samplers[split]

    def _drawn_lengths(self, split: str) -> Lengths:
        """How the digit counts of a split are drawn."""
        if split in (TRAIN, LEFT_OUT):
            nested = self.mixture.domains == (Domain("L", self.digits),)
        else:
            nested = self.test_kind == "L"
        if nested:
            return NestedLengths(self._lengths[split], self.operation.operands)
        return CellLengths(self.cells(split) if split != LEFT_OUT else self.cells(TRAIN))

    def _is_drawn(self, trained: bool, operands: Sequence[Ints]) -> Bools:
        return np.asarray(self.allows(operands) == trained)

    @property
    def allowed_digits(self) -> tuple[int, ...]:
        """The only digits in training; none if all are."""
        return allowed_digits(self.restrict, self.base)

    def allows(self, operands: Sequence[Ints]) -> Bools:
        """Which operands (b), given by their digits (b l each), `restrict` lets into training."""
        return allows(self.restrict, self.operation, operands, self.base)

    # Questions and answers

    def pairs(self, operands: Sequence[Ints]) -> Pairs:
        """Questions with their answers, from digits (b l each), least significant first."""
        lengths = [digit_lengths(digits) for digits in operands]
        longest, shortest = np.maximum.reduce(lengths), np.minimum.reduce(lengths)
        if self.width and int(longest.max(initial=0)) > self.width:
            what = f"an operand has {longest.max()} digits, and width is {self.width}"
            raise self.error(what, "Give a larger width, or operands with fewer digits")
        worked = self.operation.worked(operands, self.base)
        carries = worked.carries > 0
        axes = {"digits": longest, "shortest": shortest}
        axes |= {"carries": carries.sum(axis=1), "chain": chain(carries)}
        if self.restrict != "none":
            axes["allowed"] = self.allows(operands).astype(np.int64)
        question, question_lengths = self.notation.question(operands, lengths)
        answer, answer_lengths = self.notation.answer(worked, self._residue(operands))
        plain = self._identifying
        return Pairs(
            question=question,
            question_lengths=question_lengths,
            answer=answer,
            answer_lengths=answer_lengths,
            axes=axes,
            content=None if plain is None else plain.question(operands, lengths)[0],
        )

    def examples_of(self, numbers: Sequence[Sequence[int]]) -> Batch:
        """A batch of questions about these operands, with their answers.

        Example:
            >>> from weft.tasks.arithmetic import Addition
            >>> sums = Addition(width=10, reverse_result=True)
            >>> for question, answer in sums.examples(sums.examples_of([(57, 8)])):
            ...     print("".join(question), "".join(answer))
            0000000057+0000000008 56000000000
        """
        number = self.operation.operands
        wrong = [row for row in numbers if len(row) != number or min(row, default=-1) < 0]
        if wrong or not numbers:
            what = f"{tuple(wrong[0])} are not its operands" if wrong else "there are no operands"
            raise self.error(what, f"Give {number} numbers, 0 or more, for each question")
        largest = max(max(row) for row in numbers)
        width = digit_count(largest, self.base)
        columns = [[row[place] for row in numbers] for place in range(number)]
        operands = [digits_of_integers(column, self.base, width) for column in columns]
        return self.lay_out(self.pairs(operands))

    def _residue(self, operands: Sequence[Ints]) -> Ints | None:
        """The residue of the result (b); None if results are not reduced."""
        modulus = self.modulus_or_none
        if not modulus:
            return None
        values = [residues(digits, self.base, modulus) for digits in operands]
        return np.asarray(self.operation.exact(*values) % modulus)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return self.notation.written(tokens)

    # Which examples are held out

    def batch(self, split: str, seed: int, step: int, size: int) -> Batch:
        if split != TRAIN or not self.pool:
            return super().batch(split, seed, step, size)
        rng = np.random.default_rng([POOL, seed, step])
        return self.lay_out(taken(self._pool, rng.integers(0, self.pool, size)))

    @cached_property
    def _pool(self) -> Pairs:
        """The examples that training is limited to, none of them held out."""
        pairs = self._distinct(POOL, TRAIN, self.pool, lambda some: ~self.is_held_out(some))
        if len(pairs.question) < self.pool:
            what = f"there are only {len(pairs.question):,} examples for a pool of {self.pool:,}"
            raise self.error(what, "Give a smaller pool")
        return pairs

    def training_pool(self) -> Batch:
        """The examples that training is limited to, if `pool` is given."""
        if not self.pool:
            raise self.error("it has no pool", "Give pool, the number of training examples")
        return self.lay_out(self._pool)

    def is_in_distribution(self, pairs: Pairs) -> Bools:
        longest, shortest = (np.minimum(pairs.axes[a], self.longer) for a in ("digits", "shortest"))
        inside: Bools = self._trained[longest, shortest]
        return inside & (pairs.axes["allowed"] > 0) if "allowed" in pairs.axes else inside

    @cached_property
    def _trained(self) -> Bools:
        """Whether operands are in the training domain, by their largest and smallest length."""
        places = range(self.longer + 1)
        table = [[self.mixture.holds((low, high)) for low in places] for high in places]
        return np.array(table, dtype=np.bool_)

    def is_rare(self, pairs: Pairs) -> Bools:
        if not self.domain:
            return super().is_rare(pairs)
        number = self.operation.operands
        rare = sum(self.base ** (number * m) < RARE for m in range(1, self.longer + 1))
        return np.asarray((pairs.axes["digits"] <= rare) & ~self.is_in_distribution(pairs))

    # What outputs mean

    def operands(self, batch: Batch) -> list[Ints]:
        """The digits of each operand (b l each), least significant first, all of one width."""
        questions = batch.tokens if batch.source is None else batch.source
        if batch.source is None:
            inside = np.arange(questions.shape[1]) < batch.prompt[:, None] - 1
            questions = np.where(inside, questions, 0)
        found = self.notation.operands(questions)
        width = max(digits.shape[1] for digits in found)
        return [np.pad(digits, ((0, 0), (0, width - digits.shape[1]))) for digits in found]

    def truncated(self, batch: Batch, digits: int = 0) -> Batch:
        """The same questions with the answers of the truncated function.

        That is the operation on the last `digits` digits of every operand (by default, as many as
        the training domain has): what a model with absolute positions is predicted to learn.
        """
        kept = digits or self.digits
        operands = self.operands(batch)
        cut = [cut_off(one, kept) for one in operands]
        worked = self.operation.worked(cut, self.base)
        answer, lengths = self.notation.answer(worked, self._residue(cut))
        pairs = replace(self.pairs(operands), answer=answer, answer_lengths=lengths)
        return self.lay_out(replace(pairs, axes=dict(batch.axes)))

    def results(self, outputs: Ints) -> Numbers:
        """The numbers in a model's outputs (b l), which should end with <end>."""
        return self.notation.results(outputs)

    def digit_places(self, tokens: Ints) -> Ints:
        """The place of every digit within its number (b l), 1 for units, and 0 elsewhere."""
        return self.notation.digit_places(tokens)
