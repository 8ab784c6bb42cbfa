"""The task `formal-language`: what may come next, or membership, at every prefix of a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from weft.errors import WeftError
from weft.tasks.algorithmic.protocol import FIRST, LengthTask
from weft.tasks.arrays import Bools, Ints, within
from weft.tasks.batch import Batch
from weft.tasks.bits import random_bits
from weft.tasks.formal.machines import Machine, machine
from weft.tasks.formal.sampling import WordSampler
from weft.tasks.formats import END, START, Format, Pairs, next_symbols, tagged
from weft.tasks.hashing import Hashes, hashed
from weft.tasks.task import TRAIN, VALIDATED, Split

FEW = 256
"""With at most this many words in distribution, those that are held out are listed."""
SCARCE = 20_000
"""With at most this many words in another split, all of them are held out."""


@dataclass(frozen=True, kw_only=True)
class FormalLanguage(LengthTask):
    """A formal language: after each prefix of a word, which symbols may come next?

    `<end>` is legal if the prefix is itself a word of the language. With `target=membership`, the
    question at each prefix is instead whether it is in the language, and half of the strings are
    near misses and random strings.

    Lengths are uniform among those that have words, and words are uniform among those of their
    length. In a flip-flop language such as `[012]*02*`, uniform words would have only short runs of
    the neutral symbol; there, `sampling=auto` draws long runs after all letters. The axis `gap` is
    the longest run of the neutral symbol.

    Attributes:
        language: the name of a regular language of `weft.automata` or of a counter language
            (dyck-1, shuffle-2, anbn, anbncn, 4-count, boolean-3 or boolean-5), an automaton in a
            file (`.json`), or a regular expression.
        alphabet: the letters of an expression; by default those that it names.
        target: the legal `next` symbols, or `membership`.
        sampling: `uniform` words, words with long `gaps`, or `auto`: gaps in flip-flop languages.
    """

    name: ClassVar[str] = "formal-language"
    formats: ClassVar[tuple[Format, ...]] = ("next",)
    mark: ClassVar[str] = "="
    rounds: ClassVar[int] = 16
    format: Format = "next"
    language: str = "tomita-4"
    alphabet: str = ""
    target: Literal["next", "membership"] = "next"
    sampling: Literal["auto", "uniform", "gaps"] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        reserved = {"<pad>", "<start>", "<end>", self.mark}
        if clash := reserved & set(self.symbols):
            what = f"the language has the symbol {clash.pop()!r}, which Weft uses itself"
            raise self.error(what, "Give this symbol another name")
        if self.sampling == "gaps" and self.machine.neutral is None:
            what = f"{self.language} has no neutral symbol, so words cannot be drawn by gaps"
            raise self.error(what, "Give sampling=uniform")
        for name, split in self.splits.items():
            if not len(self._possible(name)):
                low, high = split.axes["length"]
                what = f"{self.language} has no words of {low} to {high} symbols"
                raise self.error(what, f"Give other lengths, so that the split {name} has some")

    @cached_property
    def machine(self) -> Machine:
        """The language as a table of states, exact for words of at most `longest` symbols."""
        try:
            return machine(self.language, self.alphabet, self.longest)
        except WeftError as error:
            raise WeftError(error.what, subject=f"task {self.name}", remedy=error.remedy) from error

    @cached_property
    def sampler(self) -> WordSampler:
        """Draws words of the language, uniform among those of a length."""
        return WordSampler(self.machine, self.longest)

    @property
    def by_gaps(self) -> bool:
        """Whether words are drawn with long runs of the neutral symbol."""
        return self.sampling != "uniform" and self.machine.neutral is not None

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.machine.alphabet

    @property
    def answers(self) -> tuple[str, ...]:
        return self.vocabulary if self.target == "next" else ("no", "yes")

    @property
    def positions(self) -> int:
        return self.longest + 1

    @cached_property
    def splits(self) -> Mapping[str, Split]:
        splits = dict(super().splits)
        for name, split in splits.items():
            if (count := self.word_count(split)) <= SCARCE:
                said = f"{split.description}: {count:,} word{'s' * (count != 1)}"
                splits[name] = Split(description=said, axes=split.axes)
        return splits

    def word_count(self, split: Split) -> int:
        """The number of words in the lengths of a split, capped at twice `SCARCE`."""
        low, high = split.axes["length"]
        counts = np.exp(np.minimum(self.sampler.log_counts[low : high + 1], 40))
        return int(min(2 * SCARCE, round(counts.sum())))

    def _possible(self, split: str) -> Ints:
        """The lengths of a split that have words."""
        low, high = self.splits[split].axes["length"]
        possible: Ints = low + np.flatnonzero(np.isfinite(self.sampler.log_counts[low : high + 1]))
        return possible

    # Drawing

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        low, high = self.splits[split].axes["length"]
        lengths = rng.choice(self._possible(split), size)
        letters = self._words(rng, high, lengths)
        if self.target == "membership":
            letters, lengths = self._with_others(rng, letters, lengths, low)
        return self._pairs(letters, lengths)

    def _words(self, rng: np.random.Generator, width: int, lengths: Ints) -> Ints:
        if not self.by_gaps:
            return self.sampler.draw(rng, width, lengths)
        neutral = self.machine.neutral
        assert neutral is not None
        counts = self._letter_counts(rng, lengths)
        others = self._resetting.draw(rng, width, counts)
        chosen = random_bits(rng, width, lengths, counts) == 1
        which = np.maximum(np.cumsum(chosen, axis=1) - 1, 0)
        return np.where(chosen, np.take_along_axis(others, which, axis=1), neutral)

    @cached_property
    def _resetting(self) -> WordSampler:
        """Draws words without the neutral symbol."""
        return WordSampler(self.machine, self.longest, excluded=self.machine.neutral)

    def _letter_counts(self, rng: np.random.Generator, lengths: Ints) -> Ints:
        """How many symbols of each word are not neutral: few as a rule, so that gaps are long."""
        possible = np.isfinite(self._resetting.log_counts)
        weights = np.cumsum(possible * np.maximum(np.arange(len(possible)), 2.0) ** -1.5)
        chances = rng.random(len(lengths)) * weights[lengths]
        return np.searchsorted(weights, chances, side="right")

    def _with_others(
        self, rng: np.random.Generator, letters: Ints, lengths: Ints, low: int
    ) -> tuple[Ints, Ints]:
        """Half of the words as they are, a quarter with some symbols changed, a quarter random."""
        size, width = letters.shape
        kind = rng.integers(0, 4, size)
        random = rng.integers(0, len(self.symbols), (size, width))
        changed = random_bits(rng, width, lengths, np.minimum(rng.integers(1, 3, size), lengths))
        replaced = (kind == 3)[:, None] | ((kind == 2)[:, None] & (changed == 1))
        lengths = np.where(kind == 3, rng.integers(low, width, size, endpoint=True), lengths)
        return np.where(replaced, random, letters), lengths

    def _pairs(self, letters: Ints, lengths: Ints) -> Pairs:
        """Strings as examples."""
        inside = within(lengths, letters.shape[1])
        states = self.machine.states(np.where(inside, letters, 0))
        question = np.where(inside, letters + FIRST, 0)
        return Pairs(
            question=question,
            question_lengths=lengths,
            answer=self.machine.accepting[states].astype(np.int64),
            answer_lengths=lengths + 1,
            axes=self._axes(letters, lengths, states),
            legal=self._legal[states] if self.target == "next" else None,
        )

    def _axes(self, letters: Ints, lengths: Ints, states: Ints) -> dict[str, Ints]:
        axes = {"length": lengths}
        if self.by_gaps:
            neutral = (letters == self.machine.neutral) & within(lengths, letters.shape[1])
            axes["gap"] = longest_run(neutral)
        if self.machine.depth is not None:
            read = within(lengths + 1, states.shape[1])
            axes["depth"] = np.where(read, self.machine.depth[states], 0).max(axis=1)
        if self.target == "membership":
            last = states[np.arange(len(states)), lengths]
            axes["member"] = self.machine.accepting[last].astype(np.int64)
        return axes

    @cached_property
    def _legal(self) -> Bools:
        """Which classes are legal in each state (s c)."""
        legal = np.zeros((len(self.machine.next), len(self.vocabulary)), dtype=np.bool_)
        legal[:, FIRST:] = self.machine.live[self.machine.next]
        legal[:, END] = self.machine.accepting
        return legal

    def lay_out(self, pairs: Pairs) -> Batch:
        if self.target == "next":
            return next_symbols(pairs)
        size = len(pairs.question)
        begun = np.concatenate([np.full((size, 1), START), pairs.question], axis=1)
        return tagged(
            Pairs(
                question=begun,
                question_lengths=pairs.question_lengths + 1,
                answer=pairs.answer,
                answer_lengths=pairs.answer_lengths,
                axes=pairs.axes,
            )
        )

    # Held-out words of small languages

    @cached_property
    def _listed(self) -> tuple[Hashes, Hashes, Hashes] | None:
        """The hashes of all words in distribution, those held out, and those for validation.

        None if there are too many words. The longest words are all trained on.
        """
        low, high = self.splits[TRAIN].axes["length"]
        words = self.sampler.words(low, high, FEW)
        if words is None:
            return None
        rows = np.zeros((len(words), self.length), dtype=np.int64)
        for row, word in enumerate(words):
            rows[row, : len(word)] = np.array(word) + FIRST
        hashes = hashed(rows)
        shorter = np.sort(hashes[[len(word) < len(words[-1]) for word in words]])
        held = shorter[: max(2, round(self.held_out * len(words)))]
        return hashes, held, held[: max(1, round(VALIDATED * len(held)))]

    def is_held_out(self, pairs: Pairs) -> Bools:
        held = super().is_held_out(pairs)
        if self._listed is None:
            return held
        hashes = hashed(pairs.question)
        every, chosen, _ = self._listed
        return np.where(np.isin(hashes, every), np.isin(hashes, chosen), held)

    def is_validated(self, pairs: Pairs) -> Bools:
        validated = super().is_validated(pairs)
        if self._listed is None:
            return validated
        hashes = hashed(pairs.question)
        every, _, chosen = self._listed
        return np.where(np.isin(hashes, every), np.isin(hashes, chosen), validated)

    def is_rare(self, pairs: Pairs) -> Bools:
        rare = np.zeros(len(pairs.question), dtype=np.bool_)
        for name, split in self.splits.items():
            if name != TRAIN and self.word_count(split) <= SCARCE:
                rare |= split.holds(pairs)
        return rare

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        state, answers = self.machine.start, []
        for letter in (None, *tokens):
            if letter is not None:
                state = int(self.machine.next[state, self.symbols.index(letter)])
            if self.target == "membership":
                answers.append(self.answers[int(self.machine.accepting[state])])
            else:
                classes = np.flatnonzero(self._legal[state])
                answers.append("|".join(self.vocabulary[number] for number in classes))
        return tuple(answers)


def longest_run(marks: Bools) -> Ints:
    """The longest run of true values in each row."""
    run = np.zeros(len(marks), dtype=np.int64)
    longest = run
    for column in marks.T:
        run = (run + 1) * column
        longest = np.maximum(longest, run)
    return longest
