"""What a run learns from: answers, or the traces of a program that solves the task.

answers   the cross-entropy of the task's answers, end to end
traces    the feed-forward alone, from pairs of vectors: its input after attention and the
          stream after it; all else is compiled (ALTA paper, appendix C.1)
streams   a whole Transformer with no compiled weights, from whose stream every variable of the
          program can be read by a linear map at every layer (the idea at the end of C.1)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weft.errors import WeftError

By = Literal["answers", "traces", "streams"]
Weighing = Literal["counts", "states"]


@dataclass(frozen=True, kw_only=True)
class SupervisionConfig:
    """What is learned from.

    Attributes:
        by: `answers`, `traces` or `streams`.
        program: whose traces, by name: of the library, or `path/file.py:Class`.
        examples: with `traces`, of how many inputs of the split that is trained on.
        noise: the deviation of Gaussian noise that is added to the feed-forward's input; with
            `streams`, to the stream before every layer.
        weigh: whether a state is drawn as often as it occurred, or all alike.
        rounded: with `traces`, whether every variable is set to its nearest value between layers
            when the model runs. The paper does without.
        spread: with `traces`, whether each unit of the first hidden layer starts to be active at
            a state that is drawn, instead of at zero: for numbers, which are far from it. The paper
            does without.
        shrink: with `traces`, the weight of the feed-forward's size, the sum of magnitudes of all
            its weights and biases, beside the loss; 0 for none. The loss that is logged is without.
    """

    by: By = "answers"
    program: str = ""
    examples: int = 20_000
    noise: float = 0.1
    weigh: Weighing = "counts"
    rounded: bool = False
    spread: bool = False
    shrink: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("examples", 1), ("noise", 0), ("shrink", 0)):
            if getattr(self, name) < least:
                raise WeftError(
                    f"supervision.{name} is {getattr(self, name):g}",
                    subject="TrainingConfig",
                    remedy=f"It must be at least {least}",
                )


ANSWERS = SupervisionConfig()
