"""The successor of binary numbers as a source of examples, vectorised.

The splits are the edge cases of the recursion. Under uniform sampling the depth d of a number has
the probability 2^-(d+1), so deep recursion, and carries through the whole number, are rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.errors import WeftError
from weft.tasks.arrays import Bools, Ints, turned
from weft.tasks.formats import Pairs
from weft.tasks.recursion.binary import (
    CALL,
    EXTRA,
    ONE,
    X1,
    XO,
    Floats,
    depth_of,
    drawn_cells,
    drawn_decoys,
    drawn_numbers,
    longest_run,
    members,
    reduct,
    traces,
    uniform_depths,
)
from weft.tasks.recursion.settings import BLANK, SEPARATOR, Settings
from weft.tasks.task import TRAIN, Split

CALLED = "successor"
NAMES = {"01": ONE, "XO": XO, "X1": X1, CALLED: CALL}
EQUATIONS = ("#1", "#2", "#3")
FEW = 64
"""Beyond the training range, all numbers of a cell with fewer than this are for tests."""
DECOY_DEPTH = 2
"""The largest depth of a decoy."""


@dataclass(frozen=True)
class SuccessorSource:
    """Examples of the binary successor; see the module.

    Attributes:
        settings: the parameters of the task.
    """

    settings: Settings
    injective: bool = True

    # What there is

    @property
    def symbols(self) -> tuple[str, ...]:
        """The constructors, the call, and what the part needs besides."""
        part = self.settings.part
        if self.settings.aligned:
            extra: tuple[str, ...] = (BLANK,)
        else:
            extra = {"trace": (SEPARATOR,), "branch": EQUATIONS}.get(part, ())
        return (*NAMES, *extra)

    @cached_property
    def splits(self) -> dict[str, Split]:
        """The splits that have members, with a description each."""
        given = self.settings
        low, high, longer = given.shortest, given.length, given.longer
        sizes = f"{low} to {high} constructors"
        inside, beyond, deepest = (low, high), (high + 1, longer), high - 1
        limit = given.depth or deepest
        depth = f", at most {given.depth} deep" if given.depth else ""
        every = {
            TRAIN: (f"{sizes}{depth}", inside, (0, limit)),
            "all-carry": (f"{sizes}, X1 .. X1 01", inside, (max(0, low - 1), deepest)),
            "carry-to-last": (f"{sizes}, X1 .. X1 XO 01", inside, (max(0, low - 2), high - 2)),
            "deep": (f"{sizes}, {given.deep} or more calls deep", inside, (given.deep, high - 2)),
            "decoy": (
                f"{sizes}, {given.deep} or more X1 that the carry does not reach",
                (max(low, given.deep + 2), high),
                (0, min(DECOY_DEPTH, high - 2 - given.deep)),
            ),
            "all-zeros": (f"{sizes}, XO .. XO 01", (max(2, low), high), (0, 0)),
            "shorter": (f"at most {low - 1} constructors", (1, low - 1), (0, max(0, low - 2))),
            "longer": (f"{beyond[0]} to {longer} constructors", beyond, (0, longer - 1)),
            "deeper": (
                f"{beyond[0]} to {longer} constructors, {high} or more calls deep",
                (high + 2, longer),
                (high, longer - 2),
            ),
            "all-carry-longer": (
                f"{beyond[0]} to {longer} constructors, X1 .. X1 01",
                beyond,
                (high, longer - 1),
            ),
        }
        return {
            name: Split(description=text, axes={"size": size, "depth": depths})
            for name, (text, size, depths) in every.items()
            if size[0] <= size[1] and depths[0] <= depths[1]
        }

    def shares(self, split: str) -> Floats:
        """The probability of each cell (length, depth) in a split, up to a factor."""
        given = self.settings
        longest = given.longer
        grid: Ints = np.indices((longest + 1, longest + 1))
        lengths, depths = grid[0], grid[1]
        (low, high), (shallow, deep) = (self.splits[split].axes[a] for a in ("size", "depth"))
        inside = (low <= lengths) & (lengths <= high) & (shallow <= depths) & (depths <= deep)
        exact = {"all-carry": 1, "all-carry-longer": 1, "carry-to-last": 2}
        if split in exact:
            return np.where(inside & (depths == lengths - exact[split]), 1.0, 0.0)
        inside &= depths <= lengths - (2 if split in ("deep", "deeper") else 1)
        spread = given.sampling == "depth" if split == TRAIN else split in ("deep", "deeper")
        weights: Floats = np.where(inside, 1.0 if spread else uniform_depths(longest), 0.0)
        totals = weights.sum(1, keepdims=True)
        weights = np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0)
        if split != TRAIN:
            return weights
        weights[is_kept_back(lengths, depths)] = 0
        if not weights.any():
            raise WeftError(
                f"there is no number of {low} to {high} constructors to train on",
                subject="task recursion",
                remedy="Give a larger length",
            )
        return self._with_cases(weights / weights.sum())

    def _with_cases(self, shares: Floats) -> Floats:
        """The cells of the training set with the cases that are drawn more often."""
        given = self.settings
        grid: Ints = np.indices(shares.shape)
        lengths, depths = grid[0], grid[1]
        inside: Bools = np.asarray((given.shortest <= lengths) & (lengths <= given.length))
        if given.depth:
            inside &= depths <= given.depth
        inside &= ~is_kept_back(lengths, depths)
        deepest = inside & (depths == lengths - 1)
        deep = inside & (given.deep <= depths) & (depths <= lengths - 2)
        mixed = (1 - given.deepest_share - given.deep_share) * shares
        for name, cells in (("deepest_share", deepest), ("deep_share", deep)):
            share = getattr(given, name)
            if share and not cells.any():
                raise WeftError(
                    f"{name} is {share:g}, and no number of the training range is such a case",
                    subject="task recursion",
                    remedy=f"Leave {name} out, or change depth, deep and length",
                )
            mixed += share * cells / max(1, cells.sum())
        return mixed

    # Drawing

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        width = self.splits[split].axes["size"][1]
        if split == "decoy":
            low = self.splits[split].axes["size"][0]
            lengths = rng.integers(low, width, size, endpoint=True)
            numbers = drawn_decoys(rng, lengths, width, run=self.settings.deep, depth=DECOY_DEPTH)
        else:
            lengths, depths = drawn_cells(rng, self._shares(split), size)
            numbers = drawn_numbers(rng, lengths, depths, width)
            if split == "all-zeros":
                numbers = np.where(numbers == X1, XO, numbers)
        return self.pairs(numbers, lengths, rng)

    def _shares(self, split: str) -> Floats:
        if split not in self._cells:
            self._cells[split] = self.shares(split)
        return self._cells[split]

    @cached_property
    def _cells(self) -> dict[str, Floats]:
        return {}

    def pairs(self, numbers: Ints, lengths: Ints, rng: np.random.Generator | None = None) -> Pairs:
        """Questions about numbers (b l), outermost constructor first, with their answers.

        With the part `step`, `rng` chooses the term of each reduction; the first without it.
        """
        given = self.settings
        depths = depth_of(numbers)
        first, step = np.zeros((2, len(numbers)), dtype=np.int64)
        if given.part == "step" and rng is not None:
            first = rng.integers(0, depths, endpoint=True)
        question, question_lengths = reduct(numbers, lengths, first)
        step += first + (given.unroll if given.part in ("step", "rounds") else 1)
        answer, answer_lengths = reduct(numbers, lengths, np.minimum(step, depths + 1))
        content = numbers
        if given.part == "step":
            padded = np.concatenate([numbers, np.zeros((len(numbers), 1), dtype=np.int64)], axis=1)
            content = self._sides(question, padded)
        if given.part == "evaluate":
            question, question_lengths = numbers, lengths
        elif given.part == "combine":
            question, question_lengths = _combined(numbers, lengths)
        if given.part in ("evaluate", "combine"):
            answer, answer_lengths = reduct(numbers, lengths, depths + 1)
        elif given.part == "trace":
            size = (int(numbers.shape[1]) + 2) ** 2
            answer, answer_lengths = traces(numbers, lengths, size, natural=given.natural)
        elif given.part == "branch":
            answer = EXTRA + numbers[:, :1] - ONE
            answer_lengths = np.ones_like(lengths)
        if given.natural:
            question = turned(question, question_lengths)
            if given.part not in ("trace", "branch"):
                answer = turned(answer, answer_lengths)
        axes = {"size": lengths, "depth": depths, "run": longest_run(numbers)}
        if given.part == "step":
            axes["step"] = first
        pairs = Pairs(
            question=question,
            question_lengths=question_lengths,
            answer=answer,
            answer_lengths=answer_lengths,
            axes=axes,
            content=content,
        )
        return aligned(pairs, EXTRA) if given.aligned else pairs

    def _sides(self, question: Ints, numbers: Ints) -> Ints:
        """Question and number side by side, each as wide as the longest of all splits."""
        width = self.settings.longer + 1
        return np.concatenate(
            [np.pad(side, ((0, 0), (0, width - side.shape[1]))) for side in (question, numbers)],
            axis=1,
        )

    # What is held out

    def held_out(self, pairs: Pairs, chosen: Bools, trained: Bools) -> Bools:
        """Every second number that is alone in its cell, few numbers beyond training, and `chosen`.

        There is one all-carry number of each length: those of odd length are held out.
        """
        sizes, depths = pairs.axes["size"], pairs.axes["depth"]
        few = members(self.settings.longer)[sizes, depths] < FEW
        single = self.is_single(pairs)
        held = np.where(trained & single, sizes % 2 == 1, chosen)
        return held | (~trained & (few | single))

    def is_single(self, pairs: Pairs) -> Bools:
        """Which numbers (b) are X1 .. X1 01, X1 .. X1 XO 01 or XO .. XO 01."""
        zeros = (pairs.axes["run"] == 0) & (pairs.axes["depth"] == 0)
        return np.asarray((pairs.axes["depth"] >= pairs.axes["size"] - 2) | zeros)

    # In words

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """The answer to a question, in plain Python."""
        given = self.settings
        words = [token for token in tokens if token != BLANK]
        words = words[::-1] if given.natural else words
        if given.part == "branch":
            return (EQUATIONS[("01", "XO", "X1").index(words[1])],)
        if given.part == "combine":
            if words[1] == "X1":
                answer = ["XO", *words[2:]]
            else:
                answer = _one_step(words)
        elif given.part == "evaluate":
            answer = _steps([CALLED, *words])[-1]
        elif given.part == "trace":
            every = _steps(words)[1:]
            shown = [term[::-1] if given.natural else term for term in every]
            return tuple(" ; ".join(" ".join(term) for term in shown).split())
        else:
            rounds = given.unroll if given.part in ("step", "rounds") else 1
            every = _steps(words)
            answer = every[min(rounds, len(every) - 1)]
        answer = answer[::-1] if given.natural else answer
        return (*answer, *[BLANK] * (len(tokens) - len(answer)) * given.aligned)

    def asked(self, questions: list[list[str]]) -> list[str]:
        """The numbers as the library's programs read them."""
        return [
            " ".join(word for word in words if word in ("01", "XO", "X1")) for words in questions
        ]


def is_kept_back(lengths: Ints, depths: Ints) -> Bools:
    """Which cells have one number, of odd length: none of them is for training."""
    return np.asarray((depths >= lengths - 2) & (lengths % 2 == 1))


def _combined(numbers: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """The calls on numbers (b l+1) with b in X1 b replaced by its successor, and their lengths."""
    depths = depth_of(numbers)
    question, question_lengths = reduct(numbers, lengths, np.zeros_like(depths))
    results, result_lengths = reduct(numbers, lengths, depths + 1)
    width = question.shape[1] + 1
    recursive = depths > 0
    # The successor of X1 b is XO and that of b, so the value of b is in the result already.
    values = np.zeros((len(numbers), width), dtype=np.int64)
    values[:, :2] = CALL, X1
    values[:, 2 : 2 + results.shape[1] - 1] = results[:, 1 : width - 1]
    padded = np.pad(question, ((0, 0), (0, 1)))
    lengths = np.where(recursive, result_lengths + 1, question_lengths)
    return np.where(recursive[:, None], values, padded), lengths


def aligned(pairs: Pairs, blank: int) -> Pairs:
    """Questions and answers padded by blanks to one length each, with room for one token more."""
    widths = pairs.question_lengths + 1
    if int((pairs.answer_lengths - widths).max(initial=0)) > 0:
        longest = int((pairs.answer_lengths - pairs.question_lengths).max())
        raise WeftError(
            f"an answer has {longest} tokens more than its question, and room for one",
            subject="task recursion",
            remedy="Use format=seq2seq or format=lm",
        )
    width = pairs.question.shape[1] + 1
    places = np.arange(width)
    inside = places < widths[:, None]

    def filled(rows: Ints, lengths: Ints) -> Ints:
        kept = np.zeros((len(rows), width), dtype=np.int64)
        kept[:, : min(width, rows.shape[1])] = rows[:, :width]
        return np.where((places >= lengths[:, None]) & inside, blank, kept)

    return Pairs(
        question=filled(pairs.question, pairs.question_lengths),
        question_lengths=widths,
        answer=filled(pairs.answer, pairs.answer_lengths),
        answer_lengths=widths,
        axes=pairs.axes,
        content=pairs.content,
    )


def _one_step(words: list[str]) -> list[str]:
    """A term with a call, reduced once."""
    at = words.index(CALLED)
    head, rest = words[at + 1], words[at + 2 :]
    reduced = {"01": ["XO", "01"], "XO": ["X1", *rest], "X1": ["XO", CALLED, *rest]}[head]
    return [*words[:at], *reduced]


def _steps(words: list[str]) -> list[list[str]]:
    """The terms of a reduction, from this one on."""
    terms = [words]
    while CALLED in terms[-1]:
        terms.append(_one_step(terms[-1]))
    return terms
