"""The task of structural recursion: any definition of the calculus, whole or step by step.

The published setting ("Transformer-Based Models Are Not Yet Perfect At Learning to Emulate
Structural Recursion", arXiv 2401.12947) is full evaluation of the binary successor and of tree
traversals. The other parts teach the same function from its reduction: one round of it, k rounds,
all of them, or the choice and the glue of one equation.

A question is identified by the input of the function, not by its tokens, so runs that differ in
notation, order or part share their held-out inputs: a model trained on steps has seen no step of
the evaluation of a test input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from weft.tasks.arrays import Bools, Ints
from weft.tasks.batch import Batch
from weft.tasks.formats import Format, Pairs
from weft.tasks.hashing import hashed, in_bucket
from weft.tasks.recursion.settings import Labels, Order, Part, Sampling, Settings, Source, Style
from weft.tasks.recursion.successor import SuccessorSource
from weft.tasks.task import TRAIN, Split, Task, check_ascending

LONGEST = 512
"""The largest size of an input."""


@dataclass(frozen=True, kw_only=True)
class Recursion(Task):
    """A structurally recursive function: its values, or the terms of its reduction.

    The axes are `size` (constructors of the input), `depth` (nested recursive calls) and, for
    binary numbers, `run`, the longest run of X1.

    Attributes:
        definition: the function, by name or as `path/file.py:name`.
        part: what is asked for: the value (`evaluate`), the call reduced once (`atomic`), the next
            term of a reduction (`step`), all its terms (`trace`), the term after `unroll` rounds
            (`rounds`), which equation applies (`branch`), or the value from those of the recursive
            calls (`combine`).
        unroll: the number of rounds of `step` and `rounds`.
        parallel: whether a round reduces all calls that can be reduced, not the outermost alone.
        order: `constructor` writes the outermost constructor first (binary numbers: least
            significant digit first, the paper's reverse order), `natural` last.
        notation: how terms are written: `prefix`, or with `parenthesised`, `empty` or `bracket`
            terms, or `flat` lists.
        labels: where a tree's label stands, with parentheses or brackets.
        shortest: the smallest size in training.
        length: the largest size in training.
        longer: the largest size of all.
        depth: the largest recursion depth in training; 0 for no limit.
        deep: the smallest recursion depth of the split `deep`; 0 for one more than `depth` or, if
            there is no limit, half of `length`.
        sampling: `uniform` over inputs of a size, or all recursion depths of a size equally often
            (`depth`), in training.
        deepest_share: the share of training examples whose depth is the largest of their size:
            for binary numbers, carries through the whole number.
        deep_share: the share of training examples that are as in the split `deep`.
        pool: how many inputs of a split are drawn and reused, for definitions other than the
            successor.
    """

    name: ClassVar[str] = "recursion"
    format: Format = "seq2seq"
    formats: ClassVar[tuple[Format, ...]] = ("seq2seq", "lm", "tag")
    programs: ClassVar[tuple[str, ...]] = ("successor",)
    chunk: ClassVar[int] = 1024
    rounds: ClassVar[int] = 16
    definition: str = "successor"
    part: Part = "evaluate"
    unroll: int = 1
    parallel: bool = False
    order: Order = "constructor"
    notation: Style = "prefix"
    labels: Labels = "pre"
    shortest: int = 4
    length: int = 20
    longer: int = 40
    depth: int = 0
    deep: int = 0
    sampling: Sampling = "uniform"
    deepest_share: float = 0.0
    deep_share: float = 0.0
    pool: int = 20_000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_ascending(
            self,
            ("unroll", 1),
            ("shortest", 1),
            ("length", self.shortest),
            ("longer", "length"),
            ("depth", 0),
            ("deep", 0),
            ("pool", 1),
        )
        if self.longer > LONGEST:
            raise self.error(f"longer is {self.longer}", f"Give at most {LONGEST}")
        for name in ("deepest_share", "deep_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise self.error(f"{name} is {getattr(self, name)}", "Give a share from 0 to 1")
        if self.deepest_share + self.deep_share > 1:
            what = "deepest_share and deep_share are more than all examples"
            raise self.error(what, "Make their sum at most 1")
        if self.deepest_share and self.depth:
            what = "depth leaves out the deepest inputs, and deepest_share adds some"
            raise self.error(what, "Leave one of them out")
        if self.deep_share and self.depth and self.deep_from > self.depth:
            what = f"depth leaves out inputs {self.deep_from} deep, and deep_share adds some"
            raise self.error(what, "Leave one of them out, or give a smaller deep")
        if self.unroll > 1 and self.part not in ("step", "rounds"):
            raise self.error(f"unroll is {self.unroll}, and part is {self.part}",
                             "Leave unroll out, or use part=step or part=rounds")  # fmt: skip
        if self.format == "tag" and self.part in ("trace", "branch"):
            raise self.error(
                f"the answers of part={self.part} are not aligned with the question",
                "Use format=seq2seq or format=lm",
            )
        _ = self.symbols  # a definition that cannot be used is noticed here

    @property
    def deep_from(self) -> int:
        """The smallest recursion depth that counts as deep."""
        return self.deep or (self.depth + 1 if self.depth else max(2, self.length // 2))

    @cached_property
    def settings(self) -> Settings:
        """What determines the examples."""
        return Settings(
            definition=self.definition,
            part=self.part,
            unroll=self.unroll,
            parallel=self.parallel,
            order=self.order,
            notation=self.notation,
            labels=self.labels,
            aligned=self.format == "tag",
            shortest=self.shortest,
            length=self.length,
            longer=self.longer,
            depth=self.depth,
            deep=self.deep_from,
            sampling=self.sampling,
            deepest_share=self.deepest_share,
            deep_share=self.deep_share,
            pool=self.pool,
        )

    @cached_property
    def source(self) -> Source:
        """Where the examples come from."""
        if self.definition == "successor" and self.notation == "prefix":
            return SuccessorSource(self.settings)
        from weft.tasks.recursion.terms import TermSource

        return TermSource(self.settings)

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.source.symbols

    @property
    def splits(self) -> Mapping[str, Split]:
        return self.source.splits

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        return self.source.draw(split, rng, size)

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        return self.source.reference(tokens)

    def asked(self, batch: Batch) -> list[str]:
        return self.source.asked([list(question) for question, _ in self.examples(batch)])

    # What is held out

    def is_held_out(self, pairs: Pairs) -> Bools:
        """Which examples (b) are not trained on: those whose input, or for `step` term, is held."""
        chosen = in_bucket(hashed(self._inputs(pairs)), self.held_out)
        if self.part == "step" and not self.source.injective:
            chosen |= self._has_held_term(pairs)
        return self.source.held_out(pairs, chosen, self.is_in_distribution(pairs))

    def is_validated(self, pairs: Pairs) -> Bools:
        return super().is_validated(pairs) & ~self.source.is_single(pairs)

    def is_tested(self, pairs: Pairs) -> Bools:
        tested = super().is_tested(pairs)
        if self.part == "step" and not self.source.injective:
            tested &= self._has_held_term(pairs)
        return tested

    def _inputs(self, pairs: Pairs) -> Ints:
        """The inputs of the function in some notation (b l)."""
        content = pairs.identity
        return content[:, content.shape[1] // 2 :] if self.part == "step" else content

    def _has_held_term(self, pairs: Pairs) -> Bools:
        """Whether the term itself (b) is held out, whatever input it comes from."""
        content = pairs.identity
        return in_bucket(hashed(content[:, : content.shape[1] // 2]), self.held_out)

    def is_in_distribution(self, pairs: Pairs) -> Bools:
        inside = self.splits[TRAIN].holds(pairs)
        return np.asarray(inside)
