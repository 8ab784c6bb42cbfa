"""Weft's models behind the interface of Transformers.

Transformers pads generation on the left, and Weft counts positions from the first token of a row.
So rows are rotated until their first token comes first, and the logits rotated back.
"""

from __future__ import annotations

from pathlib import Path
from shutil import copyfile
from typing import Any

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import (
    BaseModelOutput,
    CausalLMOutput,
    Seq2SeqLMOutput,
    TokenClassifierOutput,
)

from weft.errors import WeftError
from weft.hf.configuration import WeftConfig
from weft.models.factory import Model
from weft.models.files import CARD, model_from_description
from weft.models.transformer import Output

IGNORED = -100
"""The label that Transformers ignores in losses."""
KEPT = (CARD, "certificate.json")
"""Files of a model folder that are copied when a model is saved again."""


class WeftPreTrainedModel(PreTrainedModel):
    """What Weft's classes for Transformers share.

    Args:
        config: the config of a model folder.
    """

    config_class = WeftConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"
    _supports_attention_backend = False
    kinds: tuple[str, ...] = ("encoder", "decoder", "encoder-decoder")
    """The kinds of models that the class takes."""

    def __init__(self, config: WeftConfig) -> None:
        super().__init__(config)
        description = config.folder
        self.model: Model = model_from_description(description)
        kind = self.model.config.kind
        if kind not in self.kinds:
            raise WeftError(
                f"{type(self).__name__} takes models of kind {' or '.join(self.kinds)}, and "
                f"{description.name} is of kind '{kind}'",
                remedy="Use AutoModel, or the Auto class for its kind",
            )
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """Restore the buffers that no file holds: tables that follow from the config."""
        names = module._non_persistent_buffers_set
        path = next((at for at, each in self.model.named_modules() if each is module), None)
        if not names or path is None:
            return
        fresh = model_from_description(self.config.folder).get_submodule(path)
        for name in sorted(names):
            buffer = getattr(fresh, name).to(self.model.embedding.device)
            module.register_buffer(name, buffer, persistent=False)

    def get_input_embeddings(self) -> None:  # type: ignore[override]
        """None: the embedding is a parameter, not a module."""

    def run(self, tokens: Tensor, mask: Tensor | None = None, **arguments: Any) -> Output:
        """Run the model on a batch that may be padded on either side.

        Args:
            tokens: the inputs.
            mask: 1 for tokens, 0 for padding.
            arguments: any other argument of Weft's models.
        """
        tokens = tokens.masked_fill(tokens == self.config.vocab_size, 0)  # the tokeniser's <pad>
        if mask is None:
            whole: Output = self.model(tokens, **arguments)
            return whole
        start, lengths = bounds(mask)
        output = self.model(rotated(tokens, start), lengths, **arguments)
        logits, stream = (rotated(part, -start) for part in (output.logits, output.stream))
        return Output(logits, stream, output.layers, output.halted)

    def save_pretrained(self, save_directory: str | Path, **arguments: Any) -> None:
        """Write a folder that both `from_pretrained` and `weft.load` read."""
        arguments.setdefault("state_dict", self.model.state_dict())
        super().save_pretrained(save_directory, **arguments)
        source = Path(self.config.name_or_path)
        for name in KEPT:
            if (source / name).is_file() and source.resolve() != Path(save_directory).resolve():
                copyfile(source / name, Path(save_directory) / name)


class WeftModel(WeftPreTrainedModel):
    """A Weft model; its output is the residual stream after the last layer."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        return_dict: bool | None = None,
        **_: Any,
    ) -> Any:
        """The residual stream after the last layer."""
        output = self.run(input_ids, attention_mask)
        result = BaseModelOutput(last_hidden_state=output.stream)
        return result if return_dict is not False else result.to_tuple()


class WeftForTokenClassification(WeftPreTrainedModel):
    """A Weft model with a class for each token."""

    kinds = ("encoder", "decoder")

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **_: Any,
    ) -> Any:
        """The scores of all classes for each token."""
        logits = self.run(input_ids, attention_mask).logits
        result = TokenClassifierOutput(loss=_loss(logits, labels), logits=logits)
        return result if return_dict is not False else result.to_tuple()


class Generating(WeftPreTrainedModel, GenerationMixin):
    """A model that writes tokens; what its generation config leaves open follows from the model."""

    _is_stateful = False

    def generate(self, inputs: Tensor | None = None, **arguments: Any) -> Any:
        """Write tokens, greedily by default, up to the model's end token."""
        defaults = generation_config(self.config)
        for name in ("eos_token_id", "pad_token_id", "decoder_start_token_id", "use_cache"):
            if getattr(self.generation_config, name) is None:
                setattr(self.generation_config, name, getattr(defaults, name))
        lengths = ("max_length", "max_new_tokens")
        if all(getattr(self.generation_config, name) is None for name in lengths):
            for name in lengths:
                setattr(self.generation_config, name, getattr(defaults, name))
        return super().generate(inputs, **arguments)


class WeftForCausalLM(Generating):
    """A decoder that continues a text."""

    kinds = ("decoder",)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **_: Any,
    ) -> Any:
        """The scores of all next tokens at each position."""
        logits = self.run(input_ids, attention_mask).logits
        shifted = (
            None if labels is None else nn.functional.pad(labels[:, 1:], (0, 1), value=IGNORED)
        )
        result = CausalLMOutput(loss=_loss(logits, shifted), logits=logits)
        return result if return_dict is not False else result.to_tuple()

    def prepare_inputs_for_generation(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **_: Any
    ) -> dict[str, Any]:
        """All tokens so far; keys and values are not cached."""
        return {"input_ids": input_ids, "attention_mask": attention_mask}


class _Source(nn.Module):
    """Passes an encoder's input on, since Weft's models encode and decode in one forward pass."""

    main_input_name = "input_ids"

    def forward(self, input_ids: Tensor, **_: Any) -> Any:
        return BaseModelOutput(last_hidden_state=input_ids[..., None])


class WeftForSeq2SeqLM(Generating):
    """An encoder-decoder that translates a sequence."""

    kinds = ("encoder-decoder",)

    def get_encoder(self, *_: Any, **__: Any) -> nn.Module:
        """A module that passes the source on to `forward`."""
        return _Source()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        encoder_outputs: Any = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **_: Any,
    ) -> Any:
        """The scores of all next tokens of the target at each position."""
        given = input_ids if encoder_outputs is None else encoder_outputs[0][..., 0]
        start = self.config.folder.text.start
        if decoder_input_ids is None:
            if labels is None:
                what = "it was given neither decoder_input_ids nor labels"
                raise WeftError(what, subject=type(self).__name__, remedy="Give one of them")
            kept = labels.masked_fill(labels == IGNORED, 0)
            decoder_input_ids = nn.functional.pad(kept[:, :-1], (1, 0), value=start)
        if given is None:
            raise WeftError(
                "it was given no source", subject=type(self).__name__, remedy="Give input_ids"
            )
        source, lengths = given, None
        if attention_mask is not None:
            first, lengths = bounds(attention_mask)
            source = rotated(given, first)
        logits = self.model(decoder_input_ids, source=source, source_lengths=lengths).logits
        result = Seq2SeqLMOutput(loss=_loss(logits, labels), logits=logits)
        return result if return_dict is not False else result.to_tuple()

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        encoder_outputs: Any = None,
        **_: Any,
    ) -> dict[str, Any]:
        """What the decoder has written so far, and the source."""
        return {
            "decoder_input_ids": input_ids,
            "attention_mask": attention_mask,
            "encoder_outputs": encoder_outputs,
        }


def generation_config(config: WeftConfig) -> GenerationConfig:
    """Greedy decoding up to the end token and the longest answer of a config's model."""
    text, end = config.folder.text, config.eos_token_id
    return GenerationConfig(
        do_sample=False,
        use_cache=False,
        pad_token_id=0 if end is None else end,  # finished rows repeat it, as in weft.generate
        eos_token_id=end,
        decoder_start_token_id=text.start,
        max_new_tokens=text.longest_answer or None,
        max_length=None if text.longest_answer else config.architecture.max_length,
    )


def bounds(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Where the tokens of each row begin, and how many there are.

    Args:
        mask: 1 for tokens, 0 for padding, which must lie on the left or the right of all tokens.
    """
    tokens = mask.bool()
    start, lengths = tokens.int().argmax(-1), tokens.sum(-1)
    places = torch.arange(mask.shape[1], device=mask.device)
    whole = (places >= start[:, None]) & (places < (start + lengths)[:, None])
    if not torch.equal(whole, tokens):
        raise WeftError(
            "an attention mask has holes: padding between the tokens of a row",
            remedy="Pad on the left or on the right",
        )
    return start, lengths


def rotated(values: Tensor, start: Tensor) -> Tensor:
    """Rows rotated to the left by `start` places each."""
    length = values.shape[1]
    places = (torch.arange(length, device=values.device) + start[:, None]) % length
    if values.ndim == 3:
        return values.gather(1, places[..., None].expand_as(values))
    return values.gather(1, places)


def _loss(logits: Tensor, labels: Tensor | None) -> Tensor | None:
    if labels is None:
        return None
    return nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
