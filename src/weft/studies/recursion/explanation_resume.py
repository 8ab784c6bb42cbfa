"""Forward passes that begin at a layer: a knock-out changes nothing before it.

The streams before every layer are kept from one complete pass. A pass that begins at layer n of the
decoder runs neither the encoder nor the layers before n. Models that halt, that do something
between layers, or that add their embeddings again in every loop run completely.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from weft.studies.recursion.explanation_model import AskedModel, LaidOut
from weft.tasks.arrays import Ints

if TYPE_CHECKING:
    from torch import Tensor

    from weft.models.hooks import Hook
    from weft.models.transformer import Transformer


@dataclass(frozen=True, eq=False)
class Resumable:
    """A batch whose pass can begin at any layer.

    Attributes:
        asked: the model.
        laid: the batch.
        streams: the streams before every layer, by the name of the activation.
        predicted: the class predicted at every slot (b l) without any change.
    """

    asked: AskedModel
    laid: LaidOut
    streams: dict[str, Tensor]
    predicted: Ints

    def predictions(self, stack: str, layer: int, hook: Hook) -> Ints:
        """The predictions if a hook changes activations from a layer of a stack on."""
        import torch

        with self.asked.model.evaluating(), torch.no_grad():
            return self.logits(stack, layer, hook).argmax(-1).cpu().numpy()

    def logits(self, stack: str, layer: int, hook: Hook) -> Tensor:
        """The logits (b l c) if a hook changes activations from a layer of a stack on."""
        model: Any = self.asked.model
        if not _resumes(model):
            return self.asked.logits(self.laid, hook)
        return self._from(model, stack, layer, hook)

    def _from(self, model: Transformer, stack: str, layer: int, hook: Hook) -> Tensor:
        from weft.models.context import make_context
        from weft.models.forward import ForwardPass

        tensors = self.asked.tensors(self.laid.batch)
        config, source, source_context = model.config, None, None
        context = make_context(config, tensors.tokens, tensors.lengths)
        first, prefix = layer, ""
        if tensors.source is not None:
            below = config.of_encoder
            source_context = make_context(
                below, tensors.source, tensors.source_lengths, causal=False
            )
            source = self.streams["encoded"]
            if stack == "encoder":
                first, prefix = 0, "encoder."
                position = getattr(model, "encoder_position", model.position)
                stream = self.streams[f"{prefix}blocks.{layer}.hook_resid_pre"]
                state = ForwardPass(
                    model, model.encoder, position, stream, source_context,
                    hook=hook, prefix=prefix,
                )  # fmt: skip
                for number in range(layer, len(model.encoder) * config.loops):
                    state.apply_layer(number)
                norm = model.encoder_norm
                source = state.stream if norm is None else norm(state.stream)
            source_context = replace(source_context, positions=context.positions)
        stream = self.streams[f"blocks.{first}.hook_resid_pre"]
        state = ForwardPass(
            model, model.layers, model.position, stream, context,
            hook=hook, source=source, source_context=source_context,
        )  # fmt: skip
        for number in range(first, config.layers * config.loops):
            state.apply_layer(number)
        return model._logits(state.stream)


def resumable(asked: AskedModel, laid: LaidOut) -> Resumable:
    """Run a batch once and keep what later passes begin with."""
    streams: dict[str, Tensor] = {}
    last = ""

    def hook(name: str, tensor: Tensor) -> Tensor:
        nonlocal last
        if name.endswith("hook_resid_pre"):
            streams[name] = tensor
        if name.startswith("encoder.") and name.endswith("hook_resid_post"):
            last = name
            streams[name] = tensor
        return tensor

    predicted = asked.predictions(laid, hook)
    model: Any = asked.model
    if last:
        import torch

        norm = model.encoder_norm
        with torch.no_grad():
            streams["encoded"] = streams[last] if norm is None else norm(streams[last])
    return Resumable(asked, laid, streams, predicted)


def _resumes(model: Any) -> bool:
    """Whether a pass can begin at any layer."""
    config = model.config
    return (
        config.halt is None
        and not config.inject
        and model.stream_layout is None
        and model.between_layers is None
        and "randomised" not in config.encodings
    )
