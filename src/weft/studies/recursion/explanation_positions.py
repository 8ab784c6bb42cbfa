"""Does a model follow positions or tokens: interventions on positions alone.

Tokens stay as they are, and positions are changed; the model reads its own outputs.

    shift    all positions of the input, plus 1. Token k of the copied part follows its position if
             it becomes input token k - 1, and its token if it stays input token k. Only places
             where these two differ count.
    swap     two positions of the copied part of the input whose tokens differ. A token of the
             output at one of them follows the position if it becomes the other token.
    output   two positions of the output so far. The prediction at the first follows the position
             if it becomes the one that the model made at the second position. Only pairs with
             different predictions count.

In an encoder, attention does not know the order of tokens but for their positions, so that `swap`
is the same as swapping tokens: a model that is right on both inputs follows the position. In a
decoder that reads input and output as one text, the causal mask knows the order as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.statistics import Share
from weft.studies.recursion.explanation_model import AskedModel, LaidOut
from weft.tasks.arrays import Bools, Ints

if TYPE_CHECKING:
    from torch import Tensor

INTERVENTIONS = ("shift", "swap", "output")


@dataclass(frozen=True)
class Following:
    """What output tokens follow when positions change.

    Attributes:
        intervention: `shift`, `swap` or `output`.
        position: those that follow the position.
        token: those that follow the token; the others follow neither.
    """

    intervention: str
    position: Share
    token: Share

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "intervention": self.intervention,
            "position": self.position.as_dict(),
            "token": self.token.as_dict(),
        }


def position_interventions(
    asked: AskedModel, batches: Sequence[LaidOut], *, seed: int = 0
) -> list[Following]:
    """The shares that follow position and token; none for a model without attention."""
    if asked.model.config.architecture != "transformer" or asked.task.format == "tag":
        return []
    rng = np.random.default_rng(seed)
    counts = {name: [0, 0, 0] for name in INTERVENTIONS}
    for laid in batches:
        before = asked.predictions(laid)
        for name in INTERVENTIONS:
            if name == "output":
                hits = _output(asked, laid, before, rng)
            elif asked.subject.recursion is None:
                continue
            else:
                hits = _input(asked, laid, rng, swap=name == "swap")
            for number, each in enumerate(hits):
                counts[name][number] += each
    return [
        Following(name, Share(position, total), Share(token, total))
        for name, (position, token, total) in counts.items()
        if total
    ]


def _input(
    asked: AskedModel, laid: LaidOut, rng: np.random.Generator, *, swap: bool
) -> tuple[int, int, int]:
    """Tokens that follow the position, tokens that follow the token, and all that count."""
    batch = laid.batch
    separate = batch.source is not None
    words = batch.tokens if batch.source is None else batch.source
    parts = laid.parts.tokens if laid.parts.source is None else laid.parts.source
    copied = parts == laid.parts.number("copy")
    positions = np.broadcast_to(np.arange(words.shape[1]), words.shape).copy()
    lengths = copied.sum(1)
    first = copied.argmax(1)
    moved = words.copy()  # what a model that follows positions reads at each place
    if swap:
        usable = lengths >= 2
        one = first + rng.integers(0, np.maximum(1, lengths))
        away = rng.integers(1, np.maximum(2, lengths))
        two = first + (one - first + away) % np.maximum(1, lengths)
        rows = np.arange(len(words))
        usable &= words[rows, one] != words[rows, two]
        rows, one, two = rows[usable], one[usable], two[usable]
        positions[rows, one], positions[rows, two] = two, one
        moved[rows, one], moved[rows, two] = words[rows, two], words[rows, one]
    else:
        most = asked.model.config.of_encoder.positions
        limit = words.shape[1] + 1 if separate else batch.tokens.shape[1]
        if most is not None and limit > most:
            return 0, 0, 0
        ends = batch.prompt - 1 if batch.source_lengths is None else batch.source_lengths
        positions = positions + (np.arange(words.shape[1]) < ends[:, None])
        moved[:, 1:] = words[:, :-1]
    counted = copied & (moved != words)
    counted[:, 0] &= swap
    if not counted.any():
        return 0, 0, 0
    given = _tensor(asked, positions)
    if separate:
        after = asked.predictions(laid, source_positions=given)
    else:
        after = asked.predictions(laid, positions=given)
    made = _at_places(laid, after, words.shape[1])
    own = _at_places(laid, np.maximum(batch.targets, 0), words.shape[1])
    counted &= own == words  # where the model copies
    position, token = counted & (made == moved), counted & (made == words)
    return int(position.sum()), int(token.sum()), int(counted.sum())


def _at_places(laid: LaidOut, classes: Ints, width: int) -> Ints:
    """The class of output token k at column k - 1 (b width); -1 beyond the output."""
    found = np.full((len(classes), width), -1, dtype=np.int64)
    scored = laid.batch.scored
    for row in range(len(classes)):
        values = classes[row, scored[row]][:width]
        found[row, : len(values)] = values
    return found


def _output(
    asked: AskedModel, laid: LaidOut, before: Ints, rng: np.random.Generator
) -> tuple[int, int, int]:
    """The same for two positions of the output so far."""
    batch = laid.batch
    scored = batch.scored
    positions = np.broadcast_to(np.arange(scored.shape[1]), scored.shape).copy()
    counts = scored.sum(1)
    start = scored.argmax(1)
    usable = counts >= 2
    one = start + rng.integers(0, np.maximum(1, counts))
    two = start + (one - start + rng.integers(1, np.maximum(2, counts))) % np.maximum(1, counts)
    rows = np.arange(len(scored))
    usable &= before[rows, one] != before[rows, two]
    rows, one, two = rows[usable], one[usable], two[usable]
    if not len(rows):
        return 0, 0, 0
    positions[rows, one], positions[rows, two] = two, one
    after = asked.predictions(laid, positions=_tensor(asked, positions))
    position: Bools = after[rows, one] == before[rows, two]
    token: Bools = after[rows, one] == before[rows, one]
    return int(position.sum()), int(token.sum()), len(rows)


def _tensor(asked: AskedModel, positions: Ints) -> Tensor:
    import torch

    return torch.from_numpy(positions).to(asked.model.embedding.device)
