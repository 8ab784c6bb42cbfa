"""Weft's models as Hugging Face models: `import weft.hf`, then use Transformers' Auto classes.

A model folder that Weft wrote loads as it is:

    import weft.hf
    from transformers import AutoModelForTokenClassification
    model = AutoModelForTokenClassification.from_pretrained("parity")

`AutoModel` takes every folder, `AutoModelForTokenClassification` those with an answer under each
token, `AutoModelForCausalLM` decoders, and `AutoModelForSeq2SeqLM` encoder-decoders. `export`
writes a folder with a tokeniser and generation settings beside the weights. Nothing is downloaded,
and no code in a folder is executed. Needs Transformers: `pip install 'weftwork[hf]'`.
"""

from __future__ import annotations

try:
    import transformers as _transformers
except ImportError as error:
    from weft.errors import WeftError

    raise WeftError(
        "weft.hf needs the package transformers", remedy="pip install 'weftwork[hf]'"
    ) from error

from weft.hf.configuration import WeftConfig
from weft.hf.exporting import export
from weft.hf.modelling import (
    WeftForCausalLM,
    WeftForSeq2SeqLM,
    WeftForTokenClassification,
    WeftModel,
)

_transformers.AutoConfig.register("weft", WeftConfig, exist_ok=True)
for _auto, _model in (
    (_transformers.AutoModel, WeftModel),
    (_transformers.AutoModelForTokenClassification, WeftForTokenClassification),
    (_transformers.AutoModelForCausalLM, WeftForCausalLM),
    (_transformers.AutoModelForSeq2SeqLM, WeftForSeq2SeqLM),
):
    _auto.register(WeftConfig, _model, exist_ok=True)

__all__ = [
    "WeftConfig",
    "WeftForCausalLM",
    "WeftForSeq2SeqLM",
    "WeftForTokenClassification",
    "WeftModel",
    "export",
]
