"""How heads weigh what they see: one small file for every mechanism, with its formula."""

from __future__ import annotations

from weft.errors import WeftError
from weft.extensions import find
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


def mechanism_class(name: str) -> type[Mixing]:
    """The class of a mechanism by its name; `path/file.py:Class` or a registered name, too."""
    if name in MIXINGS:
        return MIXINGS[name]
    kind: type[Mixing] = find("attention", name, MIXINGS)
    formula, fast = (
        next(base for base in kind.__mro__ if member in vars(base))
        for member in ("weights", "fast")
    )
    if formula is Mixing:
        raise WeftError(
            f"{name} has no weights",
            remedy="Write def weights(self, query, key, extra, bias, scene)",
        )
    changed = [
        member
        for member in ("weights", "scores", "seen", "scale")
        if _overrides(kind, fast, member)
    ]
    if changed:
        raise WeftError(
            f"{name} changes {' and '.join(changed)}, but {fast.__name__}.fast, which it inherits, "
            "does not use that",
            remedy="Write def fast(self, query, key, value, extra, bias, scene) as well; "
            "it may return None",
        )
    return kind


def _overrides(kind: type, fast: type, member: str) -> bool:
    """Whether a class changes a member that a fast path, inherited from elsewhere, relies on."""
    owner = next(base for base in kind.__mro__ if member in vars(base))
    return fast is not Mixing and owner is not fast and issubclass(owner, fast)


__all__ = ["MIXINGS", "Mixing", "mechanism_class"]
