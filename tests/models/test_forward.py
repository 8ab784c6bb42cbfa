"""The loop over layers: looped Transformers, and Universal ones that halt."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import mechanisms
from reference_model import Reference
from weft.models import Transformer, TransformerConfig
from weft.models.context import make_context

EXACT: dict[str, Any] = {"rtol": 0, "atol": 1e-12}
HALT = 3


def universal(**changes: Any) -> Transformer:
    """One layer whose positions halt now and then."""
    given = {"layers": 1, "loops": 5, "halt": HALT, "halting": "position", "norm": "none"}
    model = mechanisms.model(seed=5, **{**given, **changes})
    with torch.no_grad():  # no stream grows beyond all bounds
        for weight in model.layers.parameters():
            weight.mul_(0.4)
        model.embedding[:, HALT] = torch.tensor([0.9, 0.0, 0.3, 0.4, 0.0, 0.45, -1.0])
    return model


def test_two_loops_are_the_layers_twice() -> None:
    """A model with copies of the layers computes the same."""
    looped = mechanisms.model(seed=1, loops=2, position="rotary", canon="AC")
    plain = mechanisms.model(seed=1, layers=4, position="rotary", canon="AC")
    for number in range(4):
        plain.layers[number].load_state_dict(looped.layers[number % 2].state_dict())
    for name in ("embedding", "unembedding"):
        getattr(plain, name).data.copy_(getattr(looped, name))
    plain.norm.load_state_dict(looped.norm.state_dict())
    tokens = mechanisms.tokens(2, 7)
    torch.testing.assert_close(looped(tokens).logits, plain(tokens).logits, **EXACT)
    assert looped(tokens).layers.tolist() == [4, 4]


def test_fewer_layers_by_argument() -> None:
    model = mechanisms.model(seed=1, loops=3)
    tokens = mechanisms.tokens(2, 7)
    _, cache = model.run_with_cache(tokens)
    for count in (1, 2, 5):
        found = model(tokens, layers=count)
        torch.testing.assert_close(
            found.stream, cache[f"blocks.{count - 1}.hook_resid_post"], **EXACT
        )


@pytest.mark.parametrize(
    "changes",
    [{}, {"inject": True}, {"position": "rotary"}, {"position": "learned"}, {"norm": "pre"},
     {"kind": "encoder", "position": "fire"}, {"canon": "ABCD"}, {"attention": "path"}],
    ids=str,
)  # fmt: skip
def test_positions_that_have_halted_stay_as_they_are(changes: dict[str, Any]) -> None:
    model = universal(**changes)
    tokens = mechanisms.tokens(6, 7)
    streams: list[Tensor] = []
    found = model(tokens, watch=lambda n, what, rows, s: what == "after" and streams.append(s))
    for row in range(6):
        expected = Reference(model).logits(tokens[row].tolist())
        np.testing.assert_allclose(found.logits[row].detach(), expected, rtol=1e-11, atol=1e-11)
    halted = [int((stream[..., HALT] > 0.5).sum()) for stream in streams]
    assert 0 < halted[0] < 42


def test_sequences_that_have_halted_stay_as_they_are() -> None:
    """Each as if it were alone, however long the others go on."""
    model = universal(halting="sequence", position="rotary")
    with torch.no_grad():
        model.embedding[:, HALT] = torch.tensor([9.0, 9.0, 9.0, 9.0, 9.0, -9.0, -0.5])
    tokens = torch.tensor([[1, 2, 3], [1, 5, 2], [4, 6, 6], [6, 6, 6]])
    found = model(tokens)
    assert found.layers.tolist()[0] == 0
    assert found.halted.tolist()[:2] == [True, False]
    for row in range(4):
        alone = model(tokens[row : row + 1])
        torch.testing.assert_close(found.stream[row], alone.stream[0], **EXACT)
        assert found.layers[row] == alone.layers[0]


@pytest.mark.parametrize("halting", ["position", "sequence"])
@pytest.mark.parametrize("position", ["rotary", "learned", "randomised+fire", "abacus"])
def test_documents_and_padding_do_not_matter(halting: str, position: str) -> None:
    model = universal(halting=halting, position=position, inject=True, canon="A")
    tokens = mechanisms.tokens(3, 9)
    lengths = torch.tensor([9, 4, 6])
    padded = model(tokens, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = model(tokens[row : row + 1, :length])
        torch.testing.assert_close(padded.logits[row, :length], alone.logits[0], **EXACT)
    if halting == "sequence":
        return  # documents of a row halt together
    documents = torch.tensor([[0] * 4 + [1] * 5, [0] * 8 + [1], [0] * 9])
    together = model(tokens, documents=documents).logits
    for row, cuts in enumerate([(0, 4, 9), (0, 8, 9), (0, 9)]):
        for start, end in pairwise(cuts):
            alone = model(tokens[row : row + 1, start:end]).logits[0]
            torch.testing.assert_close(together[row, start:end], alone, **EXACT)


@pytest.mark.parametrize("halting", ["position", "sequence"])
def test_activations_are_those_of_the_run(halting: str) -> None:
    """What has halted is seen as it stays; hooks that halt it have their way."""
    model = universal(halting=halting, position="rotary", inject=True)
    tokens, lengths = mechanisms.tokens(8, 6), torch.tensor([6, 3, 6, 1, 1, 2, 2, 1])
    expected = model(tokens, lengths)
    assert len(set(expected.layers.tolist())) > 1
    found, cache = model.run_with_cache(tokens, lengths)
    inside = torch.arange(6) < lengths[:, None]
    torch.testing.assert_close(found.logits[inside], expected.logits[inside], **EXACT)
    assert torch.equal(found.layers, expected.layers)
    assert torch.equal(found.halted, expected.halted)
    last = int(found.layers.max()) - 1
    torch.testing.assert_close(cache[f"blocks.{last}.hook_resid_post"], found.stream, **EXACT)

    def halt(stream: Tensor) -> Tensor:
        stream = stream.clone()
        stream[..., HALT] = 1.0
        return stream

    early = model.run_with_hooks(tokens, lengths, hooks={"blocks.0.hook_resid_post": halt})
    assert early.layers.max() == 1
    assert bool(early.halted.all())


@pytest.mark.parametrize("changes", [{"halt": None}, {"halting": "sequence"}], ids=str)
def test_what_is_done_between_layers_is_done_after_each(changes: dict[str, Any]) -> None:
    """On every way to run a model; hooks see what layers leave, and what the next one reads."""
    plain = universal(**{"halting": "sequence", "position": "rotary", **changes})
    tokens = mechanisms.tokens(3, 5)
    context = make_context(plain.config, tokens)
    stream, left = plain.embed(tokens, context), []
    for _ in range(3):
        left.append(plain.layers[0](stream, context, plain.position))
        stream = (left[-1] * 8).round() / 8
    model = Transformer(plain.config, between_layers=lambda stream: (stream * 8).round() / 8)
    model.load_state_dict(plain.state_dict())
    seen: list[Tensor] = []
    watched = model(
        tokens, layers=3, watch=lambda n, what, _, s: what == "after" and seen.append(s)
    )
    hooked, cache = model.run_with_cache(tokens, layers=3)
    assert not bool(watched.halted.any())
    for found in (model(tokens, layers=3).stream, watched.stream, seen[-1], hooked.stream):
        torch.testing.assert_close(found, stream, **EXACT)
    for number in range(3):
        torch.testing.assert_close(cache[f"blocks.{number}.hook_resid_post"], left[number], **EXACT)


def test_gradients_go_through_all_loops() -> None:
    model = universal(halt=None, halting="sequence")
    tokens = mechanisms.tokens(1, 5)
    loss = model(tokens).logits.sum()
    loss.backward()
    weight = model.layers[0].attention.query
    with torch.no_grad():
        losses = []
        for side in (1e-6, -1e-6):
            weight[0, 2, 1] += side
            losses.append(float(model(tokens).logits.sum()))
            weight[0, 2, 1] -= side
    slope = (losses[0] - losses[1]) / 2e-6
    assert float(weight.grad[0, 2, 1]) == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("halting", ["sequence", "position"])
def test_halting_by_sequence_or_by_position(halting: str) -> None:
    """A model that adds one to dimension 0 a layer; dimension 1 says where it has halted."""
    config = TransformerConfig(
        vocabulary=2,
        outputs=2,
        width=2,
        heads=1,
        key_width=1,
        value_width=1,
        hidden=(1,),
        halt=1,
        halting=halting,
        loops=3,
    )
    model = Transformer(config).requires_grad_(False)
    model.embedding[1, 1] = 1.0  # token 1 has halted from the start
    model.layers[0].feed_forward.biases[0][0] = 1.0
    model.layers[0].feed_forward.weights[1][0, 0] = 1.0
    out = model(torch.tensor([[0, 1], [1, 1]]))
    assert out.layers.tolist() == [3, 0]
    frozen = 0.0 if halting == "position" else 3.0
    assert out.stream[0, :, 0].tolist() == [3.0, frozen]
    assert out.stream[1, :, 0].tolist() == [0.0, 0.0]
