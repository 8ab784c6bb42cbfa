"""The one Transformer, of which compiled and trained models are instances, and its mechanisms."""

from weft.models.config import TransformerConfig, config_from_dict
from weft.models.factory import Model, build_model
from weft.models.generation import generate
from weft.models.init import initialise
from weft.models.lstm import LSTM
from weft.models.planting import Planted, plant
from weft.models.presets import PRESETS, preset
from weft.models.slots import Layout, Slot, layout_from_list
from weft.models.transformer import Output, Transformer

__all__ = [
    "LSTM",
    "PRESETS",
    "Layout",
    "Model",
    "Output",
    "Planted",
    "Slot",
    "Transformer",
    "TransformerConfig",
    "build_model",
    "config_from_dict",
    "generate",
    "initialise",
    "layout_from_list",
    "plant",
    "preset",
]
