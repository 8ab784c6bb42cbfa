"""The one Transformer (compiled and trained models are the same class) and its config."""

from weft.models.config import TransformerConfig, config_from_dict
from weft.models.layout import Layout, Slot, layout_from_list
from weft.models.transformer import Output, Transformer

__all__ = [
    "Layout",
    "Output",
    "Slot",
    "Transformer",
    "TransformerConfig",
    "config_from_dict",
    "layout_from_list",
]
