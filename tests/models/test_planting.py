"""Compiled parts in other models: they compute the same there, and stay as they are in training."""

from __future__ import annotations

import gc
import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_post_hook

import mechanisms
import weft
from weft.compiler.execution import input_numbers, padded
from weft.errors import WeftError
from weft.models import Transformer, TransformerConfig, generate, initialise, plant
from weft.models.planting import FROZEN, PARTS, Part, PlantedEntries

LOCAL: tuple[Part, ...] = ("embedding", "attention", "feed_forward", "unembedding")


def compiled(name: str = "parity") -> Transformer:
    return weft.compile(weft.program(name)).model


def inputs(name: str) -> tuple[Tensor, Tensor]:
    """Inputs of a program, of several lengths."""
    program = weft.program(name)
    rng = random.Random(0)
    return padded(input_numbers(program, [program.sample(rng, n) for n in (3, 5, 9, 9)]))


def parts_of(source: Transformer) -> tuple[Part, ...]:
    return PARTS if "learned" in source.config.encodings else LOCAL


def larger(source: Transformer, **changes: Any) -> TransformerConfig:
    """A config with room to spare for everything."""
    own = source.config
    return replace(
        own,
        width=own.width + 5, heads=own.heads + 3, key_width=own.key_width + 2,
        value_width=own.value_width + 1, hidden=tuple(2 * n + 4 for n in own.hidden),
        offsets=None if own.offsets is None else own.offsets + 2,
        halt=None if own.halt is None else own.halt + 3, **changes,
    )  # fmt: skip


def randomised(config: TransformerConfig, seed: int = 0) -> Transformer:
    model = Transformer(config)
    generator = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.data.copy_(0.3 * torch.randn(weight.shape, generator=generator))
    return model


@torch.no_grad()
def apart(model: Transformer, planted: dict[str, PlantedEntries], dimensions: slice) -> None:
    """Let nothing that is free write where planted parts read, or into the logits."""
    last = len(model.config.hidden)
    for name, weight in model.named_parameters():
        reached = torch.zeros_like(weight, dtype=torch.bool)
        if name.endswith("attention.output"):
            reached[..., dimensions] = True
        if name.endswith((f"weights.{last}", f"biases.{last}")):
            reached[dimensions] = True
        if name == "unembedding":
            reached[:] = True
        if name in planted:
            reached &= ~planted[name].mask
        weight[reached] = 0.0


@pytest.mark.parametrize("name", ["parity", "parity-absolute", "addition", "induction-head"])
def test_all_parts_together_are_the_source(name: str) -> None:
    source = compiled(name)
    model = randomised(source.config)
    plant(source, into=model, parts=parts_of(source))
    tokens, lengths = inputs(name)
    for weight, other in zip(source.parameters(), model.parameters(), strict=True):
        assert torch.equal(weight, other)
    assert torch.equal(model(tokens, lengths).logits, source(tokens, lengths, plain=True).logits)


@pytest.mark.parametrize("activation", ["clipped", "relu"])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["parity", "parity-absolute", "addition", "induction-head"])
def test_parts_in_a_larger_model_compute_what_they_did(
    name: str, scaled: bool, activation: Any
) -> None:
    """In the middle of it, with random weights all around that leave their dimensions alone."""
    source = compiled(name)
    model = randomised(larger(source, scaled=scaled, activation=activation))
    planted = plant(source, into=model, parts=parts_of(source), dimension=3, head=2, unit=4)
    own = slice(3, 3 + source.config.width)
    apart(model, planted.entries, own)
    tokens, lengths = inputs(name)
    expected, found = source(tokens, lengths, plain=True), model(tokens, lengths)
    inside = torch.arange(tokens.shape[1]) < lengths[:, None]
    assert torch.equal(found.layers, expected.layers)
    torch.testing.assert_close(
        found.stream[inside][:, own], expected.stream[inside], rtol=0, atol=1e-5
    )
    torch.testing.assert_close(found.logits[inside], expected.logits[inside], rtol=0, atol=1e-5)
    assert bool(found.stream[inside][:, own.stop :].detach().std() > 0.1)


def test_an_induction_head_in_a_learned_decoder() -> None:
    """The program runs its one layer twice: it is planted in both layers of the model."""
    source = compiled("induction-head")
    program = weft.program("induction-head")
    config = replace(larger(source), layers=2, loops=1)
    model = randomised(config)
    once: tuple[Part, ...] = ("embedding", "position", "unembedding")
    planted = plant(source, into=model, parts=once).entries
    for layer in range(2):
        planted |= plant(
            source, into=model, parts=("attention", "feed_forward"), layer=layer
        ).entries
    apart(model, planted, slice(0, source.config.width))
    tokens = torch.tensor(input_numbers(program, [program.encode("badge")]))
    continued = generate(model, tokens, 6)[0, tokens.shape[1] :].tolist()
    assert continued == input_numbers(program, [list("badge|")])[0]


def test_some_heads_alone() -> None:
    source = compiled()
    model = randomised(larger(source))
    before = model.layers[0].attention.value.detach().clone()
    planted = plant(source, into=model, parts="attention", heads=[1], head=4)
    heads = model.layers[0].attention
    assert torch.equal(heads.value[4, :8, :2], source.layers[0].attention.value[1])
    assert torch.equal(heads.value[:4], before[:4])
    assert torch.equal(heads.value[5:], before[5:])
    _, cache = model.run_with_cache(torch.tensor([[2, 1, 0, 1]]), names=lambda n: "pattern" in n)
    shift = torch.diag(torch.ones(3), -1)
    torch.testing.assert_close(cache["blocks.0.attn.hook_pattern"][0, 4], shift)
    assert set(planted.entries) == {
        f"layers.0.attention.{part}" for part in ("query", "key", "value", "output", "bias", "sink")
    }


# Freezing

OPTIMISERS = {
    "AdamW": lambda weights: torch.optim.AdamW(weights, lr=0.1, weight_decay=0.5),
    "AdamW, one by one": lambda weights: torch.optim.AdamW(
        weights, lr=0.1, weight_decay=0.5, foreach=False
    ),
    "SGD": lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9, weight_decay=0.5),
    "Adam": lambda weights: torch.optim.Adam(weights, lr=0.1, weight_decay=0.5),
}


def trained(model: Transformer, made: Any, steps: int = 5) -> None:
    tokens = mechanisms.tokens(4, 6) % 3
    optimiser = made(model.parameters())
    for _ in range(steps):
        optimiser.zero_grad()
        model(tokens).logits.square().sum().backward()
        optimiser.step()


@pytest.mark.parametrize("made", OPTIMISERS.values(), ids=OPTIMISERS)
def test_what_is_frozen_stays_and_the_rest_is_trained(made: Any) -> None:
    source = compiled()
    model = randomised(replace(larger(source), halt=None, loops=2))
    planted = plant(source, into=model, parts=LOCAL)
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    trained(model, made)
    assert planted.intact
    for name, weight in model.named_parameters():
        kept = planted.entries.get(name)
        where = torch.zeros_like(weight, dtype=torch.bool) if kept is None else kept.mask
        assert torch.equal(weight[where], before[name][where]), name
        assert weight.grad is None or not bool(weight.grad[where].any()), name
        assert bool((weight[~where] != before[name][~where]).any()), name


def test_what_is_planted_as_a_whole_has_no_gradient() -> None:
    source = compiled()
    model = randomised(replace(source.config, halt=None, loops=2))
    planted = plant(source, into=model)
    frozen = {name for name, weight in model.named_parameters() if not weight.requires_grad}
    assert frozen == set(planted.entries)
    assert planted.count == sum(w.numel() for w in source.layers[0].feed_forward.parameters())
    trained(model, OPTIMISERS["AdamW"])
    assert planted.intact


def test_what_is_released_or_never_frozen_is_trained() -> None:
    source = compiled()
    for config in (replace(source.config, halt=None), replace(larger(source), halt=None)):
        model = randomised(replace(config, loops=2))
        planted = plant(source, into=model)
        trained(model, OPTIMISERS["AdamW"], steps=1)
        assert planted.intact
        planted.release()
        assert all(weight.requires_grad for weight in model.parameters())
        trained(model, OPTIMISERS["AdamW"], steps=1)
        assert not planted.intact
        again = plant(source, into=model, freeze=False)
        assert again.intact
        trained(model, OPTIMISERS["AdamW"], steps=1)
        assert not again.intact


def test_nothing_is_left_behind_by_a_model_that_is_gone() -> None:
    gc.collect()
    before = len(FROZEN)
    source = compiled()
    model = randomised(larger(source))
    plant(source, into=model)
    assert len(FROZEN) == before + 1
    del model
    gc.collect()
    assert len(FROZEN) == before


def test_a_model_may_be_collected_during_a_step_of_another() -> None:
    gone: list[Transformer] = []

    def collect(*_: Any) -> None:
        gone.clear()
        gc.collect()

    handle = register_optimizer_step_post_hook(collect)
    source = compiled()
    kept = randomised(larger(source))
    gone.append(randomised(larger(source)))
    plant(source, into=kept)
    plant(source, into=gone[0])
    trained(kept, OPTIMISERS["AdamW"], steps=1)
    handle.remove()
    assert not gone


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"width": 7, "halt": None}, {}, "8 dimensions of the stream are needed, and there are 7"),
    ({}, {"dimension": -1}, "heads count from 0"),
    ({}, {"parts": "attention", "heads": [-1]}, "heads count from 0"),
    ({}, {"dimension": 1}, "9 dimensions of the stream are needed, and there are 8"),
    ({"hidden": (2,)}, {}, "3 hidden units are needed, and there are 2"),
    ({}, {"unit": 1}, "4 hidden units are needed, and there are 3"),
    ({"hidden": (3, 3)}, {}, "the source has 1 hidden layers, the model 2"),
    ({"activation": "relu"}, {}, "6 hidden units are needed, and there are 3"),
    ({"activation": "gelu"}, {}, "units with 'clipped' cannot be planted among 'gelu'"),
    ({"biases": False}, {}, "the source's units have biases"),
    ({"norm": "pre"}, {}, "planted parts read the stream without norms"),
    ({"canon": "C", "kind": "decoder"}, {}, "Canon layers change what planted parts read"),
    ({}, {"layer": 1}, "there is no layer 1"),
    ({}, {"source_layer": 2}, "there is no layer 2"),
    ({}, {"parts": "feedforward"}, "no part of a model is called 'feedforward'. Did you mean"),
    ({}, {"parts": "position"}, "a model has no learned positions"),
    ({"vocabulary": 2}, {"parts": "embedding"}, "3 tokens are needed, and there are 2"),
    ({"outputs": 1}, {"parts": "unembedding"}, "2 outputs are needed, and there are 1"),
    (
        {"tied": True, "outputs": 3},
        {"parts": "unembedding"},
        "one model has tied embeddings",
    ),
    ({"heads": 3}, {"parts": "attention"}, "4 heads are needed, and there are 3"),
    ({}, {"parts": "attention", "head": 1}, "5 heads are needed, and there are 4"),
    ({"heads": 9}, {"parts": "attention", "heads": [4]}, "5 heads are needed, and there are 4"),
    ({"value_width": 1}, {"parts": "attention"}, "2 dimensions of a value are needed"),
    ({"offsets": 0}, {"parts": "attention"}, "1 offsets are needed, and there are 0"),
    (
        {"offsets": None},
        {"parts": "attention"},
        "the source's heads have biases by offset. Use offsets=1",
    ),
    ({"sink": False}, {"parts": "attention"}, "the source's heads have sinks"),
    (
        {"kind": "decoder"},
        {"parts": "attention"},
        "one model is causal",
    ),
    ({"position": "alibi"}, {"parts": "attention"}, "alibi changes the scores of planted heads"),
    (
        {"attention": "entmax", "sink": False, "offsets": None},
        {"parts": "attention"},
        "only heads of softmax attention can be planted",
    ),
]


@pytest.mark.parametrize(("changes", "given", "reason"), REFUSED, ids=[r[2] for r in REFUSED])
def test_what_does_not_fit_is_refused(
    changes: dict[str, Any], given: dict[str, Any], reason: str
) -> None:
    """Before anything is changed."""
    source = compiled()
    model = randomised(replace(source.config, **changes))
    before = [weight.detach().clone() for weight in model.parameters()]
    with pytest.raises(WeftError) as refused:
        plant(source, into=model, **given)
    assert reason in refused.value.line
    assert refused.value.remedy
    for weight, kept in zip(model.parameters(), before, strict=True):
        assert torch.equal(weight, kept)


def test_units_of_a_swiglu_are_refused() -> None:
    one, other = (mechanisms.model(norm="none", activation="swiglu") for _ in range(2))
    with pytest.raises(WeftError, match="units of a SwiGLU cannot be planted"):
        plant(one, into=other)


def test_a_trained_head_can_be_planted_as_well() -> None:
    """Sources need not be compiled: a head of a trained model without offsets and sink."""
    changes: dict[str, Any] = {"norm": "none", "position": "learned"}
    source = mechanisms.model(seed=1, **changes)
    model = mechanisms.model(seed=2, **changes, heads=3, offsets=1, sink=True, key_width=6,
                             value_width=4)  # fmt: skip
    plant(source, into=model, parts=("embedding", "position"))
    plant(source, into=model, parts="attention", layer=1, source_layer=0, heads=[1])
    tokens = mechanisms.tokens(2, 5)
    name = "blocks.0.hook_resid_pre"
    _, cache = source.run_with_cache(tokens)
    seen: dict[str, Tensor] = {}
    hooks = {
        "blocks.1.hook_resid_pre": lambda stream: cache[name],
        "blocks.1.attn.hook_pattern": lambda found: seen.setdefault("pattern", found),
    }
    model.run_with_hooks(tokens, hooks=hooks)
    expected = cache["blocks.0.attn.hook_pattern"][:, 1]
    torch.testing.assert_close(seen["pattern"][:, 0], expected, rtol=0, atol=1e-12)


# A compiled feed-forward with trained attention


class Hybrid:
    """Parity: the program's feed-forward, and attention that learns its trace on short strings.

    After every layer the stream should be what the program's would be; half of all strings of up
    to six bits are for training, the others for the test.
    """

    longest = 6

    def __init__(self) -> None:
        torch.manual_seed(0)
        source = compiled()
        config = replace(source.config, halt=None, loops=self.longest)
        self.model = Transformer(config)
        for weight in self.model.layers[0].attention.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        kept: tuple[Part, ...] = ("embedding", "feed_forward", "unembedding")
        self.planted = plant(source, into=self.model, parts=kept)
        teacher = initialise(Transformer(config))
        plant(source, into=teacher, parts=LOCAL)
        texts = [
            [2, *bits] for n in range(1, self.longest + 1) for bits in product((0, 1), repeat=n)
        ]
        random.Random(0).shuffle(texts)
        self.tokens, self.lengths = padded(texts)
        self.inside = torch.arange(self.longest + 1) < self.lengths[:, None]
        with torch.no_grad():
            self.wanted = self.streams(teacher, torch.arange(len(texts)))
        self.half = len(texts) // 2

    def streams(self, model: Transformer, rows: Tensor) -> Tensor:
        """After every layer: b layers l d."""
        found: list[Tensor] = []
        model(
            self.tokens[rows],
            self.lengths[rows],
            watch=lambda number, what, _, stream: what == "after" and found.append(stream),
        )
        return torch.stack(found, 1)

    def train(self, steps: int) -> list[float]:
        """The losses on the way."""
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=0.05, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.05, total_steps=steps)
        losses = []
        for _ in range(steps):
            rows = torch.randint(self.half, (32,))
            errors = (self.streams(self.model, rows) - self.wanted[rows]).square().sum(-1)
            loss = errors.mean(1)[self.inside[rows]].mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            losses.append(loss.item())
        return losses

    @torch.no_grad()
    def accuracy(self) -> float:
        """On strings that were never seen: the parity of all bits, at the last one."""
        tokens, lengths = self.tokens[self.half :], self.lengths[self.half :]
        found = self.model(tokens, lengths).logits.argmax(-1)
        last = found.gather(1, lengths[:, None] - 1)[:, 0]
        return float((last == (tokens == 1).sum(-1) % 2).double().mean())


def test_attention_under_a_compiled_feed_forward_begins_to_learn() -> None:
    hybrid = Hybrid()
    losses = hybrid.train(60)
    assert sum(losses[-5:]) < 0.3 * sum(losses[:5])
    assert hybrid.planted.intact


@pytest.mark.slow
def test_attention_under_a_compiled_feed_forward_learns_parity() -> None:
    hybrid = Hybrid()
    assert hybrid.accuracy() < 0.9
    losses = hybrid.train(400)
    assert losses[-1] < 0.05
    assert hybrid.accuracy() == 1.0
    assert hybrid.planted.intact
