"""`WeftConfig`: the description of a model folder as a Hugging Face config.

The config.json of a model folder (`weft.models.files.ModelDescription`) is also a Hugging Face
config. Transformers adds keys of its own when it saves one, and `weft.load` ignores these.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from transformers import PreTrainedConfig

from weft.config import from_plain
from weft.errors import WeftError
from weft.models.config import TransformerConfig, config_from_dict
from weft.models.files import HF_KEYS, ModelDescription

DESCRIBED = tuple(field.name for field in fields(ModelDescription) if field.name not in HF_KEYS)
"""The keys of a config.json that are Weft's."""


class WeftConfig(PreTrainedConfig):
    """The config of a Weft model.

    Args:
        values: the keys of a model folder's config.json, and those of any Hugging Face config.

    Attributes:
        description: the part that is Weft's, as plain values.
    """

    model_type = "weft"

    def __init__(self, **values: Any) -> None:
        # Transformers makes a config without arguments, too, to compare defaults.
        given = {key: values.pop(key) for key in DESCRIBED if key in values}
        description = values.pop("description", None) or given
        if description:
            values = {**_hugging_face(description), **values}
        super().__init__(**values)
        self.description: dict[str, Any] = description

    @property
    def folder(self) -> ModelDescription:
        """What the config says about the model, checked for its types."""
        if not self.description:
            raise WeftError(
                "this config describes no model",
                subject="WeftConfig",
                remedy="Load one from a folder that Weft wrote: AutoConfig.from_pretrained(DIR)",
            )
        plain = json.loads(json.dumps(self.description))
        return from_plain(ModelDescription, plain, "WeftConfig")

    @property
    def architecture(self) -> TransformerConfig:
        """The architecture of the model."""
        return config_from_dict(dict(self.folder.config))

    def to_dict(self) -> dict[str, Any]:
        """The config as plain values, which `weft.load` reads from a config.json."""
        values: dict[str, Any] = super().to_dict()
        description = values.pop("description", None) or {}
        return {**values, **json.loads(json.dumps(description))}


def end_token(description: dict[str, Any]) -> int | None:
    """The token that ends an answer, or at which the program behind a model stops."""
    end = description["text"]["end"]
    if end is None:
        end = (description["program"] or {}).get("stop")
    return end if end is None or end < description["config"]["vocabulary"] else None


def _hugging_face(description: dict[str, Any]) -> dict[str, Any]:
    """The fields by which Transformers knows the properties of a model."""
    config, text = description["config"], description["text"]
    classes = text["classes"]
    names = {n: classes[n] if n < len(classes) else f"class {n}" for n in range(config["outputs"])}
    decoder = config["kind"] == "decoder"
    return {
        "vocab_size": config["vocabulary"],
        "hidden_size": config["width"],
        "num_attention_heads": config["heads"],
        "num_hidden_layers": config["layers"] * config["loops"],
        "id2label": names,
        "label2id": {name: number for number, name in names.items()},
        "is_decoder": decoder,
        "is_encoder_decoder": config["kind"] == "encoder-decoder",
        "tie_word_embeddings": False,  # Weft's models tie their own
        "dtype": config["dtype"],
        "eos_token_id": end_token(description),
        "pad_token_id": None,
    }
