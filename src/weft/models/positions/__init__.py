"""Positional encodings: one small file each, with its formula and its paper.

`learned` and `sinusoidal` add to the embeddings, `abacus` does so for digits within numbers,
`rotary` rotates queries and keys, `alibi`, `nape`, `t5`, `distance` and `fire` bias scores, and
`randomised` draws the positions that another encoding uses. They are joined by `+`, as in
`abacus+fire`.
"""

from __future__ import annotations

from torch import Tensor, nn

from weft.errors import WeftError
from weft.extensions import find
from weft.models.bias import ScoreBias
from weft.models.config import TransformerConfig
from weft.models.context import AttentionContext
from weft.models.positions.abacus import Abacus
from weft.models.positions.alibi import Alibi
from weft.models.positions.base import PositionalEncoding
from weft.models.positions.distance import DistanceBias
from weft.models.positions.fire import Fire
from weft.models.positions.learned import Learned
from weft.models.positions.nape import Nape
from weft.models.positions.rotary import Rotary
from weft.models.positions.sinusoidal import Sinusoidal
from weft.models.positions.t5 import T5

ENCODINGS: dict[str, type[PositionalEncoding]] = {
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "rotary": Rotary,
    "alibi": Alibi,
    "nape": Nape,
    "t5": T5,
    "distance": DistanceBias,
    "fire": Fire,
    "abacus": Abacus,
}


def encoding_class(name: str) -> type[PositionalEncoding]:
    """Return the class of an encoding by name; also `path/file.py:Class` or a registered name."""
    if name in ENCODINGS:
        return ENCODINGS[name]
    kind: type[PositionalEncoding] = find("position", name, ["none", "randomised", *ENCODINGS])
    return kind


class Positions(PositionalEncoding):
    """All positional encodings of a model, one after the other."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        names = [name for name in config.encodings if name != "randomised"]
        kinds = {name: encoding_class(name) for name in names}
        self.parts = nn.ModuleDict(
            {
                name if ":" not in name else kind.__name__: kind(config)
                for name, kind in kinds.items()
            }
        )

    def _all(self) -> list[PositionalEncoding]:
        return list(self.parts.values())  # type: ignore[arg-type]

    def embed(self, stream: Tensor, tokens: Tensor, context: AttentionContext) -> Tensor:
        for part in self._all():
            stream = part.embed(stream, tokens, context)
        return stream

    def rotate(
        self, query: Tensor, key: Tensor, context: AttentionContext
    ) -> tuple[Tensor, Tensor]:
        for part in self._all():
            query, key = part.rotate(query, key, context)
        return query, key

    def bias(self, context: AttentionContext) -> ScoreBias | None:
        biases = [part.bias(context) for part in self._all()]
        biases = [bias for bias in biases if bias is not None]
        if len(biases) > 1:
            raise WeftError(
                f"several encodings of '{self.config.position}' bias the scores",
                remedy="Choose one of them",
            )
        return biases[0] if biases else None


__all__ = ["ENCODINGS", "PositionalEncoding", "Positions", "encoding_class"]
