"""How heads weigh what they see: one small file for every mechanism, with its formula."""

from __future__ import annotations

from weft.models.attentions.base import Mixing
from weft.models.attentions.entmax import Entmax
from weft.models.attentions.forgetting import Forgetting
from weft.models.attentions.log_scaled import LogScaled
from weft.models.attentions.path import Path
from weft.models.attentions.softmax import Softmax
from weft.models.attentions.stick_breaking import StickBreaking
from weft.models.attentions.swan import Swan

MIXINGS: dict[str, type[Mixing]] = {
    "softmax": Softmax,
    "forgetting": Forgetting,
    "path": Path,
    "stick-breaking": StickBreaking,
    "entmax": Entmax,
    "swan": Swan,
    "log-scaled": LogScaled,
}

__all__ = ["MIXINGS", "Mixing"]
