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

from collections.abc import Callable, Mapping

from torch import Tensor

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
