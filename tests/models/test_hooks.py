"""Activations by name: what is seen is what is computed, and hooks change it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import mechanisms
import weft
from weft.compiler.execution import input_numbers, padded
from weft.errors import WeftError

EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-12}
SHAPES = {
    "hook_resid_pre": (2, 6, 8), "attn.hook_q": (2, 2, 6, 4), "attn.hook_k": (2, 2, 6, 4),
    "attn.hook_v": (2, 2, 6, 4), "attn.hook_pattern": (2, 2, 6, 6), "attn.hook_z": (2, 2, 6, 4),
    "hook_attn_out": (2, 6, 8), "hook_resid_mid": (2, 6, 8), "mlp.hook_pre": (2, 6, 12),
    "mlp.hook_post": (2, 6, 6), "hook_mlp_out": (2, 6, 8), "hook_resid_post": (2, 6, 8),
}  # fmt: skip
LOOPED = {"position": "rotary", "activation": "swiglu", "loops": 2}


def test_names_and_shapes() -> None:
    """In the order in which they are computed; loops are numbered on."""
    model = mechanisms.model(**LOOPED)
    _, cache = model.run_with_cache(mechanisms.tokens(2, 6))
    expected = {"hook_embed": (2, 6, 8)}
    for number in range(4):
        expected |= {f"blocks.{number}.{name}": shape for name, shape in SHAPES.items()}
    assert {name: tuple(found.shape) for name, found in cache.items()} == expected
    assert list(cache) == list(expected)


def test_only_what_is_wanted_is_kept() -> None:
    model = mechanisms.model()
    tokens = mechanisms.tokens(2, 6)
    names = ["blocks.1.attn.hook_z", "hook_embed"]
    assert set(model.run_with_cache(tokens, names=names)[1]) == set(names)
    found = model.run_with_cache(tokens, names=lambda name: name.endswith("pattern"))[1]
    assert set(found) == {"blocks.0.attn.hook_pattern", "blocks.1.attn.hook_pattern"}


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
@pytest.mark.parametrize("attention", mechanisms.ATTENTIONS)
def test_what_is_seen_adds_up(attention: str, norm: str) -> None:
    model = mechanisms.model(attention=attention, norm=norm)
    tokens = mechanisms.tokens(2, 6)
    out, cache = model.run_with_cache(tokens)
    torch.testing.assert_close(out.logits, model(tokens).logits, **EXACT)
    torch.testing.assert_close(cache["blocks.0.hook_resid_pre"], cache["hook_embed"], **EXACT)
    for number in range(2):
        seen = {
            name.removeprefix(f"blocks.{number}."): found
            for name, found in cache.items()
            if name.startswith(f"blocks.{number}.")
        }
        pattern = seen["attn.hook_pattern"]
        assert not bool(pattern.triu(1).any())
        if attention != "stick-breaking":
            torch.testing.assert_close(pattern.sum(-1), torch.ones_like(pattern[..., 0]), **EXACT)
        torch.testing.assert_close(pattern @ seen["attn.hook_v"], seen["attn.hook_z"], **EXACT)
        written = model.layers[number].attention.output
        added = torch.einsum("bhlv,hvd->bld", seen["attn.hook_z"], written)
        torch.testing.assert_close(added, seen["hook_attn_out"], **EXACT)
        hidden = torch.nn.functional.gelu(seen["mlp.hook_pre"])
        torch.testing.assert_close(hidden, seen["mlp.hook_post"], **EXACT)
        if norm != "post":
            middle = seen["hook_resid_pre"] + seen["hook_attn_out"]
            torch.testing.assert_close(middle, seen["hook_resid_mid"], **EXACT)
            after = middle + seen["hook_mlp_out"]
            torch.testing.assert_close(after, seen["hook_resid_post"], **EXACT)
    torch.testing.assert_close(
        cache["blocks.0.hook_resid_post"], cache["blocks.1.hook_resid_pre"], **EXACT
    )
    torch.testing.assert_close(cache["blocks.1.hook_resid_post"], out.stream, **EXACT)


def test_padding_and_documents_are_told() -> None:
    model = mechanisms.model(position="rotary")
    tokens, lengths = mechanisms.tokens(2, 6), torch.tensor([6, 3])
    documents = torch.tensor([[0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]])
    out, cache = model.run_with_cache(tokens, lengths, documents=documents)
    expected = model(tokens, lengths, documents=documents).logits
    torch.testing.assert_close(out.logits, expected, **EXACT)
    pattern = cache["blocks.1.attn.hook_pattern"]
    assert not bool(pattern[0, :, 2:, :2].any())
    assert not bool(pattern[1, :, :, 3:].any())


def without_head(found: Tensor) -> Tensor:
    found = found.clone()
    found[:, 1] = 0.0
    return found


def test_a_head_that_a_hook_silences_is_a_head_without_output() -> None:
    model = mechanisms.model(position="alibi", attention="forgetting")
    tokens = mechanisms.tokens(2, 6)
    plain = model(tokens).logits
    silenced = model.run_with_hooks(tokens, hooks={"blocks.1.attn.hook_z": without_head}).logits
    assert not torch.allclose(silenced, plain)
    with torch.no_grad():
        model.layers[1].attention.output[1] = 0.0
    torch.testing.assert_close(silenced, model(tokens).logits, **EXACT)


def test_every_name_can_be_replaced() -> None:
    """Each by itself changes the output; what it was before changes nothing."""
    model = mechanisms.model(**LOOPED)
    tokens = mechanisms.tokens(2, 6)
    out, cache = model.run_with_cache(tokens)
    for name, found in cache.items():
        again = model.run_with_hooks(tokens, hooks={name: lambda tensor, kept=found: kept.clone()})
        torch.testing.assert_close(again.logits, out.logits, **EXACT)
        changed = model.run_with_hooks(tokens, hooks={name: lambda tensor: tensor * 1.5 + 0.1})
        assert not torch.allclose(changed.logits, out.logits), name


def test_activations_can_be_patched_from_another_input() -> None:
    """The last stream of one input gives its logits in the run of another."""
    model = mechanisms.model()
    one, other = mechanisms.tokens(1, 6), mechanisms.tokens(1, 6, seed=1)
    out, cache = model.run_with_cache(one)
    name = "blocks.1.hook_resid_post"
    patched = model.run_with_hooks(other, hooks={name: lambda stream: cache[name]})
    torch.testing.assert_close(patched.logits, out.logits, **EXACT)


def test_gradients_of_activations() -> None:
    model = mechanisms.model()
    out, cache = model.run_with_cache(mechanisms.tokens(1, 6))
    (found,) = torch.autograd.grad(out.logits[0, -1, 0], cache["blocks.0.attn.hook_pattern"])
    assert found.shape == (1, 2, 6, 6)
    assert bool(found.any())


def test_an_unknown_name_is_an_error() -> None:
    model = mechanisms.model()
    hooks = {"blocks.2.attn.hook_z": without_head}
    with pytest.raises(WeftError, match=r"no activation 'blocks\.2\.attn\.hook_z'"):
        model.run_with_hooks(mechanisms.tokens(1, 4), hooks=hooks)


# Compiled models


def parity(text: str) -> tuple[Any, Tensor, Tensor]:
    program = weft.program("parity")
    model = weft.compile(program).model
    tokens, lengths = padded(input_numbers(program, [program.encode(text)]))
    return model, tokens, lengths


def test_a_compiled_head_is_exactly_a_shift() -> None:
    """Head 0 of parity reads `parity` one place to the left, and nothing at the left end."""
    model, tokens, lengths = parity("10110")
    out, cache = model.run_with_cache(tokens, lengths)
    slots = model.layout
    head = model.layers[0].attention
    read = head.value[0].nonzero()[:, 0].tolist()
    written = head.output[0].nonzero()[:, 1].tolist()
    assert read == list(range(*slots["parity"].dimensions.indices(99)))
    assert written == list(range(*slots["parity_left"].dimensions.indices(99)))
    shift = torch.diag(torch.ones(5), -1)
    for number in range(int(out.layers)):
        assert torch.equal(cache[f"blocks.{number}.attn.hook_pattern"][0, 0], shift)


def test_streams_of_a_compiled_model_are_those_of_the_interpreter() -> None:
    model, tokens, lengths = parity("10110")
    out, cache = model.run_with_cache(tokens, lengths)
    assert torch.equal(out.logits, model(tokens, lengths).logits)
    assert out.layers.tolist() == model(tokens, lengths).layers.tolist() == [5]
    parities = [model.read(cache[f"blocks.{n}.hook_resid_post"])["parity"][0] for n in range(5)]
    bits = [0, 1, 0, 1, 1, 0]
    for done, found in enumerate(parities, 1):
        expected = [sum(bits[: t + 1]) % 2 if t <= done else bits[t] for t in range(6)]
        assert found == expected


def test_sequences_of_a_compiled_model_stay_as_they_halt() -> None:
    program = weft.program("parity")
    model = weft.compile(program).model
    texts = ["1", "10110", "111"]
    tokens, lengths = padded(input_numbers(program, [program.encode(text) for text in texts]))
    out, cache = model.run_with_cache(tokens, lengths)
    expected = model(tokens, lengths)
    assert torch.equal(out.layers, expected.layers)
    assert torch.equal(out.halted, expected.halted)
    for row, length in enumerate(lengths.tolist()):
        assert torch.equal(out.stream[row, :length], expected.stream[row, :length])
    assert "blocks.4.hook_resid_post" in cache
    assert "blocks.5.hook_resid_post" not in cache


def test_a_compiled_head_can_be_silenced() -> None:
    """Without `done_left` nobody is told that it is his turn, so nothing ever halts."""
    model, tokens, lengths = parity("10110")
    hooks = {f"blocks.{n}.attn.hook_z": without_head for n in range(7)}
    out = model.run_with_hooks(tokens, lengths, hooks=hooks, layers=7)
    assert out.layers.tolist() == [7]
    assert out.halted.tolist() == [False]
    assert model.read(out.stream)["parity"][0] == [0, 1, 0, 1, 1, 0]
