"""From a config to its model, with weights that are zero until they are drawn or loaded."""

from __future__ import annotations

from weft.models.config import TransformerConfig
from weft.models.lstm import LSTM
from weft.models.transformer import Transformer

Model = Transformer | LSTM
"""What can be trained, evaluated and saved: the Transformer, and baselines behind its interface."""


def build_model(config: TransformerConfig) -> Model:
    """The model that a config describes.

    Example:
        >>> from weft.models import build_model, preset
        >>> type(build_model(preset("nano", architecture="lstm"))).__name__
        'LSTM'
    """
    return LSTM(config) if config.architecture == "lstm" else Transformer(config)
