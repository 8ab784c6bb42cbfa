"""Attention mechanisms: one small file each, with its formula, its paper and a fast path."""

from __future__ import annotations

from weft.errors import WeftError
from weft.extensions import find
from weft.models.attentions.base import AttentionMechanism
from weft.models.attentions.entmax import Entmax
from weft.models.attentions.forgetting import Forgetting
from weft.models.attentions.log_scaled import LogScaled
from weft.models.attentions.path import Path
from weft.models.attentions.softmax import Softmax
from weft.models.attentions.stick_breaking import StickBreaking
from weft.models.attentions.swan import Swan

MECHANISMS: dict[str, type[AttentionMechanism]] = {
    "softmax": Softmax,
    "forgetting": Forgetting,
    "path": Path,
    "stick-breaking": StickBreaking,
    "entmax": Entmax,
    "swan": Swan,
    "log-scaled": LogScaled,
}


def mechanism_class(name: str) -> type[AttentionMechanism]:
    """Return the class of a mechanism by name; also `path/file.py:Class` or a registered name."""
    if name in MECHANISMS:
        return MECHANISMS[name]
    kind: type[AttentionMechanism] = find("attention", name, MECHANISMS)
    formula, fast = _owner(kind, "weights"), _owner(kind, "fast")
    if formula is AttentionMechanism:
        raise WeftError(
            f"{name} has no weights",
            remedy="Write def weights(self, query, key, extra, bias, context)",
        )
    changed = [
        member
        for member in ("weights", "scores", "visible", "scale")
        if fast is not AttentionMechanism
        and _owner(kind, member) is not fast
        and issubclass(_owner(kind, member), fast)
    ]
    if changed:
        raise WeftError(
            f"{name} changes {' and '.join(changed)}, but {fast.__name__}.fast, which it inherits, "
            "does not use that",
            remedy="Write def fast(self, query, key, value, extra, bias, context) as well; "
            "it may return None",
        )
    return kind


def _owner(kind: type, member: str) -> type:
    """The class that defines a member of another class."""
    return next(base for base in kind.__mro__ if member in vars(base))


__all__ = ["MECHANISMS", "AttentionMechanism", "mechanism_class"]
