"""NaPE models without some heads, against hooks that replace what these heads find."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch
import trace_models

from weft.errors import WeftError
from weft.models import LSTM, initialise, preset
from weft.studies.ptg.heads import PLAIN, SLOPED, head_groups, zeroed_heads


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_heads_are_removed_as_if_they_found_nothing(share: float) -> None:
    changes = {"heads": 4, "width": 32, "position": "nape", "slope_share": share}
    made = trace_models.model(**changes)
    groups = head_groups(made.config)
    assert groups[SLOPED] == tuple(range(int(4 * share)))
    assert groups[SLOPED] + groups[PLAIN] == (0, 1, 2, 3)
    tokens = torch.from_numpy(trace_models.examples().tokens[:2, :60])
    before, weights = made(tokens).logits, [w.clone() for w in made.parameters()]
    for heads in groups.values():

        def silenced(z: torch.Tensor, heads: tuple[int, ...] = heads) -> torch.Tensor:
            z = z.clone()
            z[:, list(heads)] = 0.0
            return z

        hooks = {f"blocks.{layer}.attn.hook_z": silenced for layer in range(2)}
        expected = made.run_with_hooks(tokens, hooks=hooks).logits
        with zeroed_heads(made, heads):
            found = made(tokens).logits
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        assert not torch.allclose(found, before)
    assert torch.equal(made(tokens).logits, before)
    assert all(torch.equal(a, b) for a, b in zip(weights, made.parameters(), strict=True))


def test_heads_come_back_after_an_error() -> None:
    made = trace_models.model(position="nape")
    weights = made.layers[0].attention.output.clone()
    with suppress(KeyboardInterrupt), zeroed_heads(made, (0,)):
        assert not made.layers[0].attention.output[0].any()
        raise KeyboardInterrupt
    assert torch.equal(made.layers[0].attention.output, weights)


def test_models_without_two_kinds_of_heads_have_none_to_remove() -> None:
    for changes in ({"position": "alibi"}, {"position": "nape", "slope_share": 1.0}, {}):
        assert head_groups(trace_models.model(**changes).config) == {}
    lstm = initialise(LSTM(preset("nano", architecture="lstm")))
    with pytest.raises(WeftError, match="has no attention heads"), zeroed_heads(lstm, (0,)):
        pass
    made = trace_models.model()
    with pytest.raises(WeftError, match="the model has 2 heads"), zeroed_heads(made, (2,)):
        pass
