"""How positions are told: one small file for every encoding, with its formula.

`learned` and `sinusoidal` add to the embeddings, `abacus` does so for digits within numbers,
`rotary` turns queries and keys, `alibi`, `nape`, `t5` and `fire` bias scores, and `randomised`
draws the positions that another one of these is told. They are joined by `+`, as in `abacus+fire`.
"""

from __future__ import annotations

from torch import Tensor, nn

from weft.errors import WeftError
from weft.extensions import find
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


def encoding_class(name: str) -> type[Position]:
    """The class of an encoding by its name; `path/file.py:Class` or a registered name, too."""
    if name in ENCODINGS:
        return ENCODINGS[name]
    found: type[Position] = find("position", name, ["none", "randomised", *ENCODINGS])
    return found


class Positions(Position):
    """All encodings of a model, one after the other."""

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
        biases = [bias for part in self._all() if (bias := part.bias(scene)) is not None]
        if len(biases) > 1:
            raise WeftError(
                f"several encodings of '{self.config.position}' bias the scores",
                remedy="Choose one of them",
            )
        return biases[0] if biases else None

    def initialise(self, embedded: float) -> None:
        for part in self._all():
            part.initialise(embedded)


__all__ = ["ENCODINGS", "Position", "Positions", "encoding_class"]
