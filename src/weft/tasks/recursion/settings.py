"""What determines the examples of a recursion task: its parameters, checked and with defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from weft.tasks.arrays import Bools
from weft.tasks.formats import Pairs
from weft.tasks.task import Split

Part = Literal["evaluate", "atomic", "step", "trace", "rounds", "branch", "combine"]
Order = Literal["constructor", "natural"]
Style = Literal["prefix", "parenthesised", "empty", "bracket", "flat"]
Labels = Literal["pre", "in", "post"]
Sampling = Literal["uniform", "depth"]

PARTS: dict[Part, str] = {
    "evaluate": "the value of a call",
    "atomic": "a call, reduced once",
    "step": "the term after `unroll` more rounds, from any term of a reduction",
    "trace": "all terms of a reduction after the call, separated by ;",
    "rounds": "the term after `unroll` rounds, from the call",
    "branch": "which equation applies to a call, by its number",
    "combine": "the value, from an input whose recursive arguments are replaced by their values",
}
"""What a model is asked for, by the parameter `part`."""
SEPARATOR = ";"
BLANK = "_"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The parameters of a recursion task that decide which examples there are.

    Attributes:
        definition: the function, by name or as `path/file.py:name`.
        part: what is asked for.
        unroll: the number of rounds of `step` and `rounds`.
        parallel: whether a round reduces all calls at once, and not the outermost alone.
        order: `constructor` writes the outermost constructor first, `natural` last.
        notation: how terms are written.
        labels: where the label of a tree node stands, in parentheses and brackets.
        aligned: whether answers stand under the tokens of the question.
        shortest: the smallest size in training.
        length: the largest size in training.
        longer: the largest size of all.
        depth: the largest recursion depth in training; 0 for no limit.
        deep: the smallest depth of the split `deep`, and of what `deep_share` adds.
        sampling: whether depths in training are as they come, or all equally frequent.
        deepest_share: the share of training examples that are as deep as their size allows.
        deep_share: the share of training examples that are deep.
        pool: how many inputs of a split are drawn and reused.
    """

    definition: str
    part: Part
    unroll: int
    parallel: bool
    order: Order
    notation: Style
    labels: Labels
    aligned: bool
    shortest: int
    length: int
    longer: int
    depth: int
    deep: int
    sampling: Sampling
    deepest_share: float
    deep_share: float
    pool: int

    @property
    def natural(self) -> bool:
        """Whether terms are written from the back."""
        return self.order == "natural"


class Source(Protocol):
    """Where the examples of a definition come from.

    Attributes:
        symbols: the tokens, without those that all tasks have.
        splits: its splits, `train` first.
        injective: whether a term of a reduction is that of one input only.
    """

    @property
    def symbols(self) -> tuple[str, ...]: ...
    @property
    def splits(self) -> dict[str, Split]: ...
    @property
    def injective(self) -> bool: ...

    def draw(self, split: str, rng: np.random.Generator, size: int) -> Pairs:
        """Random examples. Their content is the input; with `step`, the question and the input.

        With `step`, the question fills the first half of the columns of the content, so that both
        can be told apart.
        """

    def held_out(self, pairs: Pairs, chosen: Bools, trained: Bools) -> Bools:
        """Which examples (b) are not trained on, few members of a kind considered.

        Args:
            pairs: the examples.
            chosen: those that a hash chooses to hold out.
            trained: those in distribution.
        """

    def is_single(self, pairs: Pairs) -> Bools:
        """Which examples (b) are the only ones of their kind."""

    def reference(self, tokens: tuple[str, ...]) -> tuple[str, ...]:
        """The answer to a question."""

    def asked(self, questions: list[list[str]]) -> list[str]:
        """The questions as the library's programs read them."""
