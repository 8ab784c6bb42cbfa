"""Hooks: read and change the activations of a forward pass, with TransformerLens's names.

`hook_embed`, `blocks.0.hook_resid_pre`, `blocks.0.attn.hook_q` (b h l k, heads before positions),
`.hook_k`, `.hook_v`, `.hook_pattern`, `.hook_z`, `blocks.0.hook_attn_out`, `.hook_resid_mid`,
`.mlp.hook_pre`, `.mlp.hook_post`, `.hook_mlp_out`, `.hook_resid_post`. Looped layers are numbered
consecutively: the second loop of 3 layers is `blocks.3` to `blocks.5`. Compiled models also have
`blocks.0.attn.hook_attn_scores`, scores before softmax (b h l m), -inf if masked. Names in the
encoder of an encoder-decoder begin with `encoder.`; its decoder also has
`blocks.0.cross_attn.hook_q` and so on, `.hook_cross_out` and `.hook_resid_cross`.

Queries and keys are those that are compared, after rotary and similar encodings. Fused kernels
never store attention patterns, so with a hook every mechanism computes its dense formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from weft.errors import WeftError

if TYPE_CHECKING:
    from jaxtyping import Int

    from weft.models.text import TextFormat
    from weft.models.transformer import Output

Hook = Callable[[str, Tensor], Tensor]
"""Called with the name and value of each activation; returns the value to continue with."""


def with_prefix(hook: Hook | None, prefix: str) -> Hook | None:
    """Return a hook that calls another one with a prefix before every name."""
    if hook is None:
        return None
    return lambda name, tensor: hook(f"{prefix}{name}", tensor)


def caching_hook(cache: dict[str, Tensor], wanted: Callable[[str], bool]) -> Hook:
    """Return a hook that stores the activations with wanted names in a dictionary."""

    def hook(name: str, tensor: Tensor) -> Tensor:
        if wanted(name):
            cache[name] = tensor
        return tensor

    return hook


def replacing_hook(replace: Mapping[str, Callable[[Tensor], Tensor]], called: set[str]) -> Hook:
    """Return a hook that applies a function to the activation of each name; records the calls."""

    def hook(name: str, tensor: Tensor) -> Tensor:
        function = replace.get(name)
        if function is None:
            return tensor
        called.add(name)
        return function(tensor)

    return hook


class HookedModule(nn.Module):
    """A model whose `forward` takes tokens, lengths and a `hook`.

    Attributes:
        text: how the model reads and writes text; None if it takes token numbers only.
    """

    text: TextFormat | None = None

    def answer(self, text: str) -> str:
        """The model's answer to a text, as text; for models that were loaded from a folder.

        Example:
            >>> import tempfile, weft
            >>> folder = tempfile.mkdtemp() + "/addition"
            >>> weft.save(weft.compile(weft.program("addition")), folder, name="addition")
            >>> weft.load(folder).answer("12+34")
            '46'
        """
        if self.text is None:
            raise WeftError(
                "this model does not read text", remedy="Load it from a model folder with weft.load"
            )
        return str(self.text.run(self, text).result)  # type: ignore[arg-type]

    def run_with_cache(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        names: Callable[[str], bool] | Sequence[str] | None = None,
        **arguments: Any,
    ) -> tuple[Output, dict[str, Tensor]]:
        """Run a batch and return its output and its activations by name.

        Args:
            tokens: the inputs.
            lengths: their lengths.
            names: the activations to keep, as names or a predicate; all by default.
            arguments: any other argument of `forward`.

        Example:
            >>> import torch
            >>> from weft.models import Transformer, preset
            >>> model = Transformer(preset("nano", vocabulary=16))
            >>> _, cache = model.run_with_cache(torch.tensor([[3, 1, 2]]))
            >>> cache["blocks.0.attn.hook_pattern"].shape
            torch.Size([1, 3, 3, 3])
        """
        cache: dict[str, Tensor] = {}
        wanted = names if callable(names) else (lambda name: names is None or name in names)
        out = self(tokens, lengths, hook=caching_hook(cache, wanted), **arguments)
        return out, cache

    def run_with_hooks(
        self,
        tokens: Int[Tensor, "batch length"],
        lengths: Int[Tensor, " batch"] | None = None,
        *,
        hooks: Mapping[str, Callable[[Tensor], Tensor]],
        **arguments: Any,
    ) -> Output:
        """Run a batch, replacing each named activation by what its hook returns for it."""
        called: set[str] = set()
        out: Output = self(tokens, lengths, hook=replacing_hook(hooks, called), **arguments)
        for name in hooks:
            if name not in called:
                raise WeftError(
                    f"this model has no activation '{name}'",
                    remedy="run_with_cache returns all names",
                )
        return out
