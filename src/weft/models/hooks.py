"""Looking into a forward pass, and changing what is computed there.

Names follow TransformerLens where they mean the same: `hook_embed`, `blocks.0.hook_resid_pre`,
`blocks.0.attn.hook_q` (b h l k, heads before positions), `.hook_k`, `.hook_v`, `.hook_pattern`,
`.hook_z`, `blocks.0.hook_attn_out`, `.hook_resid_mid`, `.mlp.hook_pre`, `.mlp.hook_post`,
`.hook_mlp_out`, `.hook_resid_post`. Layers that are looped are numbered on: loop 2 of 3 layers is
`blocks.3` to `blocks.5`. The encoder of an encoder-decoder has `encoder.` in front; in its decoder
there are also `blocks.0.cross_attn.hook_q` and so on, `.hook_cross_out` and `.hook_resid_cross`.

Queries and keys are those that are compared, with positions told. A tap sees weights that a fused
kernel never writes down: with one, every mechanism runs by its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

Tap = Callable[[str, Tensor], Tensor]
"""Is given a name and what was computed, and gives back what to go on with."""


def within(tap: Tap | None, prefix: str) -> Tap | None:
    """A tap for a part of the model."""
    if tap is None:
        return None
    return lambda name, tensor: tap(f"{prefix}{name}", tensor)


def recording(found: dict[str, Tensor], wanted: Callable[[str], bool]) -> Tap:
    """A tap that writes down what has a wanted name."""

    def tap(name: str, tensor: Tensor) -> Tensor:
        if wanted(name):
            found[name] = tensor
        return tensor

    return tap


def replacing(hooks: Mapping[str, Callable[[Tensor], Tensor]], met: set[str]) -> Tap:
    """A tap that lets hooks replace what has their name."""

    def tap(name: str, tensor: Tensor) -> Tensor:
        hook = hooks.get(name)
        if hook is None:
            return tensor
        met.add(name)
        return hook(tensor)

    return tap
