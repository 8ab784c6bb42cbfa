"""Which fields of a config apply to an LSTM; any other that is set is refused by name."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NoReturn

from weft.errors import WeftError

if TYPE_CHECKING:
    from weft.models.config import TransformerConfig

APPLIES = (
    "architecture", "vocabulary", "outputs", "width", "layers", "kind", "tied", "dropout", "dtype",
)  # fmt: skip
VALUES: dict[str, Any] = {"heads": 0, "hidden": ()}
"""Values of the fields that do not apply and have no default."""


def check_lstm(config: TransformerConfig) -> None:
    """Raise a `WeftError` if a config sets what an LSTM does not have."""
    if config.kind == "encoder-decoder":
        _refuse(
            "an LSTM reads one sequence, and kind is 'encoder-decoder'",
            "Use kind='decoder', with a task of format 'lm'",
        )
    defaults = {**VALUES, "key_width": config.width, "value_width": config.width}
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name not in APPLIES and value != defaults.get(field.name, field.default):
            _refuse(f"an LSTM has no {field.name}, and it is {value!r}", f"Leave {field.name} out")
    if config.kind == "encoder" and config.width % 2:
        _refuse(
            "a bidirectional LSTM has half of its width per direction",
            f"Make width {config.width} even",
        )


def check_architecture(config: TransformerConfig, architecture: str) -> None:
    """Refuse to build another model than the config describes."""
    if config.architecture != architecture:
        _refuse(
            f"architecture is '{config.architecture}', and the model is of '{architecture}'",
            "Use weft.models.build_model(config), which builds either",
        )


def _refuse(what: str, remedy: str) -> NoReturn:
    raise WeftError(what, subject="TransformerConfig", remedy=remedy)
