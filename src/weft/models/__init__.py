"""The one Transformer (compiled and trained models are the same class), and its mechanisms."""

from weft.models.config import TransformerConfig, config_from_dict
from weft.models.generating import generate
from weft.models.initialising import initialise
from weft.models.layout import Layout, Slot, layout_from_list
from weft.models.planting import Planted, plant
from weft.models.presets import PRESETS, preset
from weft.models.transformer import Output, Transformer

__all__ = [
    "PRESETS",
    "Layout",
    "Output",
    "Planted",
    "Slot",
    "Transformer",
    "TransformerConfig",
    "config_from_dict",
    "generate",
    "initialise",
    "layout_from_list",
    "plant",
    "preset",
]
