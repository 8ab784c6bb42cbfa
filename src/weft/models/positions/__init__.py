"""How positions are told: one small file for every encoding, with its formula.

`learned` and `sinusoidal` add to the embeddings, `abacus` does so for digits within numbers,
`rotary` turns queries and keys, `alibi`, `nape`, `t5` and `fire` bias scores, and `randomised`
draws the positions that another one of these is told. They are joined by `+`, as in `abacus+fire`.
"""

from __future__ import annotations

from torch import Tensor, nn

from weft.models.bias import Bias
from weft.models.config import TransformerConfig
from weft.models.context import Scene
from weft.models.positions.abacus import Abacus
from weft.models.positions.alibi import Alibi
from weft.models.positions.base import Position
from weft.models.positions.fire import Fire
from weft.models.positions.learned import Learned
from weft.models.positions.nape import Nape
from weft.models.positions.rotary import Rotary
from weft.models.positions.sinusoidal import Sinusoidal
from weft.models.positions.t5 import T5

ENCODINGS: dict[str, type[Position]] = {
    "learned": Learned,
    "sinusoidal": Sinusoidal,
    "rotary": Rotary,
    "alibi": Alibi,
    "nape": Nape,
    "t5": T5,
    "fire": Fire,
    "abacus": Abacus,
}


class Positions(Position):
    """All encodings of a model, one after the other."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        names = [name for name in config.encodings if name != "randomised"]
        self.parts = nn.ModuleDict({name: ENCODINGS[name](config) for name in names})

    def _all(self) -> list[Position]:
        return list(self.parts.values())  # type: ignore[arg-type]

    def embed(self, stream: Tensor, tokens: Tensor, scene: Scene) -> Tensor:
        for part in self._all():
            stream = part.embed(stream, tokens, scene)
        return stream

    def turn(self, query: Tensor, key: Tensor, scene: Scene) -> tuple[Tensor, Tensor]:
        for part in self._all():
            query, key = part.turn(query, key, scene)
        return query, key

    def bias(self, scene: Scene) -> Bias | None:
        found = [part.bias(scene) for part in self._all()]
        return next((bias for bias in found if bias is not None), None)

    def initialise(self, embedded: float) -> None:
        for part in self._all():
            part.initialise(embedded)


__all__ = ["ENCODINGS", "Position", "Positions"]
